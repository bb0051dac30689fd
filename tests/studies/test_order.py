"""Rank correlation of bounds and accuracies, with ties and by permutation."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, permutation_test, spearmanr

from nslimb.errors import InvalidInput
from nslimb.experiment.studies.order import order_agreement


def test_the_same_order_and_the_opposite_one() -> None:
    bounds = np.linspace(1, 0.1, 10)
    same, opposite = (order_agreement(bounds, accuracy) for accuracy in (1 - bounds, bounds))
    assert (same.spearman, same.kendall) == pytest.approx((1, 1))
    assert same.spearman_p == same.kendall_p == pytest.approx(1 / 10_001, rel=1e-6)
    assert (opposite.spearman, opposite.kendall) == pytest.approx((-1, -1))
    assert opposite.spearman_p == opposite.kendall_p == 1


@settings(max_examples=30)
@given(st.integers(3, 6), st.integers(0, 2**32 - 1))
def test_against_scipy_over_all_orders(size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bounds, accuracy = rng.integers(0, 4, size=size) / 4, rng.integers(0, 4, size=size) / 4
    ours = order_agreement(bounds, accuracy)
    if np.ptp(bounds) == 0 or np.ptp(accuracy) == 0:
        assert math.isnan(ours.spearman)
        assert math.isnan(ours.kendall_p)
        return
    for statistic, value, p in (
        (spearmanr, ours.spearman, ours.spearman_p),
        (kendalltau, ours.kendall, ours.kendall_p),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = permutation_test(
                (1 - accuracy,),
                lambda x, statistic=statistic: statistic(bounds, x).statistic,
                permutation_type="pairings",
                n_resamples=np.inf,
                alternative="greater",
                vectorized=False,
            )
        assert value == pytest.approx(theirs.statistic)
        assert p == pytest.approx(theirs.pvalue)


def test_random_orders_come_close_to_all_of_them() -> None:
    bounds, accuracy = [0.9, 0.5, 0.7, 0.3, 0.2, 0.1, 0.15], [0.2, 0.5, 0.1, 0.6, 0.9, 0.8, 0.85]
    every, some = (order_agreement(bounds, accuracy, permutations=n) for n in (5040, 5039))
    assert some.spearman_p == pytest.approx(every.spearman_p, abs=0.008)  # three deviations
    assert some.kendall_p == pytest.approx(every.kendall_p, abs=0.008)  # three deviations


def test_classes_that_do_not_occur_are_left_out() -> None:
    full = order_agreement([0.9, 0.5, 0.1], [0.2, 0.6, 0.8])
    assert order_agreement([0.9, 0.3, 0.5, 0.1], [0.2, None, 0.6, 0.8]) == full
    assert full.classes == 3


@pytest.mark.parametrize(
    ("bounds", "accuracy"),
    [([0.1, 0.2], [0.1]), ([0.1, None], [0.1, 0.2]), ([], []), (["a"], [1]), ([[0.1]], [[0.1]]), ([np.inf], [0.1])],
)
def test_bad_input(bounds: list[float], accuracy: list[float]) -> None:
    with pytest.raises(InvalidInput):
        order_agreement(bounds, accuracy)
