"""Bootstrap intervals: the same as estimating again and again, and as wide as they say."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from brute import Brute, problems, quiet
from hypothesis import given, settings
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma, estimate_marginal
from nslimb.errors import InvalidInput
from nslimb.marginals import MarginalEstimate, NotIdentified, bootstrap_marginal
from nslimb.marginals.likelihood import WeakLikelihood
from nslimb.marginals.profile import likelihood_interval
from nslimb.seeds import numpy_generator


def again_and_again(
    counts: np.ndarray, sigma: Sigma, groups: list[int] | None, resamples: int, seed: int
) -> tuple[list[MarginalEstimate], np.ndarray]:
    """The oracle: resample the counts, estimate each alone."""
    samples = int(counts.sum())
    drawn = numpy_generator(seed, "bootstrap").multinomial(samples, counts / samples, size=resamples)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotIdentified)
        return [estimate_marginal(row, sigma, groups, counts=True) for row in drawn], drawn


@pytest.mark.parametrize(
    ("sigma", "groups", "samples"),
    [
        (nslimb.sigma.maximum(3), None, 3000),
        (nslimb.sigma.smallest_parent(), None, 500),
        (nslimb.sigma.formula(3), [0, 1, 0], 2000),
        (nslimb.sigma.formula(3), [0, 1, 2], 2000),
    ],
    ids=["MAX-3", "Smallest Parent", "HWF-3", "HWF-3 by position"],
)
def test_it_is_the_estimate_of_every_resample(sigma: Sigma, groups: list[int] | None, samples: int) -> None:
    rng = np.random.default_rng(0)
    allowed = [np.flatnonzero(row) for row in sigma.accepted]
    labels = np.stack([rng.choice(row, size=samples) for row in allowed], axis=1)
    counts = np.bincount(sigma.apply(labels), minlength=len(sigma.weak_labels))
    ours = bootstrap_marginal(counts, sigma, groups, counts=True, resamples=40, seed=3)
    theirs, _ = again_and_again(counts, sigma, groups, 40, seed=3)
    expected = np.stack([found.ratios.numpy() for found in theirs])
    np.testing.assert_allclose(ours.replicates, expected, atol=1e-5)
    low, high = np.quantile(expected, [0.025, 0.975], axis=0)
    if ((low > 0.002) | ~sigma.accepted).all():  # else likelihood intervals are taken in
        np.testing.assert_allclose(ours.lower, low, atol=1e-5)
        np.testing.assert_allclose(ours.upper, high, atol=1e-5)
    assert (ours.lower <= low + 1e-5).all()
    assert (ours.upper >= high - 1e-5).all()


@settings(max_examples=25)
@given(st.data())
def test_no_resample_is_fitted_worse_than_alone(data: st.DataObject) -> None:
    sigma, brute, counts = data.draw(problems(fitting=True))
    ours = bootstrap_marginal(counts, sigma, counts=True, resamples=8, seed=1, noise=brute.noise)
    samples = int(counts.sum())
    drawn = numpy_generator(1, "bootstrap").multinomial(samples, counts / samples, size=8)
    for ratios, row in zip(ours.replicates, drawn, strict=True):
        alone = quiet(row, sigma, counts=True, noise=brute.noise)
        assert brute.log_likelihood(ratios, row) / samples >= alone.log_likelihood - 1e-6


def test_the_estimate_may_be_regularised_and_lies_in_its_interval() -> None:
    sigma = nslimb.sigma.maximum(4)
    rng = np.random.default_rng(2)
    weak = sigma.apply(rng.integers(10, size=(3000, 4)))
    plain, even = (bootstrap_marginal(weak, sigma, resamples=30, regularise=how) for how in (None, "entropy"))
    assert torch.equal(even.estimate.ratios, quiet(weak, sigma, regularise="entropy").ratios)
    assert torch.equal(plain.estimate.ratios, quiet(weak, sigma).ratios)
    np.testing.assert_array_equal(even.replicates, plain.replicates)  # those of the most likely ratios, as before
    ratios = even.estimate.ratios.numpy()
    np.testing.assert_array_equal(even.lower, np.minimum(plain.lower, ratios))
    np.testing.assert_array_equal(even.upper, np.maximum(plain.upper, ratios))


def test_an_interval_that_leaves_the_regularised_estimate_out_is_extended() -> None:
    # Of 2,000 with many classes, the level of 9 / 2 nats is more than an interval of level 0.5 allows one ratio.
    sigma = Sigma.from_function(lambda y: y[0], num_classes=10, arity=1)
    counts = np.array([1000, 300, 200, 150, 120, 90, 60, 40, 25, 15])
    plain, even = (
        bootstrap_marginal(counts, sigma, counts=True, resamples=50, level=0.5, regularise=how)
        for how in (None, "entropy")
    )
    ratios = even.estimate.ratios.numpy()
    outside = (ratios < plain.lower) | (ratios > plain.upper)
    assert outside.any()
    assert ((even.lower <= ratios) & (ratios <= even.upper)).all()
    np.testing.assert_array_equal(even.upper[~outside], plain.upper[~outside])


def test_intervals_cover_as_often_as_they_say() -> None:
    sigma, truth = nslimb.sigma.maximum(2, num_classes=3), np.array([0.5, 0.2, 0.3])
    below = np.cumsum(truth) ** 2  # P(max <= s)
    rng = np.random.default_rng(5)
    inside, widths = [], []
    for seed, counts in enumerate(rng.multinomial(1000, np.diff(below, prepend=0), size=120)):
        found = bootstrap_marginal(counts, sigma, counts=True, resamples=100, level=0.9, seed=seed)
        inside.append((found.lower <= truth) & (truth <= found.upper))
        widths.append(found.upper - found.lower)
    # 0.9 within three deviations of 120 draws.
    assert (np.abs(np.mean(inside, axis=0) - 0.9) < 3 * np.sqrt(0.9 * 0.1 / 120)).all(), np.mean(inside, axis=0)
    # r_0 = sqrt(p_0): by the delta method its deviation is sqrt((1 - p_0) / m) / 2.
    expected = 2 * 1.645 * np.sqrt((1 - below[0]) / 1000) / 2
    assert np.mean(widths, axis=0)[0] == pytest.approx(expected, rel=0.05)


def test_a_seed_fixes_it_and_another_changes_it() -> None:
    sigma, counts = nslimb.sigma.maximum(2), [20, 30, 40, 50, 60, 70, 80, 90, 100, 110]
    first, same, other = (bootstrap_marginal(counts, sigma, counts=True, resamples=20, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first.replicates, same.replicates)
    assert not np.array_equal(first.lower, other.lower)


def test_what_is_not_identified_gets_all_that_fits() -> None:
    sigma = Sigma.from_function(lambda y: sum(label >= 1 for label in y), num_classes=3, arity=2)  # 1 and 2 look alike
    found = bootstrap_marginal([250, 500, 250], sigma, counts=True, resamples=50)
    assert found.identified.tolist() == [True, False, False]
    assert 0.45 < found.lower[0] < 0.49 < 0.51 < found.upper[0] < 0.55
    # Their sum has an interval, and each of them may have all of it or nothing.
    np.testing.assert_allclose(found.lower[1:], 0)
    np.testing.assert_allclose(found.upper[1:], 1 - found.lower[0], atol=0.01)


def test_weak_labels_that_happen_not_to_occur_are_allowed_for() -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=2)
    found = bootstrap_marginal([0, 1000], sigma, counts=True, resamples=50)
    assert (found.replicates[:, 0] < 1e-4).all()  # a bootstrap alone would say: exactly 0
    # The likelihood (1 - r_0 ** 2) ** 1000 falls by 3.84 / 2 nats at sqrt(0.00192).
    assert found.upper[0] == pytest.approx(np.sqrt(1 - np.exp(-3.8415 / 2000)), abs=2e-4)
    assert found.lower[1] == pytest.approx(1 - found.upper[0], abs=2e-4)


@settings(max_examples=20)
@given(st.data())
def test_likelihood_intervals_against_a_grid(data: st.DataObject) -> None:
    sigma, brute, counts = data.draw(problems(max_classes=3).filter(lambda problem: problem[0].num_classes == 3))
    likelihood = WeakLikelihood.from_weak(counts, sigma, None, counts=True, noise=brute.noise)
    if not likelihood.possible.all():
        return
    peak = quiet(counts, sigma, counts=True, noise=brute.noise)
    lower, upper = likelihood_interval(likelihood, peak.ratios.numpy()[None], np.ones((1, 3), dtype=bool), 0.9)
    t = np.linspace(0, 1, 101)
    for label in range(3):
        profile = _profile(brute, counts, label, t)
        good = profile >= peak.log_likelihood * counts.sum() - 2.7055 / 2
        centre = round(100 * float(peak.ratios[label]))
        good[centre] = True  # between two points of the grid the region may be narrower than their distance
        # At least the piece about the estimate, at most all pieces with what lies between.
        assert lower[0, label] >= t[good].min() - 0.02
        assert upper[0, label] <= t[good].max() + 0.02
        first = centre - int(np.argmin(np.append(good[: centre + 1][::-1], False))) + 1
        last = centre + int(np.argmin(np.append(good[centre:], False))) - 1
        assert lower[0, label] <= max(t[first], 1e-4) + 0.006
        assert upper[0, label] >= min(t[last], 1 - 1e-4) - 0.006


def _profile(brute: Brute, counts: np.ndarray, label: int, t: np.ndarray) -> np.ndarray:
    """The largest log-likelihood of three ratios of which one is t, over a fine grid of how the others share."""
    share = np.sin(np.linspace(0, np.pi / 2, 601)) ** 2
    grid = np.empty((len(t), len(share), 3))
    first, second = (other for other in range(3) if other != label)
    grid[..., label] = t[:, None]
    grid[..., first], grid[..., second] = (1 - t)[:, None] * share, (1 - t)[:, None] * (1 - share)
    joint = grid.clip(1e-9)[..., brute.vectors].prod(axis=-1)
    psi = np.stack([joint[..., brute.weak == s].sum(axis=-1) for s in range(brute.size)], axis=-1)
    probs = (1 - brute.noise) * psi / psi.sum(axis=-1, keepdims=True) + brute.noise / brute.size
    return (np.log(np.maximum(probs, 1e-300)) @ counts).max(axis=1)


def test_a_saddle_is_left_in_every_resample() -> None:
    parity = Sigma.from_function(lambda y: sum(y) % 2, num_classes=2, arity=2)  # flat at uniform, and curving up there
    found = bootstrap_marginal([800, 200], parity, counts=True, resamples=20)
    assert (np.abs(found.replicates - 0.5).min(axis=1) > 0.3).all()


def test_progress_counts_up_to_the_end() -> None:
    seen: list[int] = []
    bootstrap_marginal([10, 30, 60], nslimb.sigma.maximum(2, 3), counts=True, resamples=120, progress=seen.append)
    assert seen == sorted(set(seen))
    assert seen[-1] == 120
    assert len(seen) > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resamples": 0}, "resamples"),
        ({"level": 1.0}, "level"),
        ({"level": float("nan")}, "level"),
        ({"weak": [0.5, 1.0, 3.0]}, "whole counts"),
        ({"weak": [1, 2]}, "weak"),
    ],
)
def test_bad_input(options: dict[str, object], message: str) -> None:
    given: dict[str, object] = {"weak": [10, 30, 60], "sigma": nslimb.sigma.maximum(2, 3), "counts": True}
    with pytest.raises(InvalidInput, match=message):
        bootstrap_marginal(**(given | options))  # type: ignore[arg-type]


def test_an_only_label_has_ratio_one_for_certain() -> None:
    sigma = Sigma.from_function(lambda y: y[0] if y[1] == 0 else None, 3, 2)
    found = bootstrap_marginal([0, 1, 2, 2, 1, 2] * 20, sigma, groups=[0, 1], resamples=20)
    assert (found.lower[1, 0], found.upper[1, 0]) == (1.0, 1.0)
