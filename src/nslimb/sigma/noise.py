"""Noise rates: a share e of the weak labels is drawn anew, each of all S weak labels as likely as the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.arrays import FloatArray
from nslimb.checks import check_share


def check_noise(noise: Any) -> float:
    """``noise`` if it is a share from 0 to below 1."""
    return check_share("noise", noise, "the share of weak labels drawn at random, at least 0 and below 1")


def clean_share(observed: FloatArray, noise: float, num_weak: int) -> FloatArray:
    """The share of each weak label's samples that was not drawn anew, max(0, 1 - e / (S p)), from its frequency p > 0.

    Examples
    --------
    >>> clean_share(np.array([0.5, 0.02]), noise=0.1, num_weak=4).round(3)
    array([0.95, 0.  ])
    """
    return np.asarray(np.maximum(0.0, 1 - noise / (num_weak * observed)))
