"""Label spaces: which labels each position can have by its kind, so that each kind may have a classifier of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from nslimb.arrays import BoolArray, FloatArray, IntArray
from nslimb.checks import as_integers, check_range
from nslimb.errors import InvalidInput
from nslimb.sigma.diagram import DEAD, Diagram
from nslimb.sigma.values import check_class_names

if TYPE_CHECKING:
    from nslimb.sigma.component import Sigma


class Space(NamedTuple):
    """One kind of labels: its name, the labels that it covers, what they are called, and the positions that have it."""

    name: str
    labels: tuple[int, ...]
    class_names: tuple[str, ...]
    positions: tuple[int, ...]

    def named(self, class_names: Sequence[str]) -> Space:
        """The same, with its labels called as in a sigma's class names."""
        return self._replace(class_names=tuple(class_names[label] for label in self.labels))


def read_spaces(spaces: Any, labels: Any, sigma: Sigma, names: Sequence[tuple[str, ...] | None]) -> tuple[Space, ...]:
    """Spaces from {name: positions} and, where they cover more than their positions accept, {name: labels}.

    Labels may be a mapping {label: class name}; ``names`` are those of the labels by position, where they differ. A
    space without names of its own has none here.
    """
    expected = f"a mapping {{name: positions}} that has each of the positions 0 to {sigma.arity - 1} in one space"
    if not isinstance(spaces, Mapping) or not spaces or not all(isinstance(name, str) for name in spaces):
        raise InvalidInput("spaces", expected, repr(spaces))
    if labels is not None and (not isinstance(labels, Mapping) or not set(labels) <= set(spaces)):
        raise InvalidInput("labels", f"a mapping from some of {', '.join(spaces)} to labels", repr(labels))
    found = [_space(name, given, (labels or {}).get(name), sigma, names) for name, given in spaces.items()]
    placed = [position for space in found for position in space.positions]
    for position in range(sigma.arity):
        if placed.count(position) != 1:
            given = f"position {position} in {placed.count(position) or 'none'} of them"
            raise InvalidInput("spaces", expected, given)
    return tuple(found)


def _space(name: str, positions: Any, labels: Any, sigma: Sigma, names: Sequence[tuple[str, ...] | None]) -> Space:
    places = _integers(f"spaces[{name!r}]", positions, sigma.arity)
    accepted = np.flatnonzero(sigma.accepted[places].any(axis=0)).tolist()
    listed = list(labels) if isinstance(labels, Mapping) else labels
    covered = accepted if labels is None else _integers(f"labels[{name!r}]", listed, sigma.num_classes)
    missing = sorted(set(accepted) - set(covered))
    if missing:
        expected = f"all labels that its positions accept ({', '.join(sigma.class_names[j] for j in accepted)})"
        raise InvalidInput(f"labels[{name!r}]", expected, f"{sigma.class_names[missing[0]]} is not among them")
    if isinstance(labels, Mapping):
        called = check_class_names(list(labels.values()), len(covered))
    else:
        called = _names_at(places, covered, names)
    return Space(name, tuple(covered), called, tuple(places))


def _names_at(places: Sequence[int], labels: Sequence[int], names: Sequence[tuple[str, ...] | None]) -> tuple[str, ...]:
    """What the labels are called at some positions; nothing where that is not known, or not the same at all."""
    own = {names[place] for place in places} if names else {None}
    known = own.pop()
    if known is None or own or max(labels) >= len(known):
        return ()
    return tuple(known[label] for label in labels)


def _integers(argument: str, values: Any, size: int) -> list[int]:
    expected = f"distinct integers from 0 to {size - 1}, at least one"
    found = as_integers(argument, list(values) if isinstance(values, range) else values, expected)
    check_range(argument, found, size, expected)
    listed: list[int] = found.reshape(-1).tolist()
    if not listed or len(set(listed)) < len(listed):
        raise InvalidInput(argument, expected, repr(values))
    return listed


def space_of(sigma: Sigma, label: int) -> str:
    """The name of the space that a class belongs to, where no two spaces share one."""
    return next(space.name for space in sigma.spaces if label in space.labels)


def offsets_of(spaces: Sequence[Space]) -> list[int]:
    """Where the labels of each space begin, and end, when those of all spaces are written one after another."""
    return [0, *accumulate(len(space.labels) for space in spaces)]


def own_labels(spaces: Sequence[Space], arity: int) -> BoolArray:
    """Which of the labels of all spaces, one after another, are of each position's own: [M, sum of labels]."""
    offsets = offsets_of(spaces)
    own = np.zeros((arity, offsets[-1]), dtype=np.bool_)
    for space, start, end in zip(spaces, offsets[:-1], offsets[1:], strict=True):
        own[list(space.positions), start:end] = True
    return own


def apart(spaces: Sequence[Space], vectors: IntArray) -> IntArray:
    """Label vectors [n, M] in the labels of all spaces, one after another; -1 for a label that its space lacks."""
    found = np.full(vectors.shape, -1)
    for space, start in zip(spaces, offsets_of(spaces)[:-1], strict=True):
        for place, label in enumerate(space.labels):
            columns = list(space.positions)
            found[:, columns] = np.where(vectors[:, columns] == label, start + place, found[:, columns])
    return found


def ratios_apart(spaces: Sequence[Space], ratios: FloatArray) -> FloatArray:
    """Ratios [M, c] over the labels of all spaces, [M, sum of labels]: each position's own, to sum to 1."""
    offsets = offsets_of(spaces)
    found = np.zeros((len(ratios), offsets[-1]))
    for space, start, end in zip(spaces, offsets[:-1], offsets[1:], strict=True):
        own = ratios[np.ix_(space.positions, space.labels)]
        total = own.sum(axis=1, keepdims=True)
        if not (total > 0).all():
            raise InvalidInput("ratios", f"a ratio above 0 for some label of space {space.name}", "0 for all of them")
        found[space.positions, start:end] = own / total
    return found


def laid_apart(diagram: Diagram, spaces: Sequence[Space]) -> Diagram:
    """The diagram over the labels of all spaces, one after another: a label of another space is a dead end."""
    offsets = offsets_of(spaces)
    of_position = {position: k for k, space in enumerate(spaces) for position in space.positions}
    layers = []
    for position, targets in zip(diagram.positions, diagram.targets, strict=True):
        k = of_position[position]
        apart = np.full((len(targets), offsets[-1]), DEAD)
        apart[:, offsets[k] : offsets[k + 1]] = targets[:, list(spaces[k].labels)]
        layers.append(apart)
    return Diagram(tuple(layers), diagram.weak_labels, diagram.order)
