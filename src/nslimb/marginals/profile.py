"""Likelihood-ratio intervals for single ratios, which hold where the bootstrap does not: at 0, at 1, in the open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from nslimb.arrays import FloatArray
from nslimb.marginals.likelihood import WeakLikelihood
from nslimb.marginals.newton import climb

# To 2 ** -14 = 6e-5 of the range.
_HALVINGS = 14
_EDGE = 1e-9


def likelihood_interval(
    likelihood: WeakLikelihood, peak: FloatArray, which: NDArray[np.bool_], level: float
) -> tuple[FloatArray, FloatArray]:
    """All t with 2 m (max l - max {l(R) : R_gy = t}) below the ``level`` quantile of chi-squared with 1 degree.

    ``peak`` [G, c] is the maximiser of l; ``which`` [G, c] chooses the ratios R_gy. Returns both ends [G, c], 0 and 1
    where not chosen. Both ends of all ratios are found at once by bisection.
    """
    groups, labels = (np.tile(part, 2) for part in np.nonzero(which))
    half = len(groups) // 2
    drop = chdtri(1, 1 - level) / (2 * likelihood.samples)
    at_peak = likelihood.value(np.maximum(peak, 1e-300 * likelihood.possible))
    inside = np.clip(peak[groups, labels], _EDGE, 1 - _EDGE)
    outside = np.where(np.arange(2 * half) < half, _EDGE, 1 - _EDGE)

    def within(t: FloatArray) -> NDArray[np.bool_]:
        return _profile(likelihood, peak, groups, labels, t) >= at_peak - drop

    reached = within(outside)  # the end of the range itself
    inside = np.where(reached, outside, inside)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        good = within(middle)
        inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
    lower, upper = np.zeros(which.shape), np.ones(which.shape)
    found = np.where(reached, np.round(inside), inside)
    lower[groups[:half], labels[:half]] = found[:half]
    upper[groups[half:], labels[half:]] = found[half:]
    return lower, upper


def _profile(
    likelihood: WeakLikelihood, peak: FloatArray, groups: NDArray[np.int64], labels: NDArray[np.int64], t: FloatArray
) -> FloatArray:
    """max {l(R) : R_gy = t} [n] for each of n pairs (g, y) and values t."""
    every = np.arange(len(t))
    starts = np.repeat((likelihood.uniform + peak)[None] / 2, len(t), axis=0)
    held = np.zeros(starts.shape, dtype=bool)
    held[every, groups, labels] = True
    own = starts[every, groups]
    others = np.where(held[every, groups], 0.0, own)
    room = others.sum(axis=1, keepdims=True)
    starts[every, groups] = np.where(
        held[every, groups],
        np.where(room > 0, t[:, None], 1.0),
        others * (1 - t[:, None]) / np.where(room > 0, room, 1),
    )
    return climb(likelihood, np.repeat(likelihood.shares[None], len(t), axis=0), starts, held).values
