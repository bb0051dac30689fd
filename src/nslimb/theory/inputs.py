"""Checks shared by the functions of the theory."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.arrays import FloatArray
from nslimb.checks import check_ratios
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma


def check_positive_ratios(ratios: Any, num_classes: int) -> FloatArray:
    """Ratios [c] above 0 that sum to 1: a class that never occurs has no risk to speak of."""
    checked = check_ratios(ratios, None, num_classes)
    if checked.min() <= 0:
        empty = np.flatnonzero(checked <= 0).tolist()
        raise InvalidInput("ratios", "every ratio above 0 (leave classes that never occur out)", f"0 for {empty}")
    return checked


def check_several_classes(sigma: Any, families: bool = False) -> Sigma:
    """A sigma of at least two classes: with one there is no risk."""
    checked = Sigma.check(sigma, families)
    if checked.num_classes < 2:
        raise InvalidInput("sigma", "at least 2 classes", "1 class")
    return checked


def check_risks(argument: str, risks: Any) -> FloatArray:
    """A risk, or a vector of risks, in [0, 1] as a float64 array of 0 or 1 axes."""
    expected = "a number in [0, 1], or a vector of them"
    try:
        values = np.asarray(risks, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(argument, expected, repr(risks)) from error
    if values.ndim > 1 or values.size == 0:
        raise InvalidInput(argument, expected, f"shape {list(values.shape)}")
    if not ((values >= 0) & (values <= 1)).all():  # also refuses NaN
        raise InvalidInput(argument, expected, values.tolist())
    return values
