"""Distances between label ratios."""

from __future__ import annotations

import numpy as np

from nslimb.arrays import FloatArray


def total_variation(estimate: FloatArray, truth: FloatArray) -> float:
    """Half the sum of absolute differences; the mean over positions for ratios [M, c].

    Parameters
    ----------
    estimate, truth
        Distributions [c].

    Returns
    -------
    float
        From 0 to 1.
    """
    a, b = np.broadcast_arrays(estimate, truth)
    return float(np.mean(0.5 * np.abs(a - b).sum(axis=-1)))


def kullback_leibler(truth: FloatArray, estimate: FloatArray) -> float:
    """KL(truth || estimate), the mean over positions; infinite where the estimate rules out what occurs.

    Parameters
    ----------
    truth, estimate
        Distributions [c].

    Returns
    -------
    float
        In nats.
    """
    a, b = np.broadcast_arrays(truth, estimate)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(a > 0, a * (np.log(a) - np.log(b)), 0.0)
    return float(np.mean(terms.sum(axis=-1)))
