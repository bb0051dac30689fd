"""The paper's Algorithm 1, step by step: the same as its loop written out, for any sigma, groups and noise."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
import torch
from brute import quiet
from hypothesis import given, settings
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma, estimate_marginal
from nslimb.errors import InvalidInput
from nslimb.marginals import AdamOptions


def written_out(
    sigma: Sigma, counts: np.ndarray, groups: list[int], noise: float, rate: float, steps: int
) -> np.ndarray:
    """The paper's loop with every label vector listed: u <- ones, r = softmax(u), Adam on -sum_j p_j log p-hat_j."""
    vectors = torch.from_numpy(oracles.all_vectors(sigma))
    weak = torch.as_tensor(sigma.apply(vectors))
    valid = weak >= 0
    possible = np.zeros((max(groups) + 1, sigma.num_classes), dtype=bool)
    np.logical_or.at(possible, groups, sigma.accepted)
    shares = torch.from_numpy(counts / counts.sum())
    logits = torch.ones(possible.shape, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.Adam([logits], lr=rate)

    def ratios() -> torch.Tensor:
        weights = logits.exp() * torch.from_numpy(possible)
        return weights / weights.sum(dim=1, keepdim=True)

    for _ in range(steps):
        joint = ratios()[groups][torch.arange(sigma.arity), vectors].prod(dim=1)[valid]
        predicted = torch.zeros(len(shares), dtype=torch.float64).index_add(0, weak[valid], joint)
        predicted = (1 - noise) * predicted / predicted.sum() + noise / len(shares)
        loss = -(shares[shares > 0] * predicted[shares > 0].log()).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return ratios()[groups].detach().numpy()


def test_ten_thousand_steps_are_the_papers_and_end_no_higher_than_newton() -> None:
    sigma, counts = nslimb.sigma.maximum(2, num_classes=3), np.array([20, 180, 800])
    adam = estimate_marginal(counts, sigma, counts=True, solver="adam")
    assert adam.iterations == AdamOptions().iterations == 10_000
    assert AdamOptions().learning_rate == 1e-3
    np.testing.assert_allclose(adam.ratios, written_out(sigma, counts, [0, 0], 0.0, 1e-3, 10_000)[0], atol=1e-10)
    newton = estimate_marginal(counts, sigma, counts=True)
    assert newton.log_likelihood >= adam.log_likelihood - 1e-12
    assert adam.log_likelihood == pytest.approx(newton.log_likelihood, abs=1e-5)


@settings(max_examples=12)
@given(st.data())
def test_any_sigma_groups_and_noise(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables(max_arity=3, max_classes=4))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    counts = rng.multinomial(100, rng.dirichlet(np.ones(len(sigma.weak_labels))))
    noise = data.draw(st.sampled_from([0.0, 0.1]))
    apart = data.draw(st.booleans())
    groups = list(range(sigma.arity)) if apart else [0] * sigma.arity
    options = AdamOptions(learning_rate=0.05, iterations=60)
    ours = quiet(
        counts, sigma, groups if apart else None, counts=True, solver="adam", adam=options, noise=noise
    ).ratios.numpy()
    theirs = written_out(sigma, counts, groups, noise, 0.05, 60)
    np.testing.assert_allclose(ours if apart else np.broadcast_to(ours, theirs.shape), theirs, atol=1e-9)


def test_with_time_it_arrives_where_newton_does() -> None:
    sigma = Sigma.from_function(lambda y: None if y == (0, 0) else sum(y), num_classes=3, arity=2)
    counts = [300, 300, 250, 150]
    options = AdamOptions(learning_rate=0.02, iterations=3000)
    for noise in (0.0, 0.05):
        newton = estimate_marginal(counts, sigma, counts=True, noise=noise)
        adam = estimate_marginal(counts, sigma, counts=True, noise=noise, solver="adam", adam=options)
        assert adam.converged
        np.testing.assert_allclose(adam.ratios, newton.ratios, atol=1e-4)


def test_another_start_ends_elsewhere() -> None:
    sigma, counts = nslimb.sigma.maximum(3), [0, 0, 1, 5, 20, 50, 100, 300, 800, 1724]
    options = AdamOptions(iterations=50)
    one = quiet(counts, sigma, counts=True, solver="adam", adam=options)
    other = quiet(counts, sigma, counts=True, solver="adam", adam=options._replace(initial=torch.arange(10.0)))
    assert not one.converged
    assert not torch.equal(one.ratios, other.ratios)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (AdamOptions(temperature=-1.0), "adam: expected a learning rate and a temperature above 0, got 0.001 and -1.0"),
        (AdamOptions(learning_rate=float("nan")), "adam: expected a learning rate"),
        (AdamOptions(iterations=0), "adam.iterations: expected an integer of at least 1, got 0"),
        (AdamOptions(initial=torch.ones(4)), r"adam.initial: expected shape \[1, 3\], got shape \[4\]"),
    ],
)
def test_bad_options(options: AdamOptions, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        estimate_marginal([0, 1], nslimb.sigma.maximum(2, 3), solver="adam", adam=options)
