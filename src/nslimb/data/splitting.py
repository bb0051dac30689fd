"""Validation samples out of tuples of images, so that no image is in both parts."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from nslimb.arrays import BoolArray, IntArray
from nslimb.errors import InvalidInput
from nslimb.seeds import numpy_generator


def hold_out(tuples: IntArray, share: float, seed: int) -> tuple[IntArray, IntArray]:
    """Rows for training and for validation, of tuples of image indices [n, M]: no image is in a row of both.

    ``share`` of the rows are for validation. Rows that share images stay together; where too many hang together for
    that, training does without the rows that have images of both parts. Validation then stops to grow once as many
    rows as ``share`` are lost, and so may be smaller. Where half of the rows would be lost, it is refused.

    Examples
    --------
    >>> train, validation = hold_out(np.arange(60).reshape(20, 3), 0.1, seed=1)
    >>> len(train), len(validation)
    (18, 2)
    """
    number = len(tuples)
    wanted = max(1, round(share * number))
    if number < 2:
        raise InvalidInput("tuples", "at least two samples, one of them for validation", number)
    rng = numpy_generator(seed, "held out rows")
    chosen = _whole_groups(tuples, wanted, rng)
    if not chosen.any():
        chosen = _grown(tuples, wanted, rng)
    held = np.isin(tuples, tuples[chosen])
    validation, train = held.all(axis=1), ~held.any(axis=1)
    if 2 * int(train.sum()) < number:
        expected = "samples that share few images, or validation samples of your own"
        lost = f"{number} of which {int(train.sum())} have no image of the held-out ones"
        raise InvalidInput("tuples", expected, lost)
    return np.flatnonzero(train), np.flatnonzero(validation)


def _whole_groups(tuples: IntArray, wanted: int, rng: np.random.Generator) -> BoolArray:
    """Rows of whole groups that share images, at most ``wanted``; none where that would be less than half of it."""
    number, arity = tuples.shape
    images, place = np.unique(tuples, return_inverse=True)
    rows = np.repeat(np.arange(number), arity)
    edges = csr_array((np.ones(rows.size), (rows, number + place.reshape(-1))), shape=(number + len(images),) * 2)
    found = connected_components(edges, directed=False)[1][:number]
    _, group, sizes = np.unique(found, return_inverse=True, return_counts=True)
    order = rng.permutation(len(sizes))
    taken: list[int] = []
    room = wanted
    for candidate in order.tolist():
        if sizes[candidate] <= room:
            taken.append(candidate)
            room -= int(sizes[candidate])
    chosen = np.isin(group.reshape(-1), taken)
    return chosen if 2 * int(chosen.sum()) >= wanted else np.zeros(number, dtype=bool)


def _grown(tuples: IntArray, wanted: int, rng: np.random.Generator) -> BoolArray:
    """Rows one by one at random, until ``wanted`` are held out or as many are lost; at least one row."""
    number, arity = tuples.shape
    images, place = np.unique(tuples, return_inverse=True)
    place = place.reshape(number, arity)
    rows_of = np.argsort(place, axis=None, kind="stable") // arity  # image by image
    ends = np.cumsum(np.bincount(place.reshape(-1), minlength=len(images)))
    held = np.zeros(len(images), dtype=bool)
    inside = np.zeros(number, dtype=np.int64)  # positions of each row whose image is held out
    for row in rng.permutation(number).tolist():
        new = np.unique(place[row][~held[place[row]]])
        after = inside.copy()
        for image in new.tolist():
            np.add.at(after, rows_of[ends[image - 1] if image else 0 : ends[image]], 1)
        if held.any() and int((after > 0).sum()) > 2 * wanted:
            break
        held[new], inside = True, after
        if int((inside == arity).sum()) >= wanted:
            break
    return np.asarray(inside == arity)
