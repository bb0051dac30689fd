"""What a trained classifier reads each class as, and whether that reading explains the weak labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.arrays import IntArray
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.sigma.families import Family
from nslimb.theory.contradictions import ProductSupport


def majority_reading(confusion: Any) -> IntArray | None:
    """The map [c] of each class to what at least half of its instances are taken for; None where some class has none.

    ``confusion`` [c, c] counts instances, true classes in rows. Classes without an instance are -1.

    Examples
    --------
    >>> majority_reading([[5, 1, 0], [0, 2, 2], [0, 0, 0]]).tolist()
    [0, 1, -1]
    """
    counts = np.asarray(confusion, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or not counts.min(initial=0) >= 0:
        raise InvalidInput("confusion", "counts of at least 0 of shape [c, c]", f"shape {list(counts.shape)}")
    total = counts.sum(axis=1)
    if (2 * counts.max(axis=1) < total).any():
        return None
    return np.where(total > 0, counts.argmax(axis=1), -1)


def learned_shortcut(sigma: Sigma, confusion: Any, labels: Any = None, weak: Any = None) -> IntArray | None:
    """The majority reading, where it is not the identity and yet explains every sample: a reasoning shortcut.

    ``labels`` [m, M] are the true labels of samples (-1 at positions that a sample does not have) and ``weak`` what was
    observed of them; classes that do not occur in them are -1 in the map. Without them the reading has to explain every
    label vector of the classes that ``confusion`` has instances of. None where the classifier is not on a shortcut.

    Examples
    --------
    >>> sums = Sigma.from_function(sum, num_classes=4, arity=2)
    >>> labels = np.array([[0, 3], [1, 2], [2, 1]])
    >>> reversed_reading = 10 * np.eye(4)[::-1]  # every y is read as 3 - y
    >>> learned_shortcut(sums, reversed_reading, labels, sums.apply(labels)).tolist()
    [3, 2, 1, 0]
    >>> learned_shortcut(sums, reversed_reading) is None  # (0, 0) would be read as (3, 3)
    True
    """
    every = np.arange(sigma.num_classes)
    counts, truth = np.asarray(confusion), np.asarray([] if labels is None else labels)
    if labels is not None:
        counts = np.where(np.isin(every, truth)[:, None], counts, 0)
    reading = majority_reading(counts)
    if reading is None or (reading == np.where(reading < 0, -1, every)).all():
        return None
    if labels is None:
        return None if _contradicted(sigma, reading) else reading
    read = np.where(truth >= 0, reading[truth], 0)
    if (reading[truth[truth >= 0]] < 0).any():  # a class that the confusion matrix says nothing about
        return None
    return reading if bool(np.all(sigma.explains(read, weak))) else None


def _contradicted(sigma: Sigma, reading: IntArray) -> bool:
    """Whether some label vector of the classes that are read has another weak label when it is read so, or has none."""
    members = [sigma.member(name) for name in sigma.members] if isinstance(sigma, Family) else [sigma.listed()]
    there = (reading >= 0) / (reading >= 0).sum()
    support = ProductSupport(members, np.tile(there, (sigma.arity, 1)))
    return not support.members or bool(support.some(reading[None], len(support.order))[0])
