"""The layers of a diagram as index tensors, which the passes run over."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import IntArray
from nslimb.sigma.diagram import DEAD, Diagram
from nslimb.sigma.emitting import SILENT, Emitting

# Padding rows that cost less than the launch of another group of operations.
_CHEAP_ROWS = 256
# Entries of the table of the edges into each last state: 32 MB.
_MAX_INTO = 4_000_000


@dataclass(frozen=True)
class Emission:
    """What the edges of a layer emit."""

    symbols: Tensor  # [n, L, 1]
    emits: Tensor | None  # [n, L, 1], False for edges that emit nothing; None where every live edge emits
    places: Tensor | int  # [n], the place in the sequence that comes next; a number where it is the same for all

    def differs(self, observed: Tensor) -> Tensor:
        """Edges that emit another symbol than the observed one: bool [n, L, B]."""
        if isinstance(self.places, int):
            other = self.symbols != observed[self.places]
        else:
            other = self.symbols != observed.index_select(0, self.places).unsqueeze(1)
        return other if self.emits is None else other.logical_and_(self.emits)


@dataclass(frozen=True)
class Entrance:
    """The edges into each last state, for samples of which it is known; not if the table were too large.

    Where all edges of the layer emit at one place, they are told apart by their symbols too: no other edges are met,
    and none need be compared with the observation. After the last state comes one that no edge leads to.
    """

    rows: Tensor  # [(following + 1) * symbols, width], incoming rows of T padded with its last row
    symbols: int | None  # how many tell the edges into a state apart; None: none do
    place: int = 0  # of those in the sequence

    def of(self, last: Tensor, observed: Tensor | None) -> Tensor:
        """Rows of T that lead to each sample's last state and emit what was observed: [width, B]."""
        if self.symbols is not None and observed is not None:
            last = torch.add(observed[self.place], last, alpha=self.symbols)
        return self.rows.index_select(0, last).t()


@dataclass(frozen=True)
class LayerPlan:
    """One layer as index tensors, with n states, L live labels and ``following`` states after it.

    A *cell* is an entry of the groups, counted through all of them: an incoming edge or padding.
    """

    position: int  # whose label it reads
    states: int
    live: int
    labels: Tensor  # [L]
    groups: tuple[Tensor, ...]  # [states, width] each: incoming rows of T, padded with its last row
    order: Tensor | None  # [following], position of each state in the concatenated groups
    cells: Tensor  # [n * L], the cell of each edge; dead edges share a cell of padding
    padded: bool  # whether some cell is padding, or some edge is dead
    one_each: bool  # one edge leads to each state, so that there is nothing to sum, and another layer follows
    in_place: bool  # ... and the edges are in the states' order
    emission: Emission | None  # None where no edge emits
    entrance: Entrance | None  # of the last layer


def plan(diagram: Diagram, device: torch.device) -> tuple[LayerPlan, ...]:
    """The index tensors of every layer on ``device``."""
    return tuple(_plan_layer(diagram, i, device) for i in range(diagram.arity))


