"""Likelihood-ratio intervals for single ratios, which hold where the bootstrap does not: at 0, at 1, in the open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri

from nslimb.arrays import FloatArray, IntArray
from nslimb.marginals.likelihood import WeakLikelihood
from nslimb.marginals.newton import Stops, climb
from nslimb.marginals.starts import shifted

# To 2 ** -14 = 6e-5 of the range.
_HALVINGS = 14
_EDGE = 1e-9
# A start is so much of the peak, and uniform else: away from 0, where relative changes go nowhere.
_MOSTLY = 0.99


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
    floor = likelihood.value(np.maximum(peak, 1e-300 * likelihood.possible)) - drop
    inside = np.clip(peak[groups, labels], _EDGE, 1 - _EDGE)
    outside = np.where(np.arange(2 * half) < half, _EDGE, 1 - _EDGE)
    profile = _Profile(likelihood, peak, groups, labels, floor)
    reached = profile.within(outside)  # the end of the range itself
    inside = np.where(reached, outside, inside)
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        good = profile.within(middle)
        inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
    lower, upper = np.zeros(which.shape), np.ones(which.shape)
    found = np.where(reached, np.round(inside), inside)
    lower[groups[:half], labels[:half]] = found[:half]
    upper[groups[half:], labels[half:]] = found[half:]
    return lower, upper


class _Profile:
    """max {l(R) : R_gy = t} for each of n pairs (g, y), compared to a floor."""

    def __init__(
        self, likelihood: WeakLikelihood, peak: FloatArray, groups: IntArray, labels: IntArray, floor: float
    ) -> None:
        self.likelihood, self.groups, self.labels, self.floor = likelihood, groups, labels, floor
        self.centre = np.repeat((likelihood.uniform + peak)[None] / 2, len(groups), axis=0)
        # The last ratios of each pair that reached the floor.
        self.last = np.repeat((_MOSTLY * peak + (1 - _MOSTLY) * likelihood.uniform)[None], len(groups), axis=0)

    def within(self, t: FloatArray) -> NDArray[np.bool_]:
        """Whether the profile at t [n] reaches the floor.

        The other ratios may have saddles, which are left to both sides, and several maxima. Those are common with noise
        and where Psi is conditioned: there the climb also starts from what reached the floor last.
        """
        good = np.zeros(len(t), dtype=bool)
        self._attempt(np.arange(len(t)), self.centre, t, good)
        left = np.flatnonzero(~good)
        if len(left) and (self.likelihood.partial or self.likelihood.noise):
            self._attempt(left, self.last[left], t, good)
        return good

    def _attempt(self, pairs: IntArray, starts: FloatArray, t: FloatArray, good: NDArray[np.bool_]) -> None:
        stops = self._climb(pairs, starts, t, good)
        for sign in (0.5, -0.5):
            stuck = np.flatnonzero(stops.curves_up & ~good[pairs])
            if len(stuck):
                sides = [shifted(self.likelihood, stops.ratios[i], sign * stops.upward[i]) for i in stuck]
                self._climb(pairs[stuck], np.stack(sides), t, good)

    def _climb(self, pairs: IntArray, starts: FloatArray, t: FloatArray, good: NDArray[np.bool_]) -> Stops:
        """Climb for some of the pairs and mark as good those that reach the floor."""
        groups, labels = self.groups[pairs], self.labels[pairs]
        every = np.arange(len(pairs))
        held = np.zeros(starts.shape, dtype=bool)
        held[every, groups, labels] = True
        own, here = held[every, groups], t[pairs, None]
        others = np.where(own, 0.0, starts[every, groups])
        room = others.sum(axis=1, keepdims=True)
        starts = starts.copy()
        starts[every, groups] = np.where(
            own, np.where(room > 0, here, 1.0), others * (1 - here) / np.where(room > 0, room, 1)
        )
        stops = climb(self.likelihood, np.repeat(self.likelihood.shares[None], len(pairs), axis=0), starts, held)
        found = stops.values >= self.floor
        good[pairs[found]] = True
        self.last[pairs[found]] = stops.ratios[found]
        return stops
