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
    ours = bootstrap_marginal(counts, sigma, groups, counts=True, resamples=60, seed=3)
    theirs, _ = again_and_again(counts, sigma, groups, 60, seed=3)
    expected = np.stack([found.ratios.numpy() for found in theirs])
    np.testing.assert_allclose(ours.replicates, expected, atol=1e-5)
    np.testing.assert_allclose(ours.lower, np.quantile(expected, 0.025, axis=0), atol=1e-5)
    np.testing.assert_allclose(ours.upper, np.quantile(expected, 0.975, axis=0), atol=1e-5)


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
        value = row[row > 0] / 500 @ np.log(np.maximum(psi[row > 0], 1e-300))
        assert value >= other.log_likelihood - 1e-6


def test_intervals_cover_as_often_as_they_say() -> None:
    sigma, truth = nslimb.sigma.maximum(2, num_classes=3), np.array([0.5, 0.2, 0.3])
    below = np.cumsum(truth) ** 2  # P(max <= s)
    rng = np.random.default_rng(5)
    inside, widths = [], []
    for counts in rng.multinomial(1000, np.diff(below, prepend=0), size=150):
        found = bootstrap_marginal(counts, sigma, counts=True, resamples=150, level=0.9, seed=2)
        inside.append((found.lower <= truth) & (truth <= found.upper))
        widths.append(found.upper - found.lower)
    # 0.9 within three deviations of 150 draws.
    assert (np.abs(np.mean(inside, axis=0) - 0.9) < 3 * np.sqrt(0.9 * 0.1 / 150)).all(), np.mean(inside, axis=0)
    # r_0 = sqrt(p_0): by the delta method its deviation is sqrt((1 - p_0) / m) / 2.
    expected = 2 * 1.645 * np.sqrt((1 - below[0]) / 1000) / 2
    assert np.mean(widths, axis=0)[0] == pytest.approx(expected, rel=0.05)


def test_a_seed_fixes_it_and_another_changes_it() -> None:
    sigma, counts = nslimb.sigma.maximum(2), [20, 30, 40, 50, 60, 70, 80, 90, 100, 110]
    first, same, other = (bootstrap_marginal(counts, sigma, counts=True, resamples=20, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first.replicates, same.replicates)
    assert not np.array_equal(first.lower, other.lower)


def test_what_is_not_identified_gets_the_whole_range() -> None:
    sigma = Sigma.from_function(lambda y: sum(label >= 1 for label in y), num_classes=3, arity=2)  # 1 and 2 look alike
    found = bootstrap_marginal([250, 500, 250], sigma, counts=True, resamples=20)
    assert found.identified.tolist() == [True, False, False]
    assert found.lower.tolist()[1:] == [0, 0]
    assert found.upper.tolist()[1:] == [1, 1]
    assert 0.4 < found.lower[0] < 0.5 < found.upper[0] < 0.6


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
