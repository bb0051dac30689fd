"""Algorithm 1: closed forms, consistency, flat directions, saddles, bad input."""

from __future__ import annotations

import warnings

import numpy as np
import oracles
import pytest
import torch
from brute import quiet

import nslimb
from nslimb import Sigma, estimate_marginal
from nslimb.errors import InvalidInput
from nslimb.marginals import AdamOptions, NotIdentified


def long_tail(rho: float, classes: int = 10, reverse: bool = False) -> np.ndarray:
    shares = rho ** -(np.arange(classes) / (classes - 1))
    shares = shares[::-1] if reverse else shares
    return shares / shares.sum()


def draw(sigma: Sigma, ratios: np.ndarray, samples: int, seed: int = 0) -> np.ndarray:
    """Weak labels of i.i.d. hidden labels, as counts."""
    rng = np.random.default_rng(seed)
    weak = sigma.apply(rng.choice(len(ratios), p=ratios, size=(samples, sigma.arity)))
    return np.bincount(weak, minlength=len(sigma.weak_labels))


def test_closed_form_of_max_2_with_uniform_weak_labels() -> None:
    ours = estimate_marginal([1] * 10, nslimb.sigma.maximum(2), counts=True)
    cumulative = np.sqrt(np.arange(1, 11) / 10)  # (r_0 + ... + r_s)^2 = P(max <= s)
    np.testing.assert_allclose(ours.ratios.cumsum(0), cumulative, atol=1e-7)


def total_variation(sigma: Sigma, ratios: np.ndarray, sizes: list[int], seeds: int = 10) -> np.ndarray:
    """Mean distance of the estimate from the truth for each sample size; counts drawn from the exact weak ratios."""
    scores = torch.from_numpy(ratios).log().expand(1, sigma.arity, -1)
    weak = sigma.log_prob(scores)[0].exp().numpy()
    rng = np.random.default_rng(0)
    distances = [
        [0.5 * np.abs(quiet(rng.multinomial(m, weak / weak.sum()), sigma, counts=True).ratios.numpy() - ratios).sum()]
        for m in sizes
        for _ in range(seeds)
    ]
    return np.array(distances).reshape(len(sizes), seeds).mean(axis=1)


@pytest.mark.parametrize(
    ("sigma", "ratios", "sizes"),
    [
        (nslimb.sigma.maximum(3), long_tail(5, reverse=True), [10**3, 10**4, 10**5, 10**6]),
        (nslimb.sigma.smallest_parent(), long_tail(15), [10**3, 10**4, 10**5, 10**6]),
        # A sum blurs: by the information bound its error is 31 / sqrt(m), so the root law starts where that is small.
        (nslimb.sigma.total(5), long_tail(50), [10**7, 10**8, 10**9, 10**10]),
    ],
    ids=["MAX-3", "Smallest Parent", "SUM-5"],
)
def test_the_error_shrinks_with_the_root_of_the_sample_size(sigma: Sigma, ratios: np.ndarray, sizes: list[int]) -> None:
    errors = total_variation(sigma, ratios, sizes)
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.6 < slope < -0.4, errors


def test_sum_5_shrinks_too_and_stays_within_the_information_bound() -> None:
    sigma, ratios, sizes = nslimb.sigma.total(5), long_tail(50), [10**3, 10**4, 10**5, 10**6]
    errors = total_variation(sigma, ratios, sizes)
    assert (np.diff(errors) < 0).all(), errors
    vectors = oracles.all_vectors(sigma)
    weak = np.exp(np.log(ratios)[vectors].sum(axis=1))
    counts = (vectors[:, :, None] == np.arange(10)).sum(axis=1)
    sums = vectors.sum(axis=1)
    psi_of = np.bincount(sums, weights=weak)
    slopes = np.stack([np.bincount(sums, weights=weak * counts[:, y] / ratios[y]) for y in range(10)], axis=1)
    tangent = np.linalg.svd(np.ones((1, 10)))[2][1:].T
    information = (slopes @ tangent).T @ (slopes @ tangent / psi_of[:, None])
    deviation = np.sqrt(np.diag(tangent @ np.linalg.inv(information) @ tangent.T))
    bound = 0.5 * np.sqrt(2 / np.pi) * deviation.sum() / np.sqrt(sizes)
    assert (errors < 1.3 * bound).all(), (errors, bound)


