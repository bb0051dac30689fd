"""Images that a network learns in a few epochs, and weak samples of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nslimb import Sigma


class Bars(NamedTuple):
    images: np.ndarray  # uint8 [N, size, size] or [N, size, size, 3]
    labels: np.ndarray
    tuples: np.ndarray  # [n, 2], no image twice
    weak: list[int]


SIGMA = Sigma.from_function(max, num_classes=3, arity=2)


def bars(number: int = 120, size: int = 16, colour: bool = False) -> Bars:
    """A noisy bar whose place tells the class, three of them; weak labels are maxima of two."""
    rng = np.random.default_rng(0)
    labels = rng.integers(3, size=2 * number)
    images = rng.integers(60, size=(len(labels), size, size, *((3,) if colour else ())), dtype=np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[1 + size // 3 * label : size // 3 * (label + 1)] += 150
    tuples = np.arange(2 * number).reshape(number, 2)
    return Bars(images, labels, tuples, labels[tuples].max(axis=1).tolist())
