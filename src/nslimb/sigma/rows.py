"""Number the distinct rows of integer tables, without sorting rows as such."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nslimb.arrays import IntArray

_LARGEST_KEY = 2**62


def rank_rows(columns: Sequence[IntArray], bounds: Sequence[int]) -> tuple[IntArray, int]:
    """The rank of each row among the distinct rows in lexicographic order, and how many distinct rows there are.

    Column j holds integers from 0 to ``bounds[j]`` - 1. Columns are mixed into one key; where the next one would
    take it beyond 64 bits, both are ranked first. Ranks keep the order, so nothing is lost.

    Examples
    --------
    >>> ranks, distinct = rank_rows([np.array([1, 0, 1]), np.array([0, 2, 0])], [2, 3])
    >>> ranks.tolist(), distinct
    ([1, 0, 1], 2)
    """
    keys, bound = columns[0], bounds[0]
    for column, size in zip(columns[1:], bounds[1:], strict=True):
        if bound * size > _LARGEST_KEY:
            keys, bound = _rank(keys, bound)
            column, size = _rank(column, size)
        keys, bound = keys * size + column, bound * size
    return _rank(keys, bound)


def _rank(keys: IntArray, bound: int) -> tuple[IntArray, int]:
    if bound <= 8 * len(keys) + 64:  # a table of all possible keys is cheaper than sorting those that occur
        seen = np.zeros(bound, dtype=np.bool_)
        seen[keys] = True
        names = np.cumsum(seen) - 1
        return names[keys], int(seen.sum())
    unique, inverse = np.unique(keys, return_inverse=True)
    return inverse.reshape(-1), len(unique)
