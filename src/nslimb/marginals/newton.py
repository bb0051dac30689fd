"""Newton's method along a barrier, for many vectors of observed shares at once: the engine of Algorithm 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nslimb.arrays import FloatArray
from nslimb.marginals.likelihood import WeakLikelihood

# The barrier mu falls so low that it costs no more likelihood than this, in nats a sample and class.
_FIRST_BARRIER, _LAST_BARRIER, _BARRIER_FACTOR = 1e-2, 1e-11, 0.03
_MAX_ITERATIONS = 500
_SHORTEST_STEP = 1e-10
_LONGEST_STEP = 20.0
# Cells of the diagram's tables that one pass may hold.
CELLS = 4_000_000


class Stops(NamedTuple):
    """Where n searches ended."""

    ratios: FloatArray  # [n, G, c]
    values: FloatArray  # [n], l(R)
    iterations: NDArray[np.int64]  # [n]
    converged: NDArray[np.bool_]  # [n]
    upward: FloatArray  # [n, possible labels]: a relative change along which the likelihood curves up most
    curves_up: NDArray[np.bool_]  # [n]: whether it curves up there, so that this is no maximum

    @staticmethod
    def joined(parts: Sequence[Stops]) -> Stops:
        """The searches of all parts, one after another."""
        return Stops(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def only(self, index: int) -> Stops:
        """One search alone."""
        return Stops._make(part[index : index + 1] for part in self)


def climb(
    likelihood: WeakLikelihood, shares: FloatArray, starts: FloatArray, held: NDArray[np.bool_] | None = None
) -> Stops:
    """Maximise l(R) + mu sum log R along falling mu from each of the ``starts`` [n, G, c], with shares p [n, S].

    With N the gradient of l in log R and K the derivative of N, the curvature of l in relative changes of R is
    K - diag(N). Nothing is divided by a ratio that goes to 0. ``held`` [n, G, c] marks one ratio in each of the starts
    that is not to change.
    """
    rows = rows_at_once(likelihood)
    kept = np.zeros((len(starts), 0, int(likelihood.possible.sum())))
    if held is not None:
        kept = held[:, None, likelihood.possible].astype(np.float64)
    parts = [
        _climb(likelihood, shares[i : i + rows], starts[i : i + rows], kept[i : i + rows])
        for i in range(0, len(starts), rows)
    ]
    return Stops.joined(parts)


def rows_at_once(likelihood: WeakLikelihood) -> int:
    """How many searches share a pass without taking too much memory."""
    sigma = likelihood.sigma
    edges = sigma.num_states * sigma.num_classes * (len(sigma.weak_labels) if sigma.is_family else 1)
    return max(1, CELLS // (edges * (int(likelihood.possible.sum()) + 1)))


def _climb(likelihood: WeakLikelihood, shares: FloatArray, starts: FloatArray, kept: FloatArray) -> Stops:
    possible = likelihood.possible
    ratios = starts.copy()
    barrier = np.full(len(starts), _FIRST_BARRIER)
    iterations = np.zeros(len(starts), dtype=np.int64)
    converged = np.zeros(len(starts), dtype=bool)
    going = np.arange(len(starts))
    while len(going):
        here, mu, p = ratios[going], barrier[going], shares[going]
        value, slopes, derivative = likelihood.second_order(here, p, int(iterations[going].max()))
        gradient = slopes + mu[:, None]
        basis = _keeping_sums(here, possible, kept[going])
        change = _ascent(_diagonal(gradient) - derivative, gradient, basis, mu)
        gain = (gradient * change).sum(axis=1)
        merit = value + mu * np.log(here[:, possible]).sum(axis=1)
        step = np.minimum(1.0, 0.95 / np.maximum(1e-300, -change.min(axis=1)))
        searching = np.arange(len(going))
        while len(searching):
            tried = step[searching, None] * change[searching]
            held = np.asarray(kept[going[searching]].any(axis=1))
            candidate, found = _moved(likelihood, here[searching], tried, held, p[searching], mu[searching])
            higher = found >= merit[searching] + 1e-4 * step[searching] * gain[searching] - 1e-15
            ratios[going[searching[higher]]] = candidate[higher]
            searching = searching[~higher]
            step[searching] *= 0.5
            searching = searching[step[searching] > _SHORTEST_STEP]
        iterations[going] += 1
        arrived = (gain < mu) | (step <= _SHORTEST_STEP)
        finished = arrived & (mu == _LAST_BARRIER)
        converged[going[finished]] = gain[finished] < 1e-9
        barrier[going[arrived]] = np.maximum(_LAST_BARRIER, _BARRIER_FACTOR * mu[arrived])
        going = going[~finished & (iterations[going] < _MAX_ITERATIONS)]
    values = likelihood.values(ratios, shares)
    basis = _keeping_sums(ratios, possible, kept)
    return Stops(ratios, values, iterations, converged, *_upward(likelihood, ratios, shares, basis))


def _moved(
    likelihood: WeakLikelihood,
    ratios: FloatArray,
    change: FloatArray,
    held: NDArray[np.bool_],
    shares: FloatArray,
    mu: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """The ratios [n, G, c] after a relative change [n, L] that is 0 where held, and l(R) + mu sum log R there [n].

    Where Psi is conditioned on there being a weak label, maxima may lie where that itself is improbable, at the end of
    a valley r_a = k r_b ** 2. It is straight in log R alone, so that R exp(change) is tried too; the better one counts.
    """
    possible = likelihood.possible

    def merit(moved: FloatArray) -> FloatArray:
        barrier = mu * np.log(moved[:, possible]).sum(axis=1)
        return np.asarray(likelihood.values(moved, shares) + barrier)

    straight = ratios.copy()
    straight[:, possible] *= 1 + change
    found = merit(straight)
    if not likelihood.partial:
        return straight, found
    curved, fixed = ratios.copy(), np.zeros(ratios.shape)
    curved[:, possible] *= np.exp(np.minimum(change, _LONGEST_STEP))
    fixed[:, possible] = np.where(held, ratios[:, possible], 0.0)
    free = np.where(fixed > 0, 0.0, curved)
    room = free.sum(axis=2, keepdims=True)
    curved = fixed + free * (1 - fixed.sum(axis=2, keepdims=True)) / np.where(room > 0, room, 1.0)
    other = merit(curved)
    better = other > found
    return np.where(better[:, None, None], curved, straight), np.where(better, other, found)


def _upward(
    likelihood: WeakLikelihood, ratios: FloatArray, shares: FloatArray, basis: FloatArray
) -> tuple[FloatArray, NDArray[np.bool_]]:
    """The relative changes along which the likelihood curves up most, and whether it does."""
    _, slopes, derivative = likelihood.by_differences(ratios, shares)
    if basis.shape[2] == 0:
        return np.zeros_like(slopes), np.zeros(len(ratios), dtype=bool)
    values, vectors = np.linalg.eigh(basis.transpose(0, 2, 1) @ (_diagonal(slopes) - derivative) @ basis)
    return (basis @ vectors[:, :, :1])[:, :, 0], values[:, 0] < -1e-4


def _keeping_sums(ratios: FloatArray, possible: NDArray[np.bool_], kept: FloatArray) -> FloatArray:
    """Orthonormal bases [n, L, d] of the relative changes of the L possible labels that keep every group's sum.

    They keep the sums with weights ``kept`` [n, k, L] too: k is 0, or 1 where a ratio is held.
    """
    groups = np.arange(len(possible))
    group_of = np.broadcast_to(groups[:, None], possible.shape)[possible]
    weights = np.where(group_of == groups[:, None], ratios[:, None, possible], 0.0)
    rows = np.concatenate([weights, kept], axis=1)
    return np.asarray(np.linalg.svd(rows)[2][:, rows.shape[1] :].transpose(0, 2, 1))


def _ascent(curvature: FloatArray, gradient: FloatArray, basis: FloatArray, floor: FloatArray) -> FloatArray:
    """One step uphill for each of n problems: Newton's, along directions that keep the ratios' sums at 1.

    ``basis`` [n, L, d] spans those directions. Newton's step divides the slope along each axis by the curvature there.
    Where the function curves up instead of down, that step would lead downhill; so the curvature is taken by its
    absolute value, and by at least ``floor`` [n], lest a flat direction give an endless step.
    """
    values, vectors = np.linalg.eigh(basis.transpose(0, 2, 1) @ curvature @ basis)
    axes = basis @ vectors
    inside = (axes.transpose(0, 2, 1) @ gradient[:, :, None])[:, :, 0] / np.maximum(np.abs(values), floor[:, None])
    return np.asarray((axes @ inside[:, :, None])[:, :, 0])


def _diagonal(values: FloatArray) -> FloatArray:
    """[n, L] -> diagonal matrices [n, L, L]."""
    return np.asarray(values[:, :, None] * np.eye(values.shape[1]))