def test_exact_shares_give_back_the_ratios() -> None:
    sigma, ratios = nslimb.sigma.total(4), long_tail(10)
    scores = torch.from_numpy(ratios).log().expand(1, 4, 10)
    shares = sigma.log_prob(scores)[0].exp().numpy()
    np.testing.assert_allclose(estimate_marginal(shares * 1e9, sigma, counts=True).ratios, ratios, atol=1e-6)


def test_weak_labels_and_their_counts_agree() -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    weak = [0, 2, 1, 2, 2, 1, 0, 2]
    assert torch.equal(estimate_marginal(weak, sigma).ratios, estimate_marginal([2, 2, 4], sigma, counts=True).ratios)
    assert torch.equal(estimate_marginal(torch.tensor(weak), sigma).ratios, estimate_marginal(weak, sigma).ratios)


def test_interchangeable_classes_share_equally_and_are_named() -> None:
    sigma = Sigma.from_function(lambda y: sum(label >= 2 for label in y), num_classes=4, arity=3)
    with pytest.warns(NotIdentified, match=r"leave 2 direction\(s\) .* classes 0, 1, 2, 3:"):
        ours = estimate_marginal([40, 30, 20, 10], sigma, counts=True)
    first, second, third, fourth = ours.ratios.tolist()
    # Along a flat direction nothing but the last barrier, 1e-11, pulls: rounding of 1e-17 in the gradient shows.
    assert first == pytest.approx(second, abs=2e-5)
    assert third == pytest.approx(fourth, abs=2e-5)
    assert ours.flat.shape == (2, 1, 4)
    assert ours.flat_classes == (0, 1, 2, 3)
    torch.testing.assert_close(ours.flat.sum(-1), torch.zeros(2, 1, dtype=torch.float64), atol=1e-9, rtol=0)


def test_classes_that_max_hides_are_named() -> None:
    sigma = nslimb.sigma.maximum(5)
    with pytest.warns(NotIdentified) as caught:
        ours = estimate_marginal(draw(sigma, long_tail(50, reverse=True), 3000), sigma, counts=True)
    assert len(caught) == 1
    assert set(ours.flat_classes) >= {0, 1, 2, 3}
    assert not set(ours.flat_classes) & {8, 9}


def test_nothing_is_flat_where_everything_is_seen() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = estimate_marginal(
            draw(nslimb.sigma.maximum(2), np.full(10, 0.1), 10**5), nslimb.sigma.maximum(2), counts=True
        )
    assert ours.flat.shape == (0, 1, 10)
    assert ours.flat_classes == ()


@pytest.mark.parametrize("counts", [[820, 180], [25, 5], [520, 480], [5100, 4900]])
def test_a_saddle_at_the_uniform_point_is_left(counts: list[int]) -> None:
    parity = Sigma.from_function(lambda y: sum(y) % 2, num_classes=2, arity=2)
    ours = quiet(counts, parity, counts=True)
    t = ours.ratios[1].item()
    assert 2 * t * (1 - t) == pytest.approx(counts[1] / sum(counts), abs=1e-6)
    assert ours.converged


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
@pytest.mark.parametrize("solver", ["newton", "adam"])
def test_it_works_in_every_grad_mode(mode: type, solver: str) -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    with mode():
        found = estimate_marginal([10, 30, 60], sigma, counts=True, solver=solver, adam=AdamOptions(iterations=50))
    assert found.ratios.sum().item() == pytest.approx(1)
    scores = torch.zeros(1, 2, 3, requires_grad=True)
    sigma.log_prob(scores).sum().backward()  # what was compiled in that mode serves training too


