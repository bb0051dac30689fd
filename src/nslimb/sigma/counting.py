"""Label vectors of a diagram, counted in exact integers or listed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nslimb.arrays import IntArray
from nslimb.sigma.diagram import DEAD, Diagram
from nslimb.sigma.emitting import SILENT, Emitting


def count(diagram: Diagram, observed: IntArray | None = None) -> NDArray[Any]:
    """How many label vectors lead to each last state: Python integers [last states, B], B = 1 without ``observed``.

    ``observed`` [places, B] are the symbols that the edges of an emitting diagram must emit.
    """
    counts = np.ones((1, 1 if observed is None else observed.shape[1]), dtype=object)
    for i, (targets, width) in enumerate(zip(diagram.targets, diagram.widths[1:], strict=True)):
        source, label = np.nonzero(targets != DEAD)
        arriving = counts[source]
        if observed is not None and isinstance(diagram, Emitting):
            symbol = diagram.emissions[i][source, label]
            emits = np.flatnonzero(symbol != SILENT)
            seen = observed[diagram.places[i][source[emits]]]
            arriving[emits] *= (symbol[emits, None] == seen).astype(object)
        counts = np.zeros((width, arriving.shape[1]), dtype=object)
        np.add.at(counts, targets[source, label], arriving)
    return counts


def vectors(diagram: Diagram, last: int) -> IntArray:
    """All label vectors that lead to one of the last states, in lexicographic order: int64 [R, M]."""
    state = np.array([last])
    columns: list[IntArray] = []
    for targets, width in zip(reversed(diagram.targets), reversed(diagram.widths[1:]), strict=True):
        source, label = np.nonzero(targets != DEAD)
        order = np.argsort(targets[source, label], kind="stable")
        degree = np.bincount(targets[source, label], minlength=width)
        start = np.cumsum(degree) - degree
        repeat = degree[state]
        within = np.arange(repeat.sum()) - np.repeat(np.cumsum(repeat) - repeat, repeat)
        edge = order[np.repeat(start[state], repeat) + within]
        columns = [label[edge], *(np.repeat(column, repeat) for column in columns)]
        state = source[edge]
    by_position = np.empty((len(state), diagram.arity), dtype=np.int64)
    by_position[:, list(diagram.positions)] = np.stack(columns, axis=1)
    return by_position[np.lexsort(by_position.T[::-1])]
