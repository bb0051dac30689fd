"""Maps of the classes that nothing contradicts: by a search over partial maps, or as a diagram of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from nslimb.arrays import BoolArray, IntArray
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD, MAX_STATES, finish_layers
from nslimb.sigma.pieces import Piece, Pieces
from nslimb.sigma.positions import Positions
from nslimb.theory.contradictions import ListedSupport, Support

# Partial maps that are extended together, and all that may be looked at.
_BLOCK = 512
_MAX_LOOKED_AT = 5_000_000


class Found(NamedTuple):
    """Maps [K, c] in lexicographic order, -1 for classes that do not occur, and whether these are all."""

    maps: IntArray
    number: int  # how many there are, at least
    complete: bool


def search(support: Support, allowed: BoolArray, samples: float | None, budget: float, limit: int) -> Found:
    """Branch and bound: map one class after the other, and give up what is contradicted too much already.

    Without ``samples`` nothing may contradict a map; with them, samples * P(contradiction) is at most the budget.
    ``allowed`` [c, c] says which classes each may be read as.
    """
    num_classes = len(allowed)
    waiting = [(0, np.full((1, num_classes), -1, dtype=np.int64))]
    found: list[IntArray] = []
    number = looked_at = 0
    while waiting and number <= limit and looked_at <= _MAX_LOOKED_AT:
        mapped, maps = waiting.pop()
        label = support.order[mapped]
        choices = np.flatnonzero(allowed[label])
        maps = np.repeat(maps, len(choices), axis=0)
        maps[:, label] = np.tile(choices, len(maps) // len(choices))
        looked_at += len(maps)
        if samples is None:
            kept = ~support.some(maps, mapped + 1)
        else:  # rounding must not tell a budget of 1 from 1 sample
            kept = support.mass(maps, mapped + 1) * samples <= budget * (1 + 1e-9)
        if mapped + 1 == len(support.order):
            found.append(maps[kept])
            number += int(kept.sum())
        else:
            survivors = maps[kept]
            waiting += [(mapped + 1, survivors[i : i + _BLOCK]) for i in range(0, len(survivors), _BLOCK)]
    complete = not waiting and number <= limit
    if not complete:  # the identity is one of them in any case
        found.append(np.where(np.isin(np.arange(num_classes), support.order), np.arange(num_classes), -1)[None])
    maps = np.unique(np.concatenate(found), axis=0)
    return Found(maps[:limit], max(number, len(maps)), complete)


def by_combining(sigmas: Sequence[Sigma], support: ListedSupport, num_classes: int, limit: int) -> Found:
    """The consistent maps as a sigma: its positions are the classes that occur, its labels what they are read as.

    Each label vector of the support is a constraint, and so a diagram over the classes in it; their product has a path
    for each map. Raises ``nslimb.errors.TooLarge`` where that has too many states.
    """
    occurring = np.sort(support.order)
    reading = tuple(int(np.searchsorted(occurring, label)) for label in support.order)
    build = Pieces(Positions((num_classes,) * len(occurring), (None,) * len(occurring), reading), MAX_STATES)
    constraints = []
    for sigma in sigmas:
        vectors = np.unique(support.vectors[:, : sigma.arity], axis=0)
        for vector, outcome in zip(np.searchsorted(occurring, vectors).tolist(), sigma.apply(vectors), strict=True):
            if outcome != DEAD:
                constraints.append(_constraint(build, sigma, vector, int(outcome)))
    pieces = sorted(constraints, key=lambda piece: piece.steps[::-1])
    while len(pieces) > 1:
        pairs = (pieces[i : i + 2] for i in range(0, len(pieces), 2))
        pieces = [build.product(_both, pair) if len(pair) == 2 else pair[0] for pair in pairs]
    diagram = finish_layers(build.over_all_positions(pieces[0]), _both, [(True,)])
    whole = Sigma(replace(diagram, order=reading), "consistent maps")
    (count,) = whole.preimage_sizes()
    maps = np.full((min(count, limit), num_classes), -1, dtype=np.int64)
    maps[:, occurring] = whole.preimage(0, limit) if count <= limit else _some(whole, limit)
    return Found(maps, count, count <= limit)


def _constraint(build: Pieces, sigma: Sigma, vector: Sequence[int], outcome: int) -> Piece:
    """Maps under which the label vector keeps its outcome: sigma's own diagram, read through the map."""
    state = build.constant(0)
    for layer, position in enumerate(sigma.diagram.positions):
        targets = sigma.diagram.targets[layer].tolist()
        last = layer == sigma.arity - 1

        def follow(before: int, label: int, targets: list[list[int]] = targets, last: bool = last) -> int | bool | None:
            after = targets[before][label]
            if last:
                return True if after == outcome else None
            return None if after == DEAD else after

        state = build.product(follow, [state, build.label(vector[position])])
    return state


def _both(*_: bool) -> bool:
    return True


def _some(sigma: Sigma, number: int) -> IntArray:
    """So many label vectors of a sigma with one weak label, in lexicographic order."""
    vectors = np.zeros((1, sigma.arity), dtype=np.int64)
    state = np.zeros(1, dtype=np.int64)
    for position, targets in zip(sigma.diagram.positions, sigma.diagram.targets, strict=True):
        source, label = np.nonzero(targets[state] != DEAD)
        source, label = source[:number], label[:number]
        vectors, state = vectors[source], targets[state[source], label]
        vectors[:, position] = label
    return vectors[np.lexsort(vectors.T[::-1])]
