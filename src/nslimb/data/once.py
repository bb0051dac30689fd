"""Weak samples in which every image is used once: the field's way of making MNIST-Add-N."""

from __future__ import annotations

from typing import Final

import numpy as np

from nslimb.arrays import FloatArray, IntArray
from nslimb.checks import check_count
from nslimb.data.classes import check_classes
from nslimb.data.samples import Gold, Samples
from nslimb.data.source import ImageSource
from nslimb.errors import DataError, InvalidInput
from nslimb.seeds import numpy_generator
from nslimb.sigma.component import Sigma

ONCE: Final = "once"  # as a configuration asks for it


def draw_once(source: ImageSource, sigma: Sigma, seed: int) -> tuple[Samples, Gold]:
    """All training images in random tuples of M, and all test images likewise; what is left over is not used.

    There are no validation samples: nothing can be chosen. The single test images are those of the test tuples.
    """
    check_classes(source.name, source.class_names, Sigma.check(sigma).class_names)
    check_count("seed", seed, least=0)
    if sigma.may_be_invalid(np.ones((sigma.arity, sigma.num_classes), dtype=bool)):
        expected = "a weak label for every label vector, where each image is to be used once"
        raise InvalidInput("sigma", expected, f"{sigma!r}, which has invalid ones")
    train, test = (_in_tuples(source, sigma.arity, seed, part) for part in ("train", "test"))
    none = np.empty((0, sigma.arity), dtype=np.int64)
    samples = Samples(
        train=train,
        train_weak=sigma.apply(source.labels[train]),
        validation=none,
        validation_weak=sigma.apply(none),
        test=test.reshape(-1),
        test_tuples=test,
    )
    gold = Gold(
        train=source.labels[train],
        test=source.labels[test.reshape(-1)],
        ratios=_ratios(source.labels[train], sigma.num_classes),
        test_tuples=source.labels[test],
    )
    return samples, gold


def _in_tuples(source: ImageSource, size: int, seed: int, part: str) -> IntArray:
    """The images of a part in random order, as many whole tuples as there are: indices [n, size]."""
    members = np.flatnonzero(source.is_test == (part == "test"))
    number = len(members) // size
    if number == 0:
        raise DataError(f"samples: {source.name} has {len(members)} {part} images, not enough for a tuple of {size}")
    shuffled = numpy_generator(seed, ONCE, part).permutation(members)
    return np.asarray(shuffled[: number * size].reshape(number, size))


def _ratios(labels: IntArray, classes: int) -> FloatArray:
    return np.bincount(labels.reshape(-1), minlength=classes) / labels.size
