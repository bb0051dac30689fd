"""Pieces: small diagrams over some of the positions, to be combined into larger ones.

A piece is reduced before it is used further. So what is put together from pieces costs as much as their products, and
never as much as there are label vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from nslimb.arrays import IntArray
from nslimb.sigma.diagram import DEAD, Diagram, finish_layers
from nslimb.sigma.positions import Positions
from nslimb.sigma.walk import walk


class Piece(NamedTuple):
    """A function of the labels read at some steps, as a diagram over these alone; its weak labels are its values."""

    steps: tuple[int, ...]
    diagram: Diagram


class Pieces:
    """Makes pieces over given positions, and combines them."""

    def __init__(self, positions: Positions, max_states: int) -> None:
        self.positions, self.max_states = positions, max_states
        self.step = {position: step for step, position in enumerate(positions.reading)}

    def label(self, position: int, names: Sequence[str] | None = None) -> Piece:
        """The label of one position: a number, or its name."""
        values = names or range(self.positions.sizes[position])
        return Piece((self.step[position],), finish_layers([np.arange(len(values))[None]], _itself, zip(values)))

    @staticmethod
    def constant(value: Hashable) -> Piece:
        """The same value for all labels."""
        return Piece((), finish_layers([], _itself, [(value,)]))

    def product(self, function: Callable[..., Hashable], pieces: Sequence[Piece]) -> Piece:
        """The function of the pieces' values; None is a dead end."""
        steps = sorted({step for piece in pieces for step in piece.steps})
        positions = [self.positions.reading[step] for step in steps]
        looked_at = [dict(zip(piece.steps, piece.diagram.targets, strict=True)) for piece in pieces]
        parts = [[targets.get(step) for step in steps] for targets in looked_at]
        num_labels = [self.positions.sizes[position] for position in positions]
        walked = walk(parts, num_labels, positions, self.max_states)
        values = [piece.diagram.weak_labels for piece in pieces]
        columns = ([value[i] for i in column] for value, column in zip(values, walked.ends.T.tolist(), strict=True))
        return Piece(tuple(steps), finish_layers(walked.layers, function, zip(*columns, strict=True)))

    def over_all_positions(self, piece: Piece) -> list[IntArray]:
        """Its layers, with those that it does not look at, and with dead ends for labels that a position lacks."""
        looked_at = dict(zip(piece.steps, piece.diagram.targets, strict=True))
        layers: list[IntArray] = []
        states = 1
        for step, position in enumerate(self.positions.reading):
            size = self.positions.sizes[position]
            targets = np.full((states, max(self.positions.sizes)), DEAD)
            targets[:, :size] = looked_at.get(step, np.arange(states)[:, None])
            layers.append(targets)
            states = int(targets.max()) + 1
        return layers


def _itself(value: Any) -> Any:
    return value
