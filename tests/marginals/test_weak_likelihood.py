"""The likelihood conditions on a weak label existing and allows for noise: value, slopes, curvature, information."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
from brute import Brute, problems, quiet
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import nslimb
from nslimb import Sigma, estimate_marginal
from nslimb.marginals import bootstrap_marginal
from nslimb.marginals.information import directions, flat_directions
from nslimb.marginals.likelihood import WeakLikelihood

# (0, 0) has no weak label.
PARTIAL = Sigma.from_function(lambda y: None if y == (0, 0) else sum(y), num_classes=2, arity=2)


def test_what_has_no_weak_label_is_never_seen() -> None:
    # Of (0, 1), (1, 0), (1, 1), each as probable, two give 1 and one gives 2.
    np.testing.assert_allclose(estimate_marginal([2_000, 1_000], PARTIAL, counts=True).ratios, 0.5, atol=1e-6)
    labels = np.random.default_rng(0).integers(2, size=(1_000_000, 2))
    weak = PARTIAL.apply(labels)
    found = estimate_marginal(weak[weak >= 0], PARTIAL)
    assert found.converged
    np.testing.assert_allclose(found.ratios, 0.5, atol=0.003)


@settings(max_examples=15)
@given(st.data())
def test_ratios_behind_draws_of_a_partial_sigma_come_back(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    # Injective but for the order, so that ratios are identified; two in five label vectors have no weak label.
    invalid = rng.random((4, 4)) < 0.4
    invalid[0] = invalid[:, 0] = False
    sigma = Sigma.from_function(lambda y: None if invalid[y] else (min(y), max(y)), num_classes=4, arity=2)
    truth = rng.dirichlet(np.full(4, 5.0))
    weak = sigma.apply(rng.choice(4, p=truth, size=(400_000, 2)))
    np.testing.assert_allclose(quiet(weak[weak >= 0], sigma).ratios, truth, atol=0.01)


@settings(max_examples=60)
@given(st.data())
def test_value_slopes_and_curvature_against_listing(data: st.DataObject) -> None:
    sigma, brute, counts = data.draw(problems())
    likelihood = WeakLikelihood.from_weak(counts, sigma, None, counts=True, noise=brute.noise)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    ratios = np.where(likelihood.possible, rng.dirichlet(np.ones(sigma.num_classes)) + 0.05, 0.0)
    ratios /= ratios.sum()
    total = counts.sum()
    assert likelihood.value(ratios) == pytest.approx(brute.log_likelihood(ratios[0], counts) / total, abs=1e-12)
    _, slopes, derivative = likelihood.second_order(ratios[None], likelihood.shares[None])
    live = likelihood.possible[0]
    # Along ratios (1 + t x) that keep their sum, the likelihood has slope N x and curvature x (K - diag N) x.
    for _ in range(3):
        change = rng.normal(size=live.sum())
        change -= change @ ratios[0, live]

        def along(t: float, change: np.ndarray = change) -> float:
            moved = ratios[0].copy()
            moved[live] *= 1 + t * change
            return brute.log_likelihood(moved, counts) / total

        step = 1e-4 / (1 + np.abs(change).max())
        slope = (along(step) - along(-step)) / (2 * step)
        bend = (along(step) - 2 * along(0) + along(-step)) / step**2
        assert slopes[0] @ change == pytest.approx(slope, abs=1e-5 * (1 + change @ change))
        curvature = change @ (derivative[0] - np.diag(slopes[0])) @ change
        assert curvature == pytest.approx(bend, abs=1e-3 * (1 + change @ change) ** 2)


@settings(max_examples=40)
@given(st.data())
def test_information_against_listing(data: st.DataObject) -> None:
    sigma, brute, counts = data.draw(problems())
    likelihood = WeakLikelihood.from_weak(counts, sigma, None, counts=True, noise=brute.noise)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    ratios = np.where(likelihood.possible[0], rng.dirichlet(np.ones(sigma.num_classes)) + 0.05, 0.0)
    ratios /= ratios.sum()
    live = np.flatnonzero(likelihood.possible[0])
    tangent = np.linalg.svd(np.ones((1, len(live))))[2][1:].T
    jacobian = np.zeros((brute.size, len(live)))
    for column, label in enumerate(live):
        for sign in (1, -1):
            moved = ratios.copy()
            moved[label] += sign * 1e-6
            jacobian[:, column] += sign * brute.probs(moved) / 2e-6
    inside = jacobian @ tangent
    information = counts.sum() * inside.T @ (inside / np.maximum(brute.probs(ratios), 1e-12)[:, None])
    values = np.linalg.eigvalsh(information)
    if (np.abs(values - 1) < 1e-3).any():
        return  # on the edge
    flat = flat_directions(likelihood, ratios[None])
    assert len(flat) == (values <= 1).sum()
    assert directions(likelihood) == len(live) - 1
    for direction in flat[:, 0, live] @ tangent:
        assert direction @ information @ direction <= 1 + 1e-3


@settings(max_examples=40)
@given(st.data())
def test_nothing_nearby_is_more_likely(data: st.DataObject) -> None:
    sigma, brute, counts = data.draw(problems())
    ours = quiet(counts, sigma, counts=True, noise=brute.noise)
    assert ours.converged
    found = brute.log_likelihood(np.maximum(ours.ratios.numpy(), 1e-300), counts) / counts.sum()
    assert ours.log_likelihood == pytest.approx(found, abs=1e-8)

    def loss(logits: np.ndarray) -> float:
        weights = np.exp(logits - logits.max())
        return -brute.log_likelihood(weights / weights.sum(), counts) / counts.sum()

    theirs = minimize(loss, np.log(ours.ratios.numpy() + 1e-4), method="L-BFGS-B", options={"maxiter": 200})
    assert ours.log_likelihood >= -theirs.fun - 1e-7


@pytest.mark.parametrize("arity", [3, 5])
def test_formulas_of_accepted_symbols_all_have_a_value(arity: int) -> None:
    sigma = nslimb.sigma.formula(arity)
    grouped, mixed = (
        WeakLikelihood.from_weak(np.ones(len(sigma.weak_labels)), sigma, groups, counts=True)
        for groups in (sigma.groups, None)
    )
    assert not grouped.partial  # so nothing is computed that is not needed
    assert mixed.partial  # a digit may stand where an operator should
    probs = np.exp(grouped.log_probs_and_slopes(grouped.uniform)[0])
    assert probs.sum() == pytest.approx(1)
    assert np.exp(mixed.log_probs_and_slopes(mixed.uniform)[0]).sum() == pytest.approx(1)


@pytest.mark.parametrize("groups", [None, [0, 1]])
def test_noise_is_taken_out_again(groups: list[int] | None) -> None:
    sigma = Sigma.from_function(lambda y: None if y[0] == 2 == y[1] else 3 * y[0] + y[1], num_classes=3, arity=2)
    truth = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6] if groups else [0.5, 0.3, 0.2]])
    counts = 1e6 * Brute(sigma, noise=0.1).probs(truth)
    found = estimate_marginal(counts, sigma, groups, counts=True, noise=0.1)
    np.testing.assert_allclose(np.broadcast_to(found.ratios, (2, 3)), truth, atol=1e-5)
    ignored = estimate_marginal(counts, sigma, groups, counts=True)
    assert np.abs(ignored.ratios.numpy() - truth).max() > 0.01


def test_intervals_know_the_noise() -> None:
    sigma, counts = nslimb.sigma.maximum(2, num_classes=2), [25, 975]
    # All of the 25 may be noise: with u = 1/2 and e = 0.06, 30 are expected.
    loud = bootstrap_marginal(counts, sigma, counts=True, resamples=30, noise=0.06)
    clean = bootstrap_marginal(counts, sigma, counts=True, resamples=30)
    assert loud.lower[0] == 0
    assert clean.lower[0] > 0.1
    assert loud.estimate.ratios[0] < 0.01 < clean.estimate.ratios[0]


@pytest.mark.parametrize("noise", [-0.1, 1.0, 2, float("nan"), float("inf"), "0.1", None, True])
def test_a_noise_rate_that_is_none(noise: object) -> None:
    for function in (estimate_marginal, bootstrap_marginal):
        with pytest.raises(nslimb.errors.InvalidInput, match=r"noise: expected .* at least 0 and below 1"):
            function([1, 2, 3], nslimb.sigma.maximum(2, 3), counts=True, noise=noise)  # type: ignore[operator]


def test_the_oracle_agrees_with_the_diagram() -> None:
    assert oracles.all_vectors(PARTIAL).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    np.testing.assert_allclose(Brute(PARTIAL).probs(np.array([0.5, 0.5])), [2 / 3, 1 / 3])
