"""Compile a transducer: a layered diagram whose edges emit symbols, so that the weak label is a sequence.

``emissions[i][state, label]`` is the symbol that an edge of layer i emits, or ``SILENT``. The number of symbols that
were emitted before belongs to the state, ``places[i][state]``: an edge is compared with that place of the sequence.
States with the same row of (target, emission) become one, from the last layer back.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nslimb.arrays import BoolArray, IntArray
from nslimb.errors import InvalidInput, TooLarge
from nslimb.sigma.diagram import (
    DEAD,
    Diagram,
    _call,
    _index_weak_labels,
    _plain,
    _reduce,
    _sizes,
    check_order,
    explore,
)

SILENT = -1


@dataclass(frozen=True, eq=False, kw_only=True)
class Emitting(Diagram):
    """A diagram with emissions. Its ``weak_labels`` tell the last states apart: what finish gives, () without it."""

    emissions: tuple[IntArray, ...]  # [states of layer i, num_classes], indices into symbols
    places: tuple[IntArray, ...]  # [states of layer i]
    symbols: tuple[Hashable, ...]  # all that occur anywhere in a weak label
    last: IntArray  # [last states], the symbol that finish gives; SILENT without it
    length: int  # symbols of a weak label


class _Explored:
    """The layers before reduction, dead ends dropped, with what each edge emits."""

    def __init__(self, layers: Sequence[IntArray], emitted: Sequence[Hashable], ends: Sequence[Hashable]) -> None:
        alive = np.array([end is not None for end in ends], dtype=bool)
        self.layers = _living(layers, alive)
        self.ends = ends
        sizes = np.cumsum([0, *(layer.size for layer in layers)])
        shapes = [layer.shape for layer in layers]
        values = np.fromiter(emitted, dtype=object, count=len(emitted))
        self.emitted = [
            values[start:end].reshape(shape) for start, end, shape in zip(sizes, sizes[1:], shapes, strict=False)
        ]

    def path_to(self, node: int) -> tuple[list[int], list[Hashable]]:
        """Labels that lead to a node of the last layer, and what is emitted on the way."""
        labels, emitted = [], []
        for targets, values in zip(reversed(self.layers), reversed(self.emitted), strict=True):
            row, label = (int(index[0]) for index in np.nonzero(targets == node))
            labels.append(label)
            emitted.append(values[row, label])
            node = row
        return labels[::-1], [value for value in reversed(emitted) if value is not None]


def compile_transducer(
    initial: Hashable,
    step: Callable[[Any, int], tuple[Hashable, Hashable] | None],
    finish: Callable[[Any], Hashable] | None,
    num_classes: int,
    arity: int,
    order: Sequence[int] | None,
    max_states: int,
) -> Emitting:
    """Explore the states breadth first, drop what leads nowhere, check the lengths, then reduce."""
    num_classes, arity, max_states = _sizes(num_classes, arity, max_states)
    reading = check_order(order, arity)
    emitted: list[Hashable] = []  # by every edge, in the order in which they are followed

    def follow(node: tuple[Hashable, int], label: int) -> Hashable:
        after, symbol = _call_step(step, node[0], label)
        emitted.append(symbol)
        return None if after is None else (after, node[1] + (symbol is not None))

    start = (_plain(initial, "initial"), 0)
    nodes, layers = explore(start, follow, num_classes, arity, max_states, "from_transducer")
    ends = [() if finish is None else _call(finish, "finish", state) for state, _ in nodes]
    explored = _Explored(layers, emitted, ends)
    weak_labels, last = _index_weak_labels(ends)
    numbers = np.array([number for _, number in nodes])
    _check_lengths(explored, numbers, last, reading)
    if finish is None and numbers[last != DEAD][0] == 0:
        raise InvalidInput("step", "at least one symbol, from step or finish", "none for every label vector")
    return _reduce_emitting(explored, numbers, weak_labels, last, reading, finish is not None)


def _call_step(
    step: Callable[[Any, int], tuple[Hashable, Hashable] | None], state: Hashable, label: int
) -> tuple[Hashable, Hashable]:
    """The next state and the symbol, both None for a dead end."""
    pair: Any = _call(step, "step", state, label)
    if pair is None:
        return None, None
    if not isinstance(pair, tuple) or len(pair) != 2 or pair[0] is None:
        expected = f"(next state, emitted or None), or None for a dead end, from step({state!r}, {label})"
        raise InvalidInput("step", expected, repr(pair))
    return _plain(pair[0], "step"), _plain(pair[1], "step")


def _living(layers: Sequence[IntArray], alive: BoolArray) -> list[IntArray]:
    """The layers with every edge cut that leads to no end."""
    living: list[IntArray] = []
    for targets in reversed(layers):
        cut = np.where(np.append(alive, False)[targets], targets, DEAD)  # DEAD is -1 and so picks the last
        alive = (cut != DEAD).any(axis=1)
        living.append(cut)
    return living[::-1]


def _check_lengths(explored: _Explored, numbers: IntArray, last: IntArray, order: tuple[int, ...] | None) -> None:
    """Refuse two label vectors that emit different numbers of symbols; dead ends do not count."""
    living = np.flatnonzero(last != DEAD)
    other = living[numbers[living] != numbers[living[0]]]
    if len(other) == 0:
        return
    examples = []
    for node in (living[0], other[0]):
        read, emitted = explored.path_to(int(node))
        labels = dict(zip(order or range(len(read)), read, strict=True))
        vector = tuple(labels[position] for position in range(len(read)))
        examples.append(f"{len(emitted)} for {vector} ({', '.join(map(repr, emitted)) or 'nothing'})")
    raise InvalidInput("step", "as many emitted symbols for every label vector", " and ".join(examples))


def _reduce_emitting(
    explored: _Explored,
    numbers: IntArray,
    weak_labels: tuple[Hashable, ...],
    last: IntArray,
    order: tuple[int, ...] | None,
    has_finish: bool,
) -> Emitting:
    """Merge states with equal rows of (target, emission), from the last layer back."""
    symbols = _alphabet(explored, weak_labels if has_finish else ())
    index = {symbol: i for i, symbol in enumerate(symbols)} | {None: SILENT}
    length = int(numbers[last != DEAD][0])
    renamed, number = last, np.full(len(weak_labels), length)
    targets, emissions, places = [], [], []
    for following, emitted in zip(reversed(explored.layers), reversed(explored.emitted), strict=True):
        dead = following == DEAD
        symbol = np.fromiter((index.get(value, SILENT) for value in emitted.flat), dtype=np.int64, count=dead.size)
        symbol = np.where(dead, SILENT, symbol.reshape(dead.shape))
        target = np.where(dead, DEAD, renamed[following])
        rows, inverse = np.unique(np.concatenate([target, symbol], axis=1), axis=0, return_inverse=True)
        alive = (rows[:, : dead.shape[1]] != DEAD).any(axis=1)
        renamed = np.where(alive, np.cumsum(alive) - 1, DEAD)[inverse.reshape(-1)]
        rows = rows[alive]
        targets.append(np.ascontiguousarray(rows[:, : dead.shape[1]]))
        emissions.append(np.ascontiguousarray(rows[:, dead.shape[1] :]))
        # Equal rows leave equally many symbols to come, so that any live edge tells how many came before.
        edge = (np.arange(len(rows)), (targets[-1] != DEAD).argmax(axis=1))
        number = number[targets[-1][edge]] - (emissions[-1][edge] != SILENT)
        places.append(number)
    return Emitting(
        tuple(reversed(targets)),
        weak_labels,
        order,
        emissions=tuple(reversed(emissions)),
        places=tuple(reversed(places)),
        symbols=symbols,
        last=np.array([index[label] if has_finish else SILENT for label in weak_labels], dtype=np.int64),
        length=length + has_finish,
    )


def _alphabet(explored: _Explored, ends: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """Every symbol of a weak label, sorted where they can be; what only dead ends emit is none."""
    living = [values[targets != DEAD] for values, targets in zip(explored.emitted, explored.layers, strict=True)]
    values = [value for value in np.concatenate(living).tolist() if value is not None]
    return _index_weak_labels([*values, *ends])[0]


def list_weak_labels(diagram: Emitting, limit: int) -> Diagram:
    """The same function with every sequence a last state: a state is one of ours and what was emitted on the way to it.

    All that has been emitted before a state is equally long, and leads to a weak label of its own. So no state can go
    with more sequences than there are weak labels.
    """
    prefixes = _Prefixes(len(diagram.symbols))
    state, prefix = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    layers: list[IntArray] = []
    for targets, emissions, width in zip(diagram.targets, diagram.emissions, diagram.widths[1:], strict=True):
        source, label = np.nonzero(targets[state] != DEAD)
        extended = prefixes.extend(prefix[source], emissions[state[source], label])
        pairs = extended * width + targets[state[source], label]
        distinct, inverse = np.unique(pairs, return_inverse=True)
        layer = np.full((len(state), diagram.num_classes), DEAD, dtype=np.int64)
        layer[source, label] = inverse.reshape(-1)
        layers.append(layer)
        state, prefix = distinct % width, distinct // width
        _check_limit(int(np.bincount(state).max()), limit)
    sequences = prefixes.sequences(prefixes.extend(prefix, diagram.last[state]), diagram.length)
    values = [tuple(diagram.symbols[symbol] for symbol in sequence) for sequence in sequences.tolist()]
    weak_labels, last = _index_weak_labels(values)
    _check_limit(len(weak_labels), limit)
    return replace(_reduce(layers, last, weak_labels), order=diagram.order)


class _Prefixes:
    """Sequences as the nodes of a tree: each but the empty one, 0, is another with one symbol more."""

    def __init__(self, symbols: int) -> None:
        self.symbols = symbols
        self.nodes: dict[int, int] = {-1: 0}  # by parent * symbols + symbol

    def extend(self, prefix: IntArray, symbol: IntArray) -> IntArray:
        """The sequences with these symbols appended; SILENT appends none."""
        emits = np.flatnonzero(symbol != SILENT)
        keys, inverse = np.unique(prefix[emits] * self.symbols + symbol[emits], return_inverse=True)
        nodes = [self.nodes.setdefault(key, len(self.nodes)) for key in keys.tolist()]
        extended: IntArray = prefix.copy()
        extended[emits] = np.array(nodes, dtype=np.int64)[inverse.reshape(-1)]
        return extended

    def sequences(self, node: IntArray, length: int) -> IntArray:
        """The symbols of sequences of equal length, [n, length]."""
        keys: IntArray = np.fromiter(self.nodes, dtype=np.int64)
        symbols: IntArray = np.empty((len(node), length), dtype=np.int64)
        for place in reversed(range(length)):
            symbols[:, place], node = keys[node] % self.symbols, keys[node] // self.symbols
        return symbols


def _check_limit(number: int, limit: int) -> None:
    if number > limit:
        raise TooLarge(
            f"listed: at least {number} weak labels are more than limit={limit}; log_likelihood, posterior and best "
            "answer without listing them, or raise the limit"
        )
