"""The most even ratios of a likelihood region: inside it, as even as any solver finds, and closer to the truth."""

from __future__ import annotations

import numpy as np
import pytest
from brute import Brute, problems, quiet
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

import nslimb
from nslimb import Sigma, estimate_marginal
from nslimb.errors import InvalidInput
from nslimb.marginals import bootstrap_marginal
from nslimb.marginals.entropy import most_even
from nslimb.marginals.likelihood import WeakLikelihood


def entropy(ratios: np.ndarray) -> float:
    return float(-(ratios @ np.log(np.maximum(ratios, 1e-300))))


def long_tail(rho: float, reverse: bool = False) -> np.ndarray:
    shares = rho ** -((10 - np.arange(10) if reverse else np.arange(10)) / 9)
    return shares / shares.sum()


@settings(max_examples=80)
@given(st.data())
def test_it_never_leaves_the_region(data: st.DataObject) -> None:
    sigma, brute, counts = data.draw(problems(max_classes=6))
    peak = quiet(counts, sigma, counts=True, noise=brute.noise)
    ours = quiet(counts, sigma, counts=True, noise=brute.noise, regularise="entropy")
    ratios = ours.ratios.numpy()
    assert ours.converged
    assert ratios.sum() == pytest.approx(1, abs=1e-9)
    assert (ratios >= 0).all()
    top = brute.log_likelihood(np.maximum(peak.ratios.numpy(), 1e-300), counts)
    loss = top - brute.log_likelihood(ratios, counts)
    assert loss <= ours.level + 1e-7
    assert ours.loss == pytest.approx(loss, abs=1e-6)
    assert ours.log_likelihood * counts.sum() == pytest.approx(top - loss, abs=1e-6)
    assert entropy(ratios) >= entropy(peak.ratios.numpy()) - 1e-7
    # What is identified is a matter of the data, not of the method.
    assert ours.flat_classes == peak.flat_classes
    identified = sigma.accepted.any(axis=0).sum() - 1 - len(peak.flat)
    assert ours.level == max(1, identified) / 2


@settings(max_examples=50)
@given(st.data())
def test_a_generic_solver_finds_none_more_even(data: st.DataObject) -> None:
    sigma, brute, counts = data.draw(problems())
    peak = quiet(counts, sigma, counts=True, noise=brute.noise).ratios.numpy()
    ours = quiet(counts, sigma, counts=True, noise=brute.noise, regularise="entropy")
    live = sigma.accepted.any(axis=0)
    top = brute.log_likelihood(np.maximum(peak, 1e-300), counts)

    def full(inside: np.ndarray) -> np.ndarray:
        ratios = np.zeros(len(live))
        ratios[live] = np.maximum(inside, 1e-12)
        return ratios

    def slack(inside: np.ndarray) -> float:
        return brute.log_likelihood(full(inside), counts) - top + ours.level

    rng = np.random.default_rng(0)
    size = int(live.sum())
    starts = [ours.ratios.numpy()[live], (peak[live] + 1 / size) / 2, *rng.dirichlet(np.ones(size), size=2)]
    for start in starts:
        theirs = minimize(
            lambda inside: -entropy(full(inside)),
            start,
            method="SLSQP",
            bounds=[(1e-12, 1.0)] * size,
            constraints=[{"type": "eq", "fun": lambda inside: inside.sum() - 1}, {"type": "ineq", "fun": slack}],
            options={"maxiter": 300, "ftol": 1e-12},
        )
        feasible = slack(theirs.x) >= -1e-6 and abs(theirs.x.sum() - 1) < 1e-8
        if feasible:
            assert entropy(ours.ratios.numpy()) >= entropy(full(theirs.x)) - 1e-5


def test_two_classes_in_closed_form() -> None:
    sigma = Sigma.from_function(lambda y: y[0], num_classes=2, arity=1)
    ours = estimate_marginal([30, 970], sigma, counts=True, regularise="entropy")
    loss = lambda t: 30 * np.log(0.03 / t) + 970 * np.log(0.97 / (1 - t)) - 0.5  # noqa: E731
    assert ours.ratios[0].item() == pytest.approx(brentq(loss, 0.03, 0.5), abs=1e-6)
    assert ours.level == 0.5


def test_uniform_ratios_that_fit_are_returned_as_they_are() -> None:
    ours = quiet([4, 5, 6], Sigma.from_function(lambda y: y[0], 3, 1), counts=True, regularise="entropy")
    assert ours.ratios.tolist() == pytest.approx([1 / 3] * 3, abs=1e-15)
    assert 0 < ours.loss < ours.level == 1.0


def test_where_nothing_is_identified_ratios_are_uniform() -> None:
    sigma = Sigma.from_function(lambda y: 0, num_classes=4, arity=2)
    ours = quiet([7], sigma, counts=True, regularise="entropy")
    assert ours.ratios.tolist() == pytest.approx([0.25] * 4, abs=1e-12)
    assert len(ours.flat) == 3
    assert ours.converged


def test_maximum_likelihood_is_the_default() -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    ours = estimate_marginal([100, 300, 600], sigma, counts=True)
    assert (ours.level, ours.loss) == (0.0, 0.0)
    cumulative = np.sqrt([0.1, 0.4, 1.0])
    np.testing.assert_allclose(ours.ratios, np.diff(cumulative, prepend=0), atol=1e-7)


