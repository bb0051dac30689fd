"""Accuracy by space of labels: images of a space told from others of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nslimb.arrays import IntArray
from nslimb.sigma.spaces import Space


def accuracy_by_space(scores: Any, labels: IntArray, spaces: Sequence[Space]) -> dict[str, float] | None:
    """The share of images [n] of each space whose label has the highest of the scores [n, c] of that space.

    None where there is one space, or where a label is of several; spaces without an image are left out.

    Examples
    --------
    >>> spaces = [Space("digit", (0, 1), ("0", "1"), (0,)), Space("sign", (2, 3), ("+", "-"), (1,))]
    >>> accuracy_by_space([[0.3, 0.1, 0.6, 0.0], [0.0, 0.9, 0.1, 0.0]], np.array([0, 2]), spaces)
    {'digit': 1.0, 'sign': 1.0}
    """
    every = [label for space in spaces for label in space.labels]
    if len(spaces) == 1 or len(set(every)) < len(every):
        return None
    table, found = np.asarray(scores), {}
    for space in spaces:
        of_it = np.isin(labels, space.labels)
        if of_it.any():
            told = np.array(space.labels)[table[of_it][:, list(space.labels)].argmax(axis=1)]
            found[space.name] = float(np.mean(told == labels[of_it]))
    return found
