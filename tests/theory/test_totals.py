"""Proposition 3, eq. (5) and M-unambiguity."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import tables
from problems import listed_partial_risk, random_confusion, random_ratios

import nslimb
from nslimb import Sigma, generalisation_bound, is_m_unambiguous, total_risk_bound
from nslimb.errors import InvalidInput


@given(tables(max_classes=5))
def test_unambiguous_means_that_diagonals_differ(sigma: Sigma) -> None:
    values = [sigma.options["function"]((label,) * sigma.arity) for label in range(sigma.num_classes)]
    assert is_m_unambiguous(sigma) == (None not in values and len(set(values)) == sigma.num_classes)


def test_sequences_are_compared_as_wholes() -> None:
    """By the same answers as where every sequence is listed."""
    assert is_m_unambiguous(nslimb.sigma.addition(1))
    assert total_risk_bound(nslimb.sigma.addition(1), 0.001) == total_risk_bound(nslimb.sigma.total(2), 0.001)
    assert total_risk_bound(nslimb.sigma.addition(15), 0.0) == 0.0
    steps = Sigma.from_transducer(0, lambda s, y: (s + 1, s), None, 2, 2)  # whatever the labels: 0, 1
    halves = Sigma.from_transducer(0, lambda s, y: (s, y // 2), None, 4, 2)
    even = Sigma.from_transducer(0, lambda s, y: (s, y) if y % 2 == 0 else None, None, 3, 2)
    for sigma, message in (
        (steps, "the same weak label for 0 repeated and 1 repeated"),
        (halves, "the same weak label for 0 repeated and 1 repeated"),
        (even, "no weak label for 1 repeated"),
    ):
        for form in (sigma, sigma.listed()):
            assert not is_m_unambiguous(form)
            with pytest.raises(InvalidInput, match=message):
                total_risk_bound(form, 0.0)


def test_the_papers_components() -> None:
    assert all(map(is_m_unambiguous, (nslimb.sigma.maximum(50), nslimb.sigma.total(3), nslimb.sigma.counterexample())))
    assert is_m_unambiguous(nslimb.sigma.smallest_parent())
    assert not is_m_unambiguous(nslimb.sigma.formula(3))  # + + + is no formula


@given(st.integers(2, 4), st.integers(1, 3), st.booleans(), st.integers(0, 2**32 - 1))
def test_proposition_3_holds(classes: int, arity: int, summed: bool, seed: int) -> None:
    sigma = (nslimb.sigma.total if summed else nslimb.sigma.maximum)(arity, num_classes=classes)
    rng = np.random.default_rng(seed)
    ratios, confusion = random_ratios(rng, classes), random_confusion(rng, classes)
    partial = min(max(listed_partial_risk(sigma, ratios, confusion), 0.0), 1.0)
    assert ratios @ (1 - np.diag(confusion)) <= total_risk_bound(sigma, partial) + 1e-6


def test_proposition_3_for_pairs() -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    assert total_risk_bound(sigma, 0.01) == pytest.approx(math.sqrt(6 * 0.01))
    np.testing.assert_allclose(total_risk_bound(sigma, [0.0, 0.01, 1.0]), [0, math.sqrt(0.06), 1])


def test_ambiguous_sigma_is_refused() -> None:
    difference = Sigma.from_function(lambda y: y[0] - y[1], 3, 2)
    with pytest.raises(InvalidInput, match="the same weak label for 0 repeated and 1 repeated"):
        total_risk_bound(difference, 0.1)
    with pytest.raises(InvalidInput, match="no weak label for 0 repeated"):
        total_risk_bound(nslimb.sigma.formula(3), 0.1)


def test_generalisation_bound_is_eq_5() -> None:
    sigma = nslimb.sigma.maximum(3)
    d = 2 * 7 * math.log(6 * 3 * 10**2 * 7 / math.e)
    per_sample = 1e6 / d
    expected = 0.02 + math.sqrt(2 * math.log(math.e * per_sample) / per_sample) + math.sqrt(math.log(1 / 0.1) / 2e6)
    assert generalisation_bound(sigma, 0.02, 10**6, 7, delta=0.1) == pytest.approx(expected, rel=1e-12)


def test_generalisation_bound_falls_with_samples_and_never_exceeds_1() -> None:
    sigma = nslimb.sigma.maximum(3)
    bounds = [generalisation_bound(sigma, 0.1, 10**k, 20) for k in range(10)]
    assert bounds[0] == 1.0
    assert all(a >= b for a, b in pairwise(bounds))
    assert 0.1 < bounds[-1] < 0.11
    assert generalisation_bound(sigma, [0.1, 0.99], 10**4, 20).tolist()[1] == 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"empirical_risk": 2}, r"empirical_risk: expected a number in \[0, 1\]"),
        ({"samples": 0}, "samples: expected an integer of at least 1"),
        ({"natarajan_dimension": 2.5}, "natarajan_dimension: expected an integer"),
        ({"delta": 1.0}, "delta: expected a number between 0 and 1"),
        ({"delta": float("nan")}, "delta: expected a number between 0 and 1"),
    ],
)
def test_bad_input(change: dict[str, object], message: str) -> None:
    good: dict[str, object] = {"empirical_risk": 0.1, "samples": 10, "natarajan_dimension": 1, "delta": 0.1}
    with pytest.raises(InvalidInput, match=message):
        generalisation_bound(nslimb.sigma.maximum(2), **good | change)