def test_groups_share_the_level_and_add_their_entropies() -> None:
    sigma = Sigma.from_function(lambda y: 3 * y[0] + y[1], num_classes=3, arity=2)
    counts = np.array([30, 5, 5, 200, 40, 60, 80, 10, 20])
    ours = estimate_marginal(counts, sigma, [0, 1], counts=True, regularise="entropy")
    assert ours.level == 2.0  # two free ratios in each group
    brute = Brute(sigma)
    peak = np.stack([counts.reshape(3, 3).sum(axis=1), counts.reshape(3, 3).sum(axis=0)]) / counts.sum()
    top = brute.log_likelihood(peak, counts)
    theirs = minimize(
        lambda flat: -entropy(flat),
        peak.ravel(),
        method="SLSQP",
        bounds=[(1e-9, 1.0)] * 6,
        constraints=[
            {"type": "eq", "fun": lambda flat: flat.reshape(2, 3).sum(axis=1) - 1},
            {"type": "ineq", "fun": lambda flat: brute.log_likelihood(flat.reshape(2, 3), counts) - top + 2.0},
        ],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(ours.ratios.ravel(), theirs.x, atol=1e-5)


def test_symbols_at_positions_that_do_not_accept_them_stay_at_zero() -> None:
    sigma = nslimb.sigma.formula(3)
    rng = np.random.default_rng(0)
    labels = np.stack([rng.integers(10, size=300), rng.integers(10, 13, size=300), rng.integers(10, size=300)], axis=1)
    ours = quiet(sigma.apply(labels), sigma, sigma.groups, regularise="entropy")
    assert ours.converged
    assert ((ours.ratios.numpy() > 0) == sigma.accepted).all()
    np.testing.assert_allclose(ours.ratios.sum(dim=1), 1)
    assert np.array_equal(ours.ratios[0], ours.ratios[2])


def test_it_is_consistent() -> None:
    sigma, truth = nslimb.sigma.maximum(3), long_tail(5, reverse=True)
    weak = np.diff(np.cumsum(truth).clip(max=1) ** 3, prepend=0)
    rng = np.random.default_rng(0)
    sizes, errors = [10**3, 10**5, 10**7, 10**9], []
    for size in sizes:
        found = [quiet(rng.multinomial(size, weak), sigma, counts=True, regularise="entropy") for _ in range(4)]
        errors.append(np.mean([0.5 * np.abs(one.ratios.numpy() - truth).sum() for one in found]))
    slope = np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert -0.6 < slope < -0.3, errors
    assert errors[-1] < 1e-3


@pytest.mark.parametrize(
    ("sigma", "truth", "samples"),
    [
        (nslimb.sigma.maximum(4), np.full(10, 0.1), 3000),
        (nslimb.sigma.maximum(5), long_tail(5, reverse=True), 3000),
        (nslimb.sigma.total(6), long_tail(50), 2000),
    ],
    ids=["MAX-4", "MAX-5", "SUM-6"],
)
def test_where_weak_labels_say_little_it_is_far_closer_to_the_truth(
    sigma: Sigma, truth: np.ndarray, samples: int
) -> None:
    rng = np.random.default_rng(0)
    distances = np.zeros(2)
    for _ in range(4):
        weak = sigma.apply(rng.choice(10, p=truth, size=(samples, sigma.arity)))
        for i, regularise in enumerate((None, "entropy")):
            distances[i] += 0.5 * np.abs(quiet(weak, sigma, regularise=regularise).ratios.numpy() - truth).sum()
    assert distances[1] < 0.5 * distances[0], distances / 4


def test_more_samples_than_numbers_can_tell_apart() -> None:
    sigma, truth = nslimb.sigma.maximum(3), long_tail(5, reverse=True)
    counts = 1e18 * np.diff(np.cumsum(truth).clip(max=1) ** 3, prepend=0)
    ours = quiet(counts, sigma, counts=True, regularise="entropy")  # it ends; rounding is more than the level
    np.testing.assert_allclose(ours.ratios, truth, atol=1e-4)
    assert ours.loss <= ours.level


def test_any_level_can_be_asked_for_inside() -> None:
    sigma, counts = nslimb.sigma.maximum(2, num_classes=4), [10, 200, 300, 490]
    likelihood = WeakLikelihood.from_weak(counts, sigma, None, counts=True)
    peak = estimate_marginal(counts, sigma, counts=True).ratios.numpy()[None]
    found = [most_even(likelihood, peak, level) for level in (0.1, 1.0, 4.6)]
    assert [result.loss for result in found] == pytest.approx([0.1, 1.0, 4.6], abs=1e-5)
    heights = [entropy(result.ratios[0]) for result in found]
    assert heights == sorted(heights)


@pytest.mark.parametrize("regularise", ["Entropy", "dirichlet", 1, True, ["entropy"]])
def test_a_regularisation_that_does_not_exist(regularise: object) -> None:
    for function in (estimate_marginal, bootstrap_marginal):
        with pytest.raises(InvalidInput, match=r"regularise: expected None \(maximum likelihood\) or 'entropy', got"):
            function([1, 2, 3], nslimb.sigma.maximum(2, 3), counts=True, regularise=regularise)  # type: ignore[operator]


def test_adam_is_not_regularised() -> None:
    with pytest.raises(InvalidInput, match="regularise: expected None with solver='adam'"):
        estimate_marginal([0, 1], nslimb.sigma.maximum(2, 3), solver="adam", regularise="entropy")


@pytest.mark.parametrize(
    ("weak", "options", "argument"),
    [
        ([], {}, "weak"),
        ([0, 0, 0], {"counts": True}, "weak"),
        ([0, 1], {"groups": [0]}, "groups"),
        ([0, 1], {"groups": [0, 2]}, "groups"),
        ([0, 1], {"groups": ["a", "b"]}, "groups"),
    ],
)
def test_no_samples_and_groups_that_do_not_fit(weak: object, options: dict[str, object], argument: str) -> None:
    with pytest.raises(InvalidInput, match=f"{argument}: expected"):
        estimate_marginal(weak, nslimb.sigma.maximum(2, 3), regularise="entropy", **options)  # type: ignore[arg-type]