def _plan_layer(diagram: Diagram, layer: int, device: torch.device) -> LayerPlan:
    """The index arrays by which a pass goes from one layer of the diagram to the next.

    A state of the next layer collects the scores of all edges (state, label) that lead to it. Their number differs from
    state to state, so states with similar numbers are put into one group, a rectangle of edges in which the short rows
    are filled up: then a group is one gather and one reduction, whatever the semiring.
    """
    targets, following = diagram.targets[layer], diagram.widths[layer + 1]
    labels = np.flatnonzero((targets != DEAD).any(axis=0))
    flat = targets[:, labels].reshape(-1)
    edges = np.flatnonzero(flat != DEAD)
    edges = edges[np.argsort(flat[edges], kind="stable")]
    degree = np.bincount(flat[edges], minlength=following)
    start = np.cumsum(degree) - degree
    by_degree = np.argsort(degree, kind="stable")
    some_dead = len(edges) < len(flat)
    groups = []
    for members in _split_by_width(by_degree, degree):
        column = np.arange(degree[members[-1]] + some_dead)
        inside = column < degree[members, None]
        slot = np.where(inside, start[members, None] + column, 0)
        groups.append(np.where(inside, edges[slot], len(flat)))
    # Written in cell order: what remains in the row past the edges is some cell of padding.
    all_cells = np.concatenate([group.reshape(-1) for group in groups])
    cells = np.empty(len(flat) + 1, dtype=np.int64)
    cells[all_cells] = np.arange(len(all_cells))
    if some_dead:
        cells[:-1][flat == DEAD] = cells[-1]
    emission = _plan_emission(diagram, layer, labels, device) if isinstance(diagram, Emitting) else None
    entrance = _plan_entrance(diagram, flat, emission, device) if layer == diagram.arity - 1 else None
    one_each = len(all_cells) == following and layer < diagram.arity - 1
    position = np.empty(following, dtype=np.int64)
    position[by_degree] = np.arange(following)
    in_order = bool((position == np.arange(following)).all())
    return LayerPlan(
        position=diagram.positions[layer],
        states=len(targets),
        live=len(labels),
        labels=torch.from_numpy(labels).to(device),
        groups=tuple(torch.from_numpy(group).to(device) for group in groups),
        order=None if in_order else torch.from_numpy(position).to(device),
        cells=torch.from_numpy(cells[:-1]).to(device),
        padded=some_dead
        or bool((all_cells == len(flat)).any())
        or (entrance is not None and bool((entrance.rows == len(flat)).any())),
        one_each=one_each,
        in_place=one_each and bool((groups[0].reshape(-1) == np.arange(len(flat))).all()),
        emission=emission,
        entrance=entrance,
    )


def _plan_entrance(
    diagram: Diagram, flat: IntArray, emission: Emission | None, device: torch.device
) -> Entrance | None:
    """The edges [n * L] of the last layer by the state they lead to and, if all emit at one place, their symbol."""
    keys, number, symbols, place = flat, diagram.widths[-1], None, 0
    if isinstance(diagram, Emitting):
        number += 1
        if emission is not None and emission.emits is None and isinstance(emission.places, int):
            symbols, place = len(diagram.symbols), emission.places
            keys = np.where(flat == DEAD, DEAD, flat * symbols + emission.symbols.reshape(-1).cpu().numpy())
            number *= symbols
    edges = np.flatnonzero(keys != DEAD)
    edges = edges[np.argsort(keys[edges], kind="stable")]
    degree = np.bincount(keys[edges], minlength=number)
    if number * degree.max() > _MAX_INTO:
        return None
    rows = np.full((number, degree.max()), len(flat))
    start = np.cumsum(degree) - degree
    rows[keys[edges], np.arange(len(edges)) - start[keys[edges]]] = edges
    return Entrance(torch.from_numpy(rows).to(device), symbols, place)


def _plan_emission(diagram: Emitting, layer: int, labels: IntArray, device: torch.device) -> Emission | None:
    symbols, places = diagram.emissions[layer][:, labels, None], diagram.places[layer]
    silent = (symbols == SILENT) & (diagram.targets[layer][:, labels, None] != DEAD)
    if (symbols == SILENT).all():
        return None
    # A state that has emitted all there is has no place left; its edges are silent.
    places = np.minimum(places, diagram.length - 1)
    return Emission(
        symbols=torch.from_numpy(symbols).to(device),
        emits=torch.from_numpy(~silent).to(device) if silent.any() else None,
        places=int(places[0]) if (places == places[0]).all() else torch.from_numpy(places).to(device),
    )


def _split_by_width(by_degree: IntArray, degree: IntArray) -> list[IntArray]:
    """Cut states, sorted by in-degree, where a narrower group saves more padding than it costs."""
    sorted_degree = degree[by_degree]
    cuts = []
    end = len(by_degree)
    while end > 0:
        width = sorted_degree[end - 1]
        cut = int(np.searchsorted(sorted_degree, width // 2, side="right"))
        saved = int((width - sorted_degree[:cut]).sum())
        if saved <= _CHEAP_ROWS:
            cut = 0
        cuts.append(by_degree[cut:end])
        end = cut
    return cuts[::-1]
