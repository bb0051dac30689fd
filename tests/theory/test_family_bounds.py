"""Program (2) for a family: members' partial risks averaged by share."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import nslimb
from nslimb import Sigma, class_risk_bounds
from nslimb.errors import InvalidInput
from nslimb.sigma import family, maximum, total
from nslimb.theory import partial_risk

MIXED = family({"max": maximum(2, 3), "sum": total(3, 3)})
RATIOS = np.array([0.2, 0.3, 0.5])


def test_one_member_alone_is_itself() -> None:
    alone = class_risk_bounds(maximum(3, 3), RATIOS, [0.02, 0.2], certify=False)
    found = class_risk_bounds(family({"max": maximum(3, 3)}), RATIOS, [0.02, 0.2])
    np.testing.assert_allclose(found.upper, alone.upper, atol=1e-6)
    assert set(found.status.reshape(-1)) == {"local"}
    assert "mean of a family's members" in found.note


def test_what_is_found_is_feasible_for_the_shares() -> None:
    shares = {"max": 0.8, "sum": 0.2}
    found = class_risk_bounds(MIXED, RATIOS, 0.05, shares=shares)
    for label, confusion in enumerate(found.confusion):
        risks = [partial_risk(MIXED.member(name), RATIOS, confusion) for name in shares]
        assert np.dot(list(shares.values()), risks) <= 0.05 + 1e-9
        assert 1 - confusion[label, label] == pytest.approx(found.upper[label], abs=1e-9)


def test_no_deterministic_classifier_beats_it() -> None:
    for risk in (0.05, 0.3):
        found = class_risk_bounds(MIXED, RATIOS, risk)
        for reading in itertools.product(range(3), repeat=3):
            matrix = np.eye(3)[list(reading)]
            mean = np.mean([partial_risk(MIXED.member(name), RATIOS, matrix) for name in MIXED.members])
            if mean <= risk:
                assert (found.upper >= 1 - np.diag(matrix) - 1e-6).all()


def test_a_member_that_shows_the_label_has_a_closed_form() -> None:
    """One label, shown to a share w of the samples and to no other: Phi_j = min(1, R / (w r_j))."""
    shown = Sigma.from_function(lambda y: y[0], num_classes=3, arity=1)
    hidden = Sigma.from_function(lambda _: 0, num_classes=3, arity=1)
    sigma = family({"shown": shown, "hidden": hidden})
    found = class_risk_bounds(sigma, RATIOS, 0.1, shares={"shown": 0.4, "hidden": 0.6})
    np.testing.assert_allclose(found.upper, np.minimum(1, 0.1 / (0.4 * RATIOS)), atol=1e-6)


def test_bad_shares_are_refused() -> None:
    for shares in ({"max": 1.0}, {"max": 0.7, "sum": 0.7}, {"max": -0.5, "sum": 1.5}):
        with pytest.raises(InvalidInput, match="shares: expected a share"):
            class_risk_bounds(MIXED, RATIOS, 0.1, shares=shares)
    with pytest.raises(InvalidInput, match="one sigma for all samples"):
        class_risk_bounds(maximum(2, 3), RATIOS, 0.1, shares={"max": 1.0})
    with pytest.raises(InvalidInput, match="one sigma for all samples"):
        nslimb.class_risk_bounds(MIXED, RATIOS, 0.1, method="cobyla")
