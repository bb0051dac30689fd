"""Compile sigma into a layered decision diagram, and reduce it to the smallest one.

Layer i holds the states that matter after i labels. ``targets[i][state, label]`` is the state of
layer i + 1 that the label leads to, or ``DEAD`` where no weak label can be reached any more. The
states of the last layer are the weak labels themselves.

The reduction works from the last layer back: two states with the same row of targets have the same
future and become one. Rows are sorted, so that equal functions give equal arrays, however they were
written down.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from nslimb.arrays import IntArray
from nslimb.checks import as_integers, check_count
from nslimb.errors import InvalidInput, NslimbError, TooLarge
from nslimb.sigma.rows import rank_rows

DEAD = -1
MAX_STATES = 1_000_000
# States times classes of one layer: 400 MB as a table of targets.
_MAX_EDGES = 50_000_000


@dataclass(frozen=True, eq=False)
class Diagram:
    """The reduced diagram: ``targets[i]`` has shape [states of layer i, num_classes]."""

    targets: tuple[IntArray, ...]
    weak_labels: tuple[Hashable, ...]
    order: tuple[int, ...] | None = None  # the position that each layer reads; None: layer i reads position i

    @property
    def arity(self) -> int:
        return len(self.targets)

    @property
    def num_classes(self) -> int:
        return int(self.targets[0].shape[1])

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of states in each of the arity + 1 layers."""
        return (*(len(rows) for rows in self.targets), len(self.weak_labels))

    @property
    def positions(self) -> tuple[int, ...]:
        """The position that each layer reads."""
        return tuple(range(self.arity)) if self.order is None else self.order


def compile_function(
    function: Callable[[tuple[int, ...]], Hashable], num_classes: int, arity: int, max_states: int
) -> Diagram:
    """Tabulate ``function`` on all num_classes ** arity label vectors, then reduce the table."""
    num_classes, arity, max_states = _sizes(num_classes, arity, max_states)
    if num_classes**arity > max_states:
        raise TooLarge(
            f"from_function: {num_classes} ** {arity} label vectors are more than max_states={max_states}; "
            "describe sigma by Sigma.from_steps, whose cost grows with its states, or raise max_states"
        )
    values = [_call(function, "function", labels) for labels in product(range(num_classes), repeat=arity)]
    weak_labels, last = _index_weak_labels(values)
    prefixes = [np.arange(num_classes**i).reshape(-1, num_classes) for i in range(1, arity + 1)]
    return _reduce(prefixes, last, weak_labels)


def compile_steps(
    initial: Hashable,
    step: Callable[[Any, int], Hashable],
    finish: Callable[[Any], Hashable],
    num_classes: int,
    arity: int,
    max_states: int,
    order: Sequence[int] | None = None,
) -> Diagram:
    """Explore the states breadth first from ``initial``, then reduce. None is a dead end."""
    num_classes, arity, max_states = _sizes(num_classes, arity, max_states)
    reading = check_order(order, arity)
    follow = partial(_call, step, "step")
    states, layers = explore(_plain(initial, "initial"), follow, num_classes, arity, max_states, "from_steps")
    weak_labels, last = _index_weak_labels([_call(finish, "finish", state) for state in states])
    return replace(_reduce(layers, last, weak_labels), order=reading)


def explore(
    initial: Hashable,
    follow: Callable[[Any, int], Hashable],
    num_classes: int,
    arity: int,
    max_states: int,
    name: str,
) -> tuple[list[Any], list[IntArray]]:
    """The states after the last label, and the targets of each layer; ``name`` is what messages call the caller."""
    states: list[Any] = [initial]
    seen = 1
    layers: list[IntArray] = []
    for _ in range(arity):
        index: dict[Hashable, int] = {}
        if len(states) * num_classes > _MAX_EDGES:
            raise TooLarge(
                f"{name}: {len(states)} states times {num_classes} classes after {len(layers)} of {arity} labels "
                f"are more than {_MAX_EDGES} edges; let step forget what no longer matters"
            )
        targets = np.full((len(states), num_classes), DEAD, dtype=np.int64)
        for row, state in enumerate(states):
            for label in range(num_classes):
                after = follow(state, label)
                if after is not None:
                    targets[row, label] = index.setdefault(after, len(index))
            if seen + len(index) > max_states:
                raise TooLarge(
                    f"{name}: more than max_states={max_states} states after {len(layers) + 1} of {arity} "
                    "labels; let step forget what no longer matters, or raise max_states"
                )
        seen += len(index)
        layers.append(targets)
        states = list(index)
    return states, layers


def check_order(order: Any, arity: int) -> tuple[int, ...] | None:
    """The order in which positions are read; None for the order in which they stand."""
    if order is None:
        return None
    expected = f"each of the positions 0 to {arity - 1} once"
    reading = tuple(as_integers("order", order, expected).tolist())
    if sorted(reading) != list(range(arity)):
        raise InvalidInput("order", expected, repr(order))
    return None if reading == tuple(range(arity)) else reading


