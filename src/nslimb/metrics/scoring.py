"""Proper scoring rules: lowest, on average, for the true probabilities."""

from __future__ import annotations

import numpy as np

from nslimb.arrays import FloatArray, IntArray


def brier(probabilities: FloatArray, labels: IntArray) -> float:
    """Mean over instances of sum_j (p_j - [y = j]) ** 2, from 0 (certain and right) to 2 (certain and wrong).

    Examples
    --------
    >>> brier(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 0]))
    0.25
    """
    of_label = probabilities[np.arange(len(labels)), labels]
    return float(np.mean((probabilities**2).sum(axis=1) - 2 * of_label + 1))
