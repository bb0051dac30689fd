"""Tuples of images whose labels have a weak label: of one sigma, of a family, or out of listed label vectors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nslimb.arrays import BoolArray, IntArray
from nslimb.errors import DataError
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD
from nslimb.sigma.families import Family
from nslimb.sigma.support import Support

_TRIES = 1000


class Drawn(NamedTuple):
    """Tuples of images and the weak labels of their labels."""

    tuples: IntArray  # [n, M] image indices, -1 at positions that a sample's member lacks
    weak: IntArray  # [n], or sequences [n, L]


def draw(
    labels: IntArray, sigma: Sigma, rng: np.random.Generator, pool: IntArray, number: int, support: Support | None
) -> Drawn:
    """``number`` tuples of images of the pool, with replacement; ``labels`` are those of all images.

    Position i draws from the images whose label sigma accepts there, and tuples without a weak label are drawn again;
    each sample of a family has a member drawn uniformly. With a ``support`` label vectors are drawn from it, and then
    an image for each label.
    """
    if support is not None:
        return _from_support(labels, sigma, rng, pool, number, support)
    members = rng.integers(len(sigma.members), size=number) if isinstance(sigma, Family) else None
    tuples = np.empty((number, sigma.arity), dtype=np.int64)
    choices = [pool[accepted[labels[pool]]] for accepted in sigma.accepted]
    if min(map(len, choices)) == 0:
        raise DataError("samples: no image of the pool has a label that sigma accepts at some position")
    wanting = np.arange(number)
    for _ in range(_TRIES):
        for position, choice in enumerate(choices):
            tuples[wanting, position] = rng.choice(choice, size=len(wanting))
        found = _apply(sigma, labels[tuples[wanting]], None if members is None else members[wanting])
        wanting = wanting[(found == DEAD).reshape(len(found), -1).any(axis=1)]
        if len(wanting) == 0:
            return Drawn(_cut(tuples, sigma, members), _apply(sigma, labels[tuples], members))
    raise DataError("samples: sigma accepts hardly any of the label vectors that the images give")


def labels_of(labels: IntArray, tuples: IntArray) -> IntArray:
    """The labels of image indices; -1 for -1."""
    return np.where(tuples >= 0, labels[tuples], -1)


def candidate_sets(weak: IntArray, size: int, ambiguity: float, rng: np.random.Generator) -> BoolArray:
    """Sets [n, size] that hold the weak label itself, and each other one with probability ``ambiguity``."""
    sets = rng.random((len(weak), size)) < ambiguity
    sets[np.arange(len(weak)), weak] = True
    return sets


def _from_support(
    labels: IntArray, sigma: Sigma, rng: np.random.Generator, pool: IntArray, number: int, support: Support
) -> Drawn:
    chosen = support.vectors[rng.choice(len(support.vectors), size=number, p=support.probabilities)]
    tuples = np.empty(chosen.shape, dtype=np.int64)
    for label in np.unique(support.vectors):
        images, wanted = pool[labels[pool] == label], chosen == label
        if len(images) == 0:
            raise DataError(f"samples: the support has class {label}, of which the pool has no image")
        tuples[wanted] = rng.choice(images, size=int(wanted.sum()))
    return Drawn(tuples, np.asarray(sigma.apply(chosen)))


def _apply(sigma: Sigma, vectors: IntArray, members: IntArray | None) -> IntArray:
    if members is None or not isinstance(sigma, Family):
        return np.asarray(sigma.apply(vectors))
    return np.asarray(sigma.apply(vectors, [sigma.members[i] for i in members.tolist()]))


def _cut(tuples: IntArray, sigma: Sigma, members: IntArray | None) -> IntArray:
    """-1 where a sample's member has no position."""
    if members is None or not isinstance(sigma, Family):
        return tuples
    lengths = np.array(sigma.lengths)[members]
    return np.where(np.arange(sigma.arity) < lengths[:, None], tuples, -1)
