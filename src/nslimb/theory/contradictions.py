"""What speaks against a map tau of the classes: label vectors y with sigma(tau(y)) other than sigma(y).

Both kinds of support answer for partial maps, of the first classes of an order of their own: then only label vectors of
these classes count, so that what is contradicted can only grow as more classes are mapped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import torch

from nslimb.arrays import BoolArray, FloatArray, IntArray
from nslimb.errors import TooLarge
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD, Diagram

# Edges between pairs of states, or label vectors under a map, that are looked at together.
_AT_ONCE = 2_000_000
_MAX_AT_ONCE = 50_000_000


class Support(Protocol):
    """The label vectors that occur, and how often."""

    order: IntArray  # the classes that occur, in the order in which a search maps them

    def some(self, maps: IntArray, mapped: int) -> BoolArray:
        """Whether some label vector contradicts each of the maps [N, c] of the first ``mapped`` classes."""

    def mass(self, maps: IntArray, mapped: int) -> FloatArray:
        """The probability of all that contradict them, given that a label vector is valid."""


class ProductSupport:
    """All valid label vectors of independent labels, for several sigmas that samples have in equal shares."""

    def __init__(self, sigmas: Sequence[Sigma], ratios: FloatArray) -> None:
        valid = [float(sigma.log_valid(_log(ratios[None, : sigma.arity])).exp()) for sigma in sigmas]
        self.members = [(sigma, mass) for sigma, mass in zip(sigmas, valid, strict=True) if mass > 0]
        self.ratios = ratios  # [M, c]
        self.order = _by_completed_mass(sigmas, ratios)

    def some(self, maps: IntArray, mapped: int) -> BoolArray:
        ratios = self._mapped_ratios(mapped)
        found = [_by_pairs(sigma.diagram, ratios, maps)[0] for sigma, _ in self.members]
        return np.asarray(np.any(found, axis=0))

    def mass(self, maps: IntArray, mapped: int) -> FloatArray:
        ratios = self._mapped_ratios(mapped)
        found = [_by_pairs(sigma.diagram, ratios, maps)[1] / valid for sigma, valid in self.members]
        return np.asarray(np.mean(found, axis=0))

    def _mapped_ratios(self, mapped: int) -> FloatArray:
        return self.ratios * np.isin(np.arange(self.ratios.shape[1]), self.order[:mapped])


class ListedSupport:
    """Listed label vectors with their probabilities, for several sigmas that samples have in equal shares."""

    def __init__(self, sigmas: Sequence[Sigma], vectors: IntArray, probabilities: FloatArray) -> None:
        self.vectors, self.probabilities = vectors, probabilities
        self.members: list[tuple[Sigma, IntArray, FloatArray]] = []  # with outcomes, and shares of the valid ones
        for sigma in sigmas:
            outcomes = sigma.apply(vectors[:, : sigma.arity])
            valid = probabilities * (outcomes != DEAD)
            if valid.any():
                self.members.append((sigma, outcomes, valid / valid.sum()))
        self.order = _by_completed_vectors(vectors, probabilities)
        rank = np.full(int(vectors.max()) + 1, 0)
        rank[self.order] = np.arange(len(self.order))
        self.complete_at = rank[vectors].max(axis=1) + 1  # how many classes must be mapped

    def some(self, maps: IntArray, mapped: int) -> BoolArray:
        return np.asarray(np.any([wrong.any(axis=1) for wrong, _ in self._wrong(maps, mapped)], axis=0))

    def mass(self, maps: IntArray, mapped: int) -> FloatArray:
        return np.asarray(np.mean([wrong @ shares for wrong, shares in self._wrong(maps, mapped)], axis=0))

    def _wrong(self, maps: IntArray, mapped: int) -> Iterator[tuple[BoolArray, FloatArray]]:
        """Which label vectors contradict which maps, and their shares, for each member: [N, V] and [V]."""
        rows = np.flatnonzero(self.complete_at <= mapped)
        for sigma, outcomes, shares in self.members:
            vectors, truth = self.vectors[rows, : sigma.arity], outcomes[rows]
            step = max(1, _AT_ONCE // max(1, vectors.size))
            parts = [sigma.apply(maps[i : i + step][:, vectors]) for i in range(0, len(maps), step)]
            yield (np.concatenate(parts) != truth) & (truth != DEAD), shares[rows]


def _by_pairs(diagram: Diagram, ratios: FloatArray, maps: IntArray) -> tuple[BoolArray, FloatArray]:
    """Whether some y contradicts each map, and the mass of all that do, by a walk over pairs of states.

    A pair is (state of y, state of tau(y)); only those that can be reached are there. Labels of ratio 0 do not occur.
    """
    number, size = maps.shape
    which, (state, read), mass = np.arange(number), np.zeros((2, number), dtype=np.int64), np.ones(number)
    layers = zip(diagram.positions, diagram.targets, diagram.widths[1:], strict=True)
    for position, targets, following in layers:
        labels = np.flatnonzero(ratios[position] > 0)
        edges = len(which) * len(labels)
        if edges > _AT_ONCE and number > 1:
            halves = [_by_pairs(diagram, ratios, part) for part in np.array_split(maps, 2)]
            return np.concatenate([some for some, _ in halves]), np.concatenate([masses for _, masses in halves])
        if edges > _MAX_AT_ONCE:
            raise TooLarge(
                f"shortcuts: a layer has {edges:,} edges between pairs of states, more than {_MAX_AT_ONCE:,}; list the "
                "label vectors that occur (support=), or take fewer classes or labels"
            )
        # DEAD is -1 and so picks the row added last, from which every label leads to DEAD again.
        padded = np.concatenate([targets, np.full((1, size), DEAD)])
        target = targets[state[:, None], labels]
        after = padded[read[:, None], maps[which[:, None], labels]]
        key = ((which * following)[:, None] + target) * (following + 1) + after + 1
        masses, alive = mass[:, None] * ratios[position, labels], target != DEAD
        key, mass = _totals(key[alive], masses[alive], number * following * (following + 1))
        pair, read = np.divmod(key, following + 1)
        which, state = np.divmod(pair, following)
        read -= 1
    wrong = state != read
    some = np.bincount(which[wrong], minlength=number) > 0
    return some, np.asarray(np.bincount(which[wrong], weights=mass[wrong], minlength=number), dtype=np.float64)


def _totals(keys: IntArray, values: FloatArray, bound: int) -> tuple[IntArray, FloatArray]:
    """The distinct keys, all below the bound, and the sum of the values of each; it may be 0 by underflow."""
    if bound <= 8 * len(keys):
        seen = np.zeros(bound, dtype=np.bool_)
        seen[keys] = True
        distinct = np.flatnonzero(seen)
        return distinct, np.bincount(keys, weights=values, minlength=bound)[distinct].astype(np.float64)
    distinct, inverse = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(inverse, weights=values, minlength=len(distinct)).astype(np.float64)


def _by_completed_mass(sigmas: Sequence[Sigma], ratios: FloatArray) -> IntArray:
    """Classes that occur, each next one chosen to complete the most valid label vectors, of all that are there."""
    presence = np.zeros(ratios.shape[1])
    for sigma in sigmas:
        presence += _presence(sigma, ratios[: sigma.arity])
    waiting = np.flatnonzero(presence > 0).tolist()
    order: list[int] = []
    while waiting:
        allowed = np.zeros((len(waiting), ratios.shape[1]))
        allowed[:, order] = 1
        allowed[np.arange(len(waiting)), waiting] = 1
        scores = _log(ratios * allowed[:, None])
        completed = np.sum([sigma.log_valid(scores[:, : sigma.arity]).exp().numpy() for sigma in sigmas], axis=0)
        # Rounding must not decide among classes that complete equally much; of these the first is taken.
        merits = list(zip(completed.round(12).tolist(), presence[waiting].round(12).tolist(), strict=True))
        order.append(waiting.pop(merits.index(max(merits))))
    return np.array(order, dtype=np.int64)


def _presence(sigma: Sigma, ratios: FloatArray) -> FloatArray:
    """How many labels of a valid label vector are of each class, on average: [c]."""
    leaf = _log(ratios[None]).requires_grad_()
    (posterior,) = torch.autograd.grad(sigma.log_valid(leaf).sum(), leaf)
    return posterior[0].sum(dim=0).numpy()


def _by_completed_vectors(vectors: IntArray, probabilities: FloatArray) -> IntArray:
    """The same for listed vectors; among classes that complete none, one that stands beside those already there."""
    waiting = np.unique(vectors).tolist()
    order: list[int] = []
    while waiting:
        known = np.isin(vectors, order)

        def merit(label: int, known: BoolArray = known) -> tuple[float, float, float, int]:
            here = vectors == label
            completed = probabilities[(known | here).all(axis=1)].sum()
            beside = probabilities[known.any(axis=1) & here.any(axis=1)].sum()
            return round(completed, 12), round(beside, 12), round(probabilities[here.any(axis=1)].sum(), 12), -label

        order.append(max(waiting, key=merit))
        waiting.remove(order[-1])
    return np.array(order, dtype=np.int64)


def _log(ratios: FloatArray) -> torch.Tensor:
    with np.errstate(divide="ignore"):
        return torch.from_numpy(np.log(ratios))
