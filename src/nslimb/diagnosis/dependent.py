"""What can be said of sigma where only some label vectors occur: labels are then not independent."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.arrays import FloatArray
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD
from nslimb.sigma.support import Support, read_support

NOTE = (
    "only some label vectors occur, so that labels are not independent: readings of single classes, identifiability, "
    "Algorithm 1 and risk bounds, which rest on that, do not hold and are left out"
)


def valid_support(sigma: Sigma, support: Any) -> Support:
    """The label vectors that occur and have a weak label."""
    known = read_support(support, sigma.arity, sigma.num_classes)
    valid = np.asarray(sigma.apply(known.vectors)) != DEAD
    if not valid.any():
        raise InvalidInput("support", "a label vector with a weak label", "none")
    return known.keep(valid)


def probabilities_of(sigma: Sigma, support: Support) -> FloatArray:
    """How often each weak label occurs, [S]."""
    weak = np.asarray(sigma.apply(support.vectors))
    return np.bincount(weak, support.probabilities, len(sigma.weak_labels)).astype(np.float64)


def shown_by(sigma: Sigma, support: Support, *, alone: bool) -> FloatArray:
    """1 where every label vector of weak label s that occurs has class j somewhere (alone: nowhere else), [c, S]."""
    weak = np.asarray(sigma.apply(support.vectors))
    same = support.vectors[:, :, None] == np.arange(sigma.num_classes)  # [V, M, c]
    has = same.all(axis=1) if alone else same.any(axis=1)
    lacking = np.zeros((len(sigma.weak_labels), sigma.num_classes))
    np.add.at(lacking, weak, ~has)
    occurs = np.bincount(weak, minlength=len(sigma.weak_labels)) > 0
    return np.asarray(((lacking == 0) & occurs[:, None]).T, dtype=np.float64)
