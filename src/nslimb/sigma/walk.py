"""Walk several diagrams side by side: the reachable part of their product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nslimb.arrays import IntArray
from nslimb.errors import TooLarge
from nslimb.sigma.diagram import DEAD
from nslimb.sigma.rows import rank_rows

# States times labels of one layer, as in the compilation of a single sigma.
_MAX_EDGES = 50_000_000


class Walk(NamedTuple):
    """The reachable part of a product of diagrams, not yet reduced."""

    layers: list[IntArray]  # targets [states, labels] of each layer, DEAD where one part is
    ends: IntArray  # [last states, parts]: the state of each part


def walk(
    parts: Sequence[Sequence[IntArray | None]], num_labels: Sequence[int], positions: Sequence[int], max_states: int
) -> Walk:
    """Walk diagrams side by side, layer by layer: a state is a tuple of states, one of each part.

    ``parts[p][i]`` are the targets [states, num_labels[i]] of part p in layer i, or None where it does not look at
    the label and keeps its state. ``positions`` are those that the layers read. More than ``max_states`` states are
    refused.
    """
    states = [np.zeros(1, dtype=np.int64) for _ in parts]
    bounds = [1] * len(parts)
    layers: list[IntArray] = []
    widths = [1]
    for i, labels in enumerate(num_labels):
        if widths[-1] * labels > _MAX_EDGES:
            raise _too_wide(widths, positions, f"{_MAX_EDGES} edges ({labels} a state) in one layer")
        columns = []
        alive = np.ones(widths[-1] * labels, dtype=np.bool_)
        for p, part in enumerate(parts):
            targets = part[i]
            if targets is None:
                columns.append(np.repeat(states[p], labels))
            else:
                columns.append(targets[states[p]].reshape(-1))
                alive &= columns[p] != DEAD
                bounds[p] = int(targets.max()) + 1
        living = [column[alive] for column in columns]
        ranks, width = rank_rows(living, bounds)
        widths.append(width)
        if sum(widths) > max_states:
            raise _too_wide(widths, positions, f"max_states={max_states} states")
        following = np.full(len(alive), DEAD)
        following[alive] = ranks
        layers.append(following.reshape(-1, labels))
        states = [np.empty(width, dtype=np.int64) for _ in parts]
        for state, column in zip(states, living, strict=True):
            state[ranks] = column
    return Walk(layers, np.stack(states, axis=1))


def _too_wide(widths: Sequence[int], positions: Sequence[int], limit: str) -> TooLarge:
    widest = int(np.argmax(widths))
    return TooLarge(
        f"the product of diagrams has more than {limit}; its widest layer so far, {widths[widest]} states, follows "
        f"position {positions[widest - 1]}. Another order= of the positions may need fewer states: let those that "
        "decide something together be read one after the other; or raise max_states"
    )