def finish_layers(
    layers: Sequence[IntArray], function: Callable[..., Hashable], arguments: Iterable[tuple[Any, ...]]
) -> Diagram:
    """Reduce layers whose last states have the weak labels function(*arguments); None is a dead end."""
    weak_labels, last = _index_weak_labels([_call(function, "function", *given) for given in arguments])
    return _reduce(layers, last, weak_labels)


def finish_family(layers: Sequence[IntArray], values: Sequence[Hashable]) -> tuple[Diagram, IntArray]:
    """Reduce layers with several first states, and say what has become of each of them: their roots."""
    weak_labels, last = _index_weak_labels(values)
    reduced, roots = _merge_states(layers, last)
    return Diagram(reduced, weak_labels), roots


def _sizes(num_classes: int, arity: int, max_states: int) -> tuple[int, int, int]:
    """The three as Python integers, which do not wrap round."""
    return check_count("num_classes", num_classes), check_count("arity", arity), check_count("max_states", max_states)


def _reduce(layers: Sequence[IntArray], last: IntArray, weak_labels: tuple[Hashable, ...]) -> Diagram:
    """Merge states with equal futures; ``last`` maps the states of the last layer to weak labels."""
    return Diagram(_merge_states(layers, last)[0], weak_labels)


def _merge_states(layers: Sequence[IntArray], last: IntArray) -> tuple[tuple[IntArray, ...], IntArray]:
    """The layers with states of equal futures merged, from the last one back, and the new names of the first states."""
    renamed = last
    reduced: list[IntArray] = []
    for targets in reversed(layers):
        rows = np.where(targets == DEAD, DEAD, renamed[targets])
        inverse, distinct = rank_rows((rows + 1).T, [int(rows.max(initial=DEAD)) + 2] * rows.shape[1])
        unique = np.empty((distinct, rows.shape[1]), dtype=np.int64)
        unique[inverse] = rows
        alive = (unique != DEAD).any(axis=1)
        names = np.where(alive, np.cumsum(alive) - 1, DEAD)
        renamed = names[inverse]
        reduced.append(np.ascontiguousarray(unique[alive]))
    return tuple(reversed(reduced)), renamed


def _index_weak_labels(values: Sequence[Hashable]) -> tuple[tuple[Hashable, ...], IntArray]:
    """Give each distinct value an index, in an order that does not depend on where the values appear."""
    distinct = [value for value in dict.fromkeys(values) if value is not None]
    if not distinct:
        raise InvalidInput("sigma", "a weak label for at least one label vector", "None for every one of them")
    distinct = _in_fixed_order(distinct)
    index: dict[Hashable, int] = {value: i for i, value in enumerate(distinct)}
    index[None] = DEAD
    return tuple(distinct), np.fromiter((index[value] for value in values), dtype=np.int64, count=len(values))


def _in_fixed_order(distinct: Sequence[Hashable]) -> list[Hashable]:
    """Sorted where that is a total order; otherwise (mixed types, sets) by type name, then as they are written."""
    with suppress(TypeError):
        ordered: list[Any] = sorted(distinct)
        if all(map(operator.lt, ordered, ordered[1:])):  # sets sort without an error, but only by inclusion
            return ordered
    return sorted(distinct, key=lambda value: (type(value).__name__, _written(value)))


def _written(value: Any) -> str:
    """repr, but with the members of a set in a fixed order, which changes from one run to the next in Python's own."""
    if type(value) is frozenset:
        return f"frozenset({{{', '.join(sorted(map(_written, value)))}}})" if value else "frozenset()"
    if type(value) is tuple:
        return f"({', '.join(map(_written, value))}{',' * (len(value) == 1)})"
    return repr(value)


def _call(function: Callable[..., Hashable], name: str, *arguments: Any) -> Hashable:
    """Call the user's function; a failure says which function, on what arguments."""
    try:
        value = function(*arguments)
    except NslimbError:
        raise
    except (Exception, SystemExit) as error:
        given = ", ".join(map(repr, arguments))
        raise InvalidInput(name, f"a function that accepts ({given})", f"{type(error).__name__}: {error}") from error
    return _plain(value, name)


def _plain(value: Any, name: str) -> Hashable:
    """A value that can be told apart by equality: numpy scalars unpacked, all else checked."""
    if value is None:
        return None
    if isinstance(value, np.generic):
        value = value.item()
    try:
        hash(value)
    except TypeError as error:
        raise InvalidInput(
            name, "hashable values (int, str, tuple, ...)", f"{value!r} of type {type(value).__name__}"
        ) from error
    if not _told_apart_by_equality(value):
        raise InvalidInput(
            name, "values that are equal when they mean the same", f"{value!r} of type {type(value).__name__}"
        )
    return value  # type: ignore[no-any-return]


def _told_apart_by_equality(value: Any) -> bool:
    """False for NaN, tensors and objects that are equal only to themselves, also inside tuples and frozensets."""
    if isinstance(value, (tuple, frozenset)):
        return all(map(_told_apart_by_equality, value))
    hashed_by: Any = type(value).__hash__
    by_identity = hashed_by is object.__hash__ or type(value).__module__.startswith("torch")
    return value is None or not (by_identity or value != value)