def test_a_direction_spread_over_many_classes_is_named() -> None:
    sigma = Sigma.from_function(lambda y: (y[0] + y[1]) % 12, num_classes=12, arity=2)
    ratios = np.random.default_rng(0).dirichlet(np.ones(12))
    for half in (slice(0, None, 2), slice(1, None, 2)):  # as much mass on even as on odd classes hides one direction
        ratios[half] *= 0.5 / ratios[half].sum()
    weak = sigma.log_prob(torch.from_numpy(ratios).log().expand(1, 2, 12))[0].exp().numpy()
    with pytest.warns(NotIdentified, match="leave 1 direction.* among the classes"):
        found = estimate_marginal(np.round(3000 * weak), sigma, counts=True)
    assert len(found.flat_classes) > 4


@pytest.mark.parametrize("arity", [3, 5])
def test_hwf_with_digits_and_operators_apart(arity: int) -> None:
    sigma = nslimb.sigma.formula(arity)
    digits, operators = long_tail(15), np.array([0.5, 0.3, 0.2])
    rng = np.random.default_rng(0)
    size = 200_000
    columns = [
        rng.choice(10, p=digits, size=size) if i % 2 == 0 else 10 + rng.choice(3, p=operators, size=size)
        for i in range(arity)
    ]
    ours = quiet(sigma.apply(np.stack(columns, axis=1)), sigma, groups=[i % 2 for i in range(arity)])
    assert ours.ratios.shape == (arity, 13)
    torch.testing.assert_close(ours.ratios.sum(1), torch.ones(arity, dtype=torch.float64))
    np.testing.assert_allclose(ours.ratios[0, :10], digits, atol=0.02)
    np.testing.assert_allclose(ours.ratios[1, 10:], operators, atol=0.02)
    assert ours.ratios[0, 10:].sum() == 0
    assert ours.ratios[1, :10].sum() == 0
    assert torch.equal(ours.ratios[0], ours.ratios[2])


def test_the_result_is_deterministic() -> None:
    counts = draw(nslimb.sigma.total(5), long_tail(50), 2000)
    first, second = (quiet(counts, nslimb.sigma.total(5), counts=True) for _ in range(2))
    assert torch.equal(first.ratios, second.ratios)


SIGMA = nslimb.sigma.maximum(2, num_classes=3)


@pytest.mark.parametrize(
    ("weak", "options", "message"),
    [
        ([], {}, r"weak: expected at least one index .* got shape \[0\]"),
        ([[0, 1]], {}, r"weak: .* got shape \[1, 2\]"),
        ([0, 3], {}, r"weak: .*\(0 to 2\), got 3"),
        ([0.5, 1.0], {}, "weak: .* got dtype float64"),
        ([1, 2], {"counts": True}, r"weak: expected 3 counts .* got shape \[2\]"),
        ([1, -2, 3], {"counts": True}, r"weak: expected 3 counts .* got \[1\.0, -2\.0, 3\.0\]"),
        ([0, 0, 0], {"counts": True}, "weak: expected 3 counts of at least 0, not all 0"),
        ([1, float("nan"), 0], {"counts": True}, "weak: expected 3 counts"),
        ([1e308, 1e308, 0], {"counts": True}, "weak: expected 3 counts"),
        (["a", "b", "c"], {"counts": True}, "weak: expected 3 counts .* no numbers"),
        ([0, 1], {"groups": [0]}, r"groups: expected 2 group indices .* got shape \[1\]"),
        ([0, 1], {"groups": [0, 2]}, r"groups: .* none left out, got \[0, 2\]"),
        ([0, 1], {"solver": "sgd"}, "solver: expected 'newton' or 'adam', got 'sgd'"),
    ],
)
def test_bad_input_is_refused(weak: object, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        estimate_marginal(weak, SIGMA, **options)  # type: ignore[arg-type]
