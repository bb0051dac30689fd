"""Bootstrap intervals: the same as estimating again and again, and as wide as they say."""

from __future__ import annotations

import warnings

import numpy as np
import oracles
import pytest
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
    sigma = data.draw(oracles.tables(max_arity=3, max_classes=4))
    table = oracles.weak_table(sigma)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    hidden = rng.dirichlet(np.ones(sigma.num_classes))
    joint = hidden[oracles.all_vectors(sigma)].prod(axis=1)
    weak = np.bincount(table[table >= 0], weights=joint[table >= 0], minlength=len(sigma.weak_labels))
    counts = rng.multinomial(500, weak / weak.sum())
    ours = bootstrap_marginal(counts, sigma, counts=True, resamples=8, seed=1)
    theirs, drawn = again_and_again(counts, sigma, None, 8, seed=1)
    for ratios, other, row in zip(ours.replicates, theirs, drawn, strict=True):
        joint = ratios[oracles.all_vectors(sigma)].prod(axis=1)
        psi = np.bincount(table[table >= 0], weights=joint[table >= 0], minlength=len(sigma.weak_labels))
        value = row[row > 0] / 500 @ np.log(np.maximum(psi[row > 0] / psi.sum(), 1e-300))
        assert value >= other.log_likelihood - 1e-6


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
    sigma = data.draw(oracles.tables(max_arity=3, max_classes=3).filter(lambda s: s.num_classes == 3))
    table = oracles.weak_table(sigma)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    step = np.linspace(0, 1, 201)
    grid = np.array([(a, b, 1 - a - b) for a in step for b in step if a + b <= 1 + 1e-12]).clip(1e-12)
    joint = grid[:, oracles.all_vectors(sigma)].prod(axis=2)
    psi = np.stack([joint[:, table == s].sum(axis=1) for s in range(len(sigma.weak_labels))], axis=1)
    psi /= psi.sum(axis=1, keepdims=True)
    counts = rng.multinomial(200, psi[rng.integers(len(psi))])
    likelihood = WeakLikelihood.from_weak(counts, sigma, None, counts=True)
    if not likelihood.possible.all():
        return
    values = np.log(np.maximum(psi, 1e-300)) @ (counts / 200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotIdentified)
        peak = estimate_marginal(counts, sigma, counts=True)
    lower, upper = likelihood_interval(likelihood, peak.ratios.numpy()[None], np.ones((1, 3), dtype=bool), 0.9)
    inside = np.concatenate([grid[values >= peak.log_likelihood - 2.7055 / 400], peak.ratios.numpy()[None]])
    for label in range(3):
        # At least the piece about the estimate, at most all pieces with what lies between.
        assert lower[0, label] >= inside[:, label].min() - 0.012
        assert upper[0, label] <= inside[:, label].max() + 0.012
        mine = np.unique(inside[:, label].round(6))
        mine = np.array([t for t in mine if not _gap(mine, t, float(peak.ratios[label]))])
        if len(mine):
            assert lower[0, label] <= mine.min() + 1e-4
            assert upper[0, label] >= mine.max() - 1e-4


def _gap(points: np.ndarray, t: float, centre: float) -> bool:
    """Whether a grid point is missing between t and the centre."""
    between = np.sort(points[(points >= min(t, centre) - 1e-9) & (points <= max(t, centre) + 1e-9)])
    ends = np.concatenate([[min(t, centre)], between, [max(t, centre)]])
    return bool((np.diff(ends) > 0.0075).any())


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
