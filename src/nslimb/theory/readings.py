"""Evidence against reading classes as other classes: a pass over pairs of states, of y and of y as it is read."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nslimb.arrays import FloatArray, IntArray
from nslimb.checks import as_integers, check_count, check_range, check_ratios
from nslimb.errors import InvalidInput, TooLarge
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD
from nslimb.sigma.noise import check_noise, clean_share

MAX_EDGES = 500_000_000
# Edges that are looked at together: few enough to stay near the processor, and at most these for one reading.
_AT_ONCE = 500_000
_MAX_AT_ONCE = 20_000_000


def reading_evidence(
    sigma: Sigma,
    ratios: Any,
    maps: Any,
    samples: int = 3000,
    *,
    weak: Any = None,
    noise: float = 0.0,
    max_edges: int = MAX_EDGES,
) -> FloatArray:
    """How many samples speak against reading every label y as tau(y), for maps tau of the classes: [..., c] -> [...].

    ``maps`` holds tau as integers: tau[i] is what class i is read as. The labels y_1, ..., y_M are independent with
    ``ratios`` r, [c] or [M, c] where positions differ, given that y has a weak label. The evidence is

        samples * P(sigma(y) != sigma(tau(y_1), ..., tau(y_M))),

    or, with the weak labels s_l of a data set as indices ``weak`` [n] in place of ``samples``,

        sum over l of P(sigma(tau(y)) != s_l | sigma(y) = s_l).

    With a rate ``noise`` of wrong weak labels, each sample counts by the share of its weak label that is clean, as in
    ``nslimb.confusions``. A reading without a weak label contradicts the sample. Exact: layer by layer, the probability
    of every pair (state of y, state of tau(y)) that can be reached, for all maps at once. Raises
    ``nslimb.errors.TooLarge`` where the pairs have more than ``max_edges`` edges (half a billion take about half a
    minute).

    Parameters
    ----------
    sigma
        The symbolic component.
    ratios
        Label ratios [c], or [M, c] where positions differ.
    maps
        What each class is read as, integers [..., c].
    samples, weak, noise, max_edges
        As for ``nslimb.confusions``.

    Returns
    -------
    FloatArray
        Samples that speak against each map, [...].

    Raises
    ------
    TooLarge
        If the walk would take too long.

    Examples
    --------
    >>> sigma = Sigma.from_function(max, num_classes=3, arity=2)
    >>> reading_evidence(sigma, [0.2, 0.3, 0.5], [[1, 1, 2], [2, 2, 2]], samples=100).round(9).tolist()
    [4.0, 25.0]
    """
    size = Sigma.check(sigma).num_classes
    expected = f"integers 0 to {size - 1} of shape [..., {size}]"
    checked = as_integers("maps", maps, expected)
    if checked.dim() == 0 or checked.shape[-1] != size:
        raise InvalidInput("maps", expected, f"shape {list(checked.shape)}")
    check_range("maps", checked, size, expected)
    table = checked.cpu().numpy()
    by_position = np.broadcast_to(check_ratios(ratios, sigma.arity, size), (sigma.arity, size))
    rate = check_noise(noise)
    counts = _clean(weak_counts(sigma, weak, samples), rate)
    limit = check_count("max_edges", max_edges)
    found = _walk(sigma, by_position, table.reshape(-1, size), counts, rate > 0, limit)
    return found.reshape(table.shape[:-1])


def weak_counts(sigma: Sigma, weak: Any, samples: Any) -> float | FloatArray:
    """The number of samples, or that of each weak label [S] where ``weak`` labels are given."""
    if weak is None:
        return float(check_count("samples", samples))
    last = len(sigma.weak_labels) - 1
    expected = f"at least one index into sigma.weak_labels (0 to {last}), shape [n]"
    indices = as_integers("weak", weak, expected)
    if indices.dim() != 1 or not len(indices):
        raise InvalidInput("weak", expected, f"shape {list(indices.shape)}")
    check_range("weak", indices, last + 1, expected)
    return np.bincount(indices.cpu().numpy(), minlength=last + 1).astype(np.float64)


def _clean(counts: float | FloatArray, noise: float) -> float | FloatArray:
    """How many of them were not drawn anew; of labels to come, as many as can be expected."""
    if isinstance(counts, float):
        return counts * (1 - noise)
    clean, seen = np.zeros_like(counts), counts > 0
    clean[seen] = counts[seen] * clean_share(counts[seen] / counts.sum(), noise, len(counts))
    return clean


class _Pairs(NamedTuple):
    """Pairs of states that can be reached, sorted by reading."""

    reading: IntArray  # which of the maps
    state: IntArray  # of y
    read: IntArray  # of tau(y); DEAD where it has no weak label any more
    mass: FloatArray  # their probability, up to a common factor

    def part(self, where: slice) -> _Pairs:
        return _Pairs(self.reading[where], self.state[where], self.read[where], self.mass[where])

    def halves(self) -> list[_Pairs]:
        """Those of the first and of the last readings."""
        middle = (self.reading[0] + self.reading[-1] + 1) // 2
        cut = int(np.searchsorted(self.reading, middle))
        return [self.part(slice(cut)), self.part(slice(cut, None))]


def _walk(
    sigma: Sigma, ratios: FloatArray, maps: IntArray, counts: float | FloatArray, noisy: bool, max_edges: int
) -> FloatArray:
    """The evidence [K] against the maps [K, c], a few readings at a time where all would not fit."""
    diagram, number = sigma.diagram, len(maps)
    evidence = np.zeros(number)
    origin = np.zeros(number, dtype=np.int64)
    waiting = [(0, _Pairs(np.arange(number), origin, origin, np.ones(number)))] if number else []
    walked = 0
    while waiting:
        layer, pairs = waiting.pop()
        here = ratios[diagram.positions[layer]]
        labels = np.flatnonzero((diagram.targets[layer] != DEAD).any(axis=0) & (here > 0))
        edges = len(pairs.mass) * len(labels)
        if edges > _AT_ONCE and pairs.reading[0] < pairs.reading[-1]:
            waiting += [(layer, half) for half in reversed(pairs.halves())]
            continue
        walked += edges
        if edges > _MAX_AT_ONCE or walked > max_edges:
            what = f"{_MAX_AT_ONCE:,} edges in one layer" if edges > _MAX_AT_ONCE else f"max_edges={max_edges:,} edges"
            raise TooLarge(
                f"readings: {sigma!r} has more than {what} between pairs of states for {number:,} readings; fewer "
                "readings, a smaller arity or fewer classes may show the same"
            )
        reached = _follow(diagram.targets[layer], labels, here, maps, pairs)
        if not len(reached.mass):
            raise InvalidInput("ratios", "a weak label of probability above 0", "ratios that make every one impossible")
        if layer + 1 < sigma.arity:
            waiting.append((layer + 1, _merge(reached, diagram.widths[layer + 1])))
        else:
            first, last = int(reached.reading[0]), int(reached.reading[-1])
            evidence[first : last + 1] = _against(sigma, reached, first, last, counts, noisy)
    return evidence


def _follow(targets: IntArray, labels: IntArray, ratios: FloatArray, maps: IntArray, pairs: _Pairs) -> _Pairs:
    """The pairs after a layer, one for each label of y on which a weak label can still be reached; not yet merged."""
    # DEAD is -1 and so picks the row added last, from which every label leads to DEAD again.
    padded = np.concatenate([targets, np.full((1, targets.shape[1]), DEAD)])
    target = targets[pairs.state[:, None], labels]
    read = padded[pairs.read[:, None], maps[pairs.reading[:, None], labels]]
    pair, column = np.nonzero(target != DEAD)
    mass = pairs.mass[pair] * ratios[labels[column]]
    return _Pairs(pairs.reading[pair], target[pair, column], read[pair, column], mass)


def _merge(edges: _Pairs, following: int) -> _Pairs:
    """Add up what leads to the same pair; masses are scaled to sum to 1, so that long vectors do not underflow."""
    first = edges.reading[0]
    key = ((edges.reading - first) * following + edges.state) * (following + 1) + edges.read + 1
    size = (edges.reading[-1] - first + 1) * following * (following + 1)
    if size <= 4 * len(key):
        mass = np.bincount(key, weights=edges.mass, minlength=size)
        kept = np.flatnonzero(mass)
        mass = mass[kept]
    else:
        kept, inverse = np.unique(key, return_inverse=True)
        mass = np.bincount(inverse, weights=edges.mass)
    pair, read = np.divmod(kept, following + 1)
    reading, state = np.divmod(pair, following)
    return _Pairs(reading + first, state, read - 1, mass / mass.sum())


def _against(sigma: Sigma, edges: _Pairs, first: int, last: int, counts: float | FloatArray, noisy: bool) -> FloatArray:
    """The evidence against the readings ``first`` to ``last`` from the edges of the last layer.

    Weak labels that the ratios make impossible say nothing where some are wrong.
    """
    shape = (last - first + 1, len(sigma.weak_labels))
    key = (edges.reading - first) * shape[1] + edges.state
    total = np.bincount(key, weights=edges.mass, minlength=shape[0] * shape[1]).reshape(shape)
    wrong = edges.mass * (edges.state != edges.read)
    wrongs = np.bincount(key, weights=wrong, minlength=shape[0] * shape[1]).reshape(shape)
    if isinstance(counts, float):
        return np.asarray(counts * wrongs.sum(axis=1) / total.sum(axis=1))
    seen = np.flatnonzero(counts)
    possible = (total[:, seen] > 0).all(axis=0)
    impossible = seen[~possible]
    if len(impossible) and not noisy:
        given = f"{sigma.weak_labels[impossible[0]]!r}, which has probability 0"
        raise InvalidInput("weak", "weak labels that are possible for the ratios", given)
    seen = seen[possible]
    return np.asarray((wrongs[:, seen] / total[:, seen]) @ counts[seen])
