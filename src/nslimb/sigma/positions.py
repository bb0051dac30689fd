"""What ``Sigma.from_expression`` is told about its positions: their classes, and the order of reading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from nslimb.checks import check_count
from nslimb.errors import InvalidInput
from nslimb.sigma.diagram import check_order


class Positions(NamedTuple):
    """The classes of each position, and the order in which positions are read."""

    sizes: tuple[int, ...]  # number of labels of each position
    names: tuple[tuple[str, ...] | None, ...]  # of the labels, where they are given
    order: tuple[int, ...] | None  # order[k] is the position read at step k; None: position k

    @property
    def reading(self) -> tuple[int, ...]:
        """The position read at each step."""
        return tuple(range(len(self.sizes))) if self.order is None else self.order

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """Names of all classes, where every position has names and they do not contradict each other."""
        longest = max(self.names, key=lambda names: len(names or ()))
        if longest is None or any(names is None or names != longest[: len(names)] for names in self.names):
            return None
        return longest


def read_positions(classes: Any, order: Any) -> Positions:
    """Class counts or names by position, and the order of reading, checked."""
    expected = "one entry for each position, a number of classes or a list of their names"
    if isinstance(classes, str) or not isinstance(classes, Sequence) or not classes:
        raise InvalidInput("classes", expected, repr(classes))
    names = tuple(_names(f"classes[{i}]", entry) for i, entry in enumerate(classes))
    sizes = tuple(
        check_count(f"classes[{i}]", entry) if known is None else len(known)
        for i, (entry, known) in enumerate(zip(classes, names, strict=True))
    )
    return Positions(sizes, names, check_order(order, len(sizes)))


def _names(argument: str, entry: Any) -> tuple[str, ...] | None:
    """The names of one position's classes, or None where only their number is given."""
    if isinstance(entry, str) or not isinstance(entry, Sequence):
        return None
    names = tuple(entry)
    if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise InvalidInput(argument, "a number of classes or a list of distinct names", repr(entry))
    return names
