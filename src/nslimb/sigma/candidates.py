"""Label vectors listed for each sample, as an abduction engine gives them: a family with a member for each list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from torch import Tensor

from nslimb.arrays import IntArray
from nslimb.checks import as_integers, check_count, check_range
from nslimb.errors import InvalidInput, TooLarge
from nslimb.sigma.diagram import DEAD, finish_family
from nslimb.sigma.families import Family
from nslimb.sigma.rows import rank_rows

Vectors = tuple[tuple[int, ...], ...]
# States times classes of one layer, as in the compilation of a single sigma.
_MAX_EDGES = 50_000_000


class Candidates(Family):
    """A family whose members are lists of label vectors: True on the list, False elsewhere (``from_candidates``)."""

    def encode(self, values: Iterable[Any]) -> Tensor:
        """Indices of weak labels: each value is a sample's list of candidates, or a pair (member, True or False).

        Lists are the same where they have the same label vectors, in whatever order.
        """
        if isinstance(values, (str, Tensor, np.ndarray)) or not isinstance(values, Iterable):
            raise InvalidInput("values", "a sequence of lists of label vectors", repr(values))
        return super().encode([_as_pair(value, f"values[{i}]", self.num_classes) for i, value in enumerate(values)])


def compile_candidates(candidates: Any, num_classes: int, class_names: Sequence[str] | None) -> Candidates:
    """The family of all distinct lists, out of one tree of label vectors."""
    expected = "a list of label vectors for each sample, at least one sample"
    if isinstance(candidates, (str, Tensor)) or not isinstance(candidates, Iterable):
        raise InvalidInput("candidates", expected, repr(candidates))
    num_classes = check_count("num_classes", num_classes)
    lists = [_distinct(value, f"candidates[{i}]", num_classes) for i, value in enumerate(candidates)]
    if not lists:
        raise InvalidInput("candidates", expected, "none")
    members = list(dict.fromkeys(lists))
    lengths = [len(vectors[0]) for vectors in members]
    layers, last = _tree(members, np.array(lengths), num_classes)
    diagram, roots = finish_family(layers, last)
    return Candidates(diagram, roots, members, lengths, class_names)


def _as_pair(value: Any, argument: str, num_classes: int) -> tuple[Any, Any]:
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], (bool, np.bool_)):
        return value[0], bool(value[1])
    return _distinct(value, argument, num_classes), True


def _distinct(vectors: Any, argument: str, num_classes: int) -> Vectors:
    """A sample's candidates, sorted, each once: the name of its member."""
    expected = f"at least one label vector of integers 0 to {num_classes - 1}, all of the same length"
    table = as_integers(argument, list(vectors) if isinstance(vectors, (set, frozenset)) else vectors, expected)
    if table.dim() != 2 or 0 in table.shape:
        raise InvalidInput(argument, expected, f"shape {list(table.shape)}")
    check_range(argument, table, num_classes, expected)
    return tuple(sorted(set(map(tuple, table.tolist()))))


def _tree(members: Sequence[Vectors], lengths: IntArray, num_classes: int) -> tuple[list[IntArray], list[bool]]:
    """Layers whose states are the beginnings of label vectors, list by list, and one "elsewhere" for each length.

    Returns the targets of each layer, the first states in the order of ``members``, and the weak labels of the last.
    Past the end of a list's vectors label 0 keeps the state, and there is no other label.
    """
    arity = int(lengths.max())
    list_of = np.repeat(np.arange(len(members)), [len(vectors) for vectors in members])
    padded = [(*vector, *(0,) * (arity - len(vector))) for vectors in members for vector in vectors]
    table = np.array(padded, dtype=np.int64)
    known, kinds = np.unique(lengths, return_inverse=True)
    state = list_of
    elsewhere = np.zeros(0, dtype=np.int64)  # the lengths for which it can be reached
    layers: list[IntArray] = []
    for i in range(arity):
        begun = len(kinds)
        kinds = np.concatenate([kinds, elsewhere])
        if len(kinds) * num_classes > _MAX_EDGES:
            raise TooLarge(
                f"from_candidates: {begun} beginnings of label vectors after {i} of {arity} labels, times "
                f"{num_classes} classes, are more than {_MAX_EDGES} edges; compile the samples in parts"
            )
        following, number = rank_rows([state, table[:, i]], [begun, num_classes])
        targets = np.repeat((number + kinds)[:, None], num_classes, axis=1)
        targets[known[kinds] <= i, 1:] = DEAD
        targets[state, table[:, i]] = following
        reached = np.unique(targets[targets != DEAD])
        layers.append(np.where(targets == DEAD, DEAD, np.searchsorted(reached, targets)))
        elsewhere = reached[number:] - number
        kinds_after = np.empty(number, dtype=np.int64)
        kinds_after[following] = kinds[state]
        state, kinds = following, kinds_after
    return layers, [True] * len(kinds) + [False] * len(elsewhere)
