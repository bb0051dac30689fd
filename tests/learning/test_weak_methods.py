"""Weights by weak label, noise rates, and the loss that knows the prior, each against its definition written out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import nslimb
from nslimb.data import Samples
from nslimb.errors import InvalidInput
from nslimb.learning import Batch, make_method
from nslimb.learning.noise import _TEMPERATURES, estimate_noise
from nslimb.learning.weights import CAP, weak_weights
from nslimb.networks import build

SIGMA = nslimb.sigma.maximum(2, num_classes=4)


def samples(weak: Any) -> Samples:
    rows = np.zeros((len(weak), 2), dtype=np.int64)
    return Samples(
        train=rows, train_weak=np.asarray(weak), validation=rows, validation_weak=np.asarray(weak), test=rows[0]
    )


def batch(number: int = 6, seed: int = 0) -> Batch:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(number, 2, 4, generator=generator, requires_grad=True)
    weak = torch.randint(4, (number,), generator=generator)
    return Batch(logits, torch.zeros(number, 2, 1), weak, torch.arange(number), torch.nn.Identity())


@given(st.lists(st.integers(0, 3), min_size=1, max_size=40), st.floats(0, 2), st.floats(0, 0.9))
def test_weights_are_powers_of_the_frequency(weak: list[int], gamma: float, noise: float) -> None:
    share = {label: weak.count(label) / len(weak) for label in weak}
    raw = np.array([share[label] ** -gamma * max(0.0, 1 - noise / (4 * share[label])) for label in weak])
    if raw.sum() == 0:
        return
    found = weak_weights(weak, gamma, noise, 4)
    np.testing.assert_allclose(found, np.minimum(raw / raw.mean(), CAP), rtol=1e-12)


def test_sequences_are_weighed_as_a_whole() -> None:
    found = weak_weights([[0, 1], [0, 1], [1, 0]], gamma=1.0)
    np.testing.assert_allclose(found, [0.75, 0.75, 1.5])


def test_a_weight_is_capped() -> None:
    assert weak_weights([0] * 9999 + [1], gamma=1.0).max() == CAP


def test_weights_multiply_the_losses_of_their_samples() -> None:
    drawn = batch()
    plain, balanced = make_method("sl", SIGMA), make_method("sl-balanced", SIGMA)
    for method in (plain, balanced):
        method.begin(samples(drawn.weak.numpy()))
    weights = torch.from_numpy(weak_weights(drawn.weak.numpy(), 0.5)).float()
    torch.testing.assert_close(balanced.loss(drawn), weights * plain.loss(drawn))


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.7])
def test_the_noise_rate_mixes_the_likelihood_with_a_uniform_one(noise: float) -> None:
    scores, weak = batch().logits.log_softmax(-1), batch().weak
    chance = SIGMA.log_prob(scores).exp().gather(1, weak.unsqueeze(1))[:, 0]
    found = nslimb.semantic_loss(scores, weak, SIGMA, noise=noise)
    torch.testing.assert_close(found, -((1 - noise) * chance + noise / 4).log())


def test_the_estimated_noise_rate_is_the_most_likely_one() -> None:
    rng = np.random.default_rng(1)
    labels = torch.from_numpy(rng.integers(4, size=(600, 2)))
    weak = SIGMA.apply(labels)
    wrong = torch.from_numpy(rng.random(600) < 0.08)
    weak[wrong] = torch.from_numpy(rng.integers(4, size=600))[wrong]
    scores = (4 * torch.nn.functional.one_hot(labels, 4) + torch.from_numpy(rng.normal(size=(600, 2, 4)))).log_softmax(
        -1
    )
    found = estimate_noise(scores, weak, SIGMA)

    def misfit(share: float, temperature: float) -> float:
        chance = SIGMA.log_likelihood((scores / temperature).log_softmax(-1), weak).exp()
        return -float(((1 - share) * chance + share / 4).log().sum())

    best = min(
        (minimize_scalar(misfit, bounds=(0, 0.5), args=(t,), method="bounded") for t in _TEMPERATURES),
        key=lambda solved: solved.fun,
    )
    assert found == pytest.approx(best.x, abs=2e-3)
    assert 0.04 < found < 0.12


def test_right_labels_have_next_to_no_noise() -> None:
    labels = torch.randint(4, (400, 2), generator=torch.Generator().manual_seed(0))
    scores = (6 * torch.nn.functional.one_hot(labels, 4).double()).log_softmax(-1)
    assert estimate_noise(scores, SIGMA.apply(labels), SIGMA) < 0.005


def test_a_method_that_estimates_its_noise_takes_it_up_and_stores_it() -> None:
    method = make_method("sl-balanced", SIGMA, noise="auto")
    drawn = batch(40)
    method.begin(samples(drawn.weak.numpy()))
    wrong = torch.zeros(40, 2, 4).log_softmax(-1)
    method.end_epoch(0, lambda _: wrong)
    assert method.noise == 0.0  # too early
    method.end_epoch(2, lambda _: wrong)
    expected = estimate_noise(wrong, drawn.weak, SIGMA)
    assert method.noise == expected > 0
    other = make_method("sl-balanced", SIGMA, noise="auto")
    other.begin(samples(drawn.weak.numpy()))
    other.load_state_dict(method.state_dict())
    torch.testing.assert_close(other.loss(drawn), method.loss(drawn))


RATIOS = [0.1, 0.2, 0.3, 0.4]


def test_the_last_bias_starts_at_the_log_ratios() -> None:
    method = make_method("sl-prior", SIGMA, estimated_ratios=RATIOS)
    network = build("lenet", 4, seed=1)
    method.begin_network(network)
    expected = torch.tensor(RATIOS).add(1e-4).log()
    torch.testing.assert_close(network.last_layer.bias.detach(), expected - expected.mean())
    assert network.last_layer.out_features == 4


def test_the_mean_prediction_must_explain_the_weak_labels() -> None:
    method = make_method("sl-prior", SIGMA, estimated_ratios=RATIOS, psi=2.0)
    plain = make_method("sl", SIGMA)
    weak = np.array([0, 1, 1, 3, 3, 3])
    for each in (method, plain):
        each.begin(samples(weak))
    method.epochs_done = 3
    mean = torch.tensor(RATIOS)
    shares = torch.tensor([1, 2, 0, 3]) / 6
    for seed in (0, 1):
        drawn = batch(seed=seed)
        newest = drawn.logits.softmax(-1).mean(dim=(0, 1))
        mean = 0.9 * mean.detach() + 0.1 * newest
        # P(max of two = s) = F(s)^2 - F(s - 1)^2
        cumulated = torch.cat([torch.zeros(1), mean.cumsum(0)]) ** 2
        term = -(shares * (cumulated[1:] - cumulated[:-1]).log()).sum()
        found = method.loss(drawn)
        torch.testing.assert_close(found, plain.loss(drawn) + 2 * term)
        (ours,) = torch.autograd.grad(found.sum(), drawn.logits, retain_graph=True)
        (expected,) = torch.autograd.grad((plain.loss(drawn) + 2 * term).sum(), drawn.logits)
        torch.testing.assert_close(ours, expected)


def test_the_term_on_the_mean_waits_for_its_epochs() -> None:
    method, plain = make_method("sl-prior", SIGMA, estimated_ratios=RATIOS), make_method("sl", SIGMA)
    drawn = batch()
    for each in (method, plain):
        each.begin(samples(drawn.weak.numpy()))
    assert torch.equal(method.loss(drawn), plain.loss(drawn))


def test_ratios_are_estimated_where_none_are_given() -> None:
    weak = np.repeat([0, 1, 2, 3], [10, 30, 60, 100])
    for name in ("sl-prior", "ilp-alg1", "recipe"):
        method = make_method(name, SIGMA)
        with pytest.raises(InvalidInput, match="estimated_ratios: expected ratios, or training samples"):
            _ = method.ratios
        method.begin(samples(weak))
        expected = nslimb.estimate_marginal(weak, SIGMA, regularise="entropy").ratios
        torch.testing.assert_close(method.ratios, expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma": -1.0}, "gamma: expected a number of at least 0, got -1.0"),
        ({"noise": 1.0}, "noise: expected a share from 0 to below 1, or 'auto', got 1.0"),
        ({"noise": -0.1}, "noise: expected"),
        ({"noise": "some"}, "noise: expected"),
        ({"noise": 0.1, "form": "bce"}, "noise: expected 0 with form 'bce'"),
        ({"epsilon": 0.5}, "settings of sl: expected proofs, form, gamma, noise, got 'epsilon'"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make_method("sl", SIGMA, **options)


def test_a_network_without_a_bias_cannot_start_at_the_prior() -> None:
    network = build("lenet", 4, seed=1)
    network.head = torch.nn.Linear(256, 4, bias=False)
    with pytest.raises(InvalidInput, match="network: expected a last linear layer with a bias"):
        make_method("sl-prior", SIGMA, estimated_ratios=RATIOS).begin_network(network)


def test_records_that_debias_nowhere_are_plain_sl() -> None:
    drawn = replace_features(batch())
    plain, released = make_method("sl", SIGMA), make_method("records", SIGMA, debias="none")
    for each in (plain, released):
        each.begin(samples(drawn.weak.numpy()))
    assert torch.equal(released.loss(drawn), plain.loss(drawn))
    assert torch.equal(released.debias(drawn.logits, drawn.head), drawn.logits)


def replace_features(drawn: Batch) -> Batch:
    return drawn._replace(features=torch.ones(len(drawn.weak), 2, 3), head=torch.nn.Linear(3, 4))
