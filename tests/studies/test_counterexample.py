"""The curve of the counterexample against its closed form, and pairs that cannot be told apart."""

from __future__ import annotations

import numpy as np
import pytest

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput
from nslimb.experiment.studies.counterexample import twins, weak_ratio_curve


def closed_form(t: np.ndarray) -> np.ndarray:
    return t**4 + 6 * t**2 * (1 - t) ** 2 + 4 * t * (1 - t) ** 3


def test_the_curve_is_the_papers() -> None:
    curve = weak_ratio_curve(nslimb.sigma.counterexample(), points=101)
    assert (curve.t[0], curve.t[-1], len(curve.t)) == (0, 1, 101)
    np.testing.assert_allclose(curve.ratios[:, 1], closed_form(curve.t), atol=1e-12)
    np.testing.assert_allclose(curve.ratios.sum(axis=1), 1, atol=1e-12)


def test_twins_have_the_same_weak_ratio() -> None:
    pairs = twins(nslimb.sigma.counterexample(), number=7)
    assert len(pairs) >= 7
    assert (pairs[:, 1] - pairs[:, 0] > 0.01).all()
    np.testing.assert_allclose(closed_form(pairs[:, 0]), closed_form(pairs[:, 1]), atol=1e-10)


def test_all_values_that_are_taken_twice_have_twins() -> None:
    # P(s = 1) = 2 t (1 - t), which is symmetric about 1/2: t and 1 - t.
    parity = Sigma.from_function(lambda y: sum(y) % 2, num_classes=2, arity=2)
    pairs = twins(parity, number=4)
    assert len(pairs) == 4
    np.testing.assert_allclose(pairs.sum(axis=1), 1, atol=1e-9)
    assert np.ptp(2 * pairs[:, 0] * (1 - pairs[:, 0])) > 0.25


def test_where_every_ratio_tells_there_are_none() -> None:
    assert twins(nslimb.sigma.maximum(3, num_classes=2)).shape == (0, 2)
    assert twins(Sigma.from_function(lambda y: y[0], num_classes=2, arity=3)).shape == (0, 2)


@pytest.mark.parametrize(
    "sigma",
    [
        nslimb.sigma.maximum(2, num_classes=3),
        Sigma.from_function(lambda y: y[0] if y[1] else None, num_classes=2, arity=2),
    ],
)
def test_only_two_classes_and_no_invalid_vectors(sigma: Sigma) -> None:
    with pytest.raises(InvalidInput, match="sigma"):
        weak_ratio_curve(sigma)


def test_only_two_weak_labels() -> None:
    with pytest.raises(InvalidInput, match="two weak labels"):
        twins(nslimb.sigma.total(2, num_classes=2))
