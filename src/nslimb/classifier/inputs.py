"""What a user hands to a classifier, checked before anything is learned from it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import IntArray
from nslimb.data.batches import Images, channels_last
from nslimb.data.pixels import check_unit_range
from nslimb.data.samples import Samples
from nslimb.data.splitting import hold_out
from nslimb.data.weak_csv import HELD_OUT, read_files
from nslimb.errors import InvalidInput
from nslimb.learning.inputs import check_tuples
from nslimb.sigma.component import Sigma

_NO_TEST: IntArray = np.empty(0, dtype=np.int64)


def as_images(
    images: Any, normalisation: str = "auto", size: int | None = None, shape: tuple[int, ...] | None = None
) -> Images:
    """Images [N, H, W] or [N, H, W, 3] as an array of uint8 or of floats in [0, 1], or a data set as it is.

    Arrays and tensors of either order of channels are taken. Whole numbers go from 0 to 255, floats from 0 to 1;
    with ``normalisation="none"`` floats may be anything. A list of file names is read, each picture brought to
    ``size`` x ``size`` where that is given, and to colour where ``shape`` has one.
    """
    if isinstance(images, (list, tuple)) and images and all(isinstance(name, (str, Path)) for name in images):
        pictures = read_files([Path(name) for name in images], size)
        in_colour = shape is not None and len(shape) == 3 and pictures.ndim == 3
        return np.repeat(pictures[..., None], 3, axis=3) if in_colour else pictures
    if not isinstance(images, (np.ndarray, Tensor)):
        is_dataset = hasattr(images, "__getitem__") and hasattr(images, "__len__")
        if not is_dataset or isinstance(images, (list, tuple, str)):
            expected = "an array or tensor of images, a list of picture files, or a torch Dataset"
            raise InvalidInput("images", expected, f"an object of type {type(images).__name__}")
        dataset: Images = images
        return dataset
    try:
        given = torch.from_numpy(images) if isinstance(images, np.ndarray) else images.detach().cpu()
    except TypeError as error:
        raise InvalidInput("images", "an array of numbers", f"dtype {images.dtype}") from error
    if len(given) == 0:
        raise InvalidInput("images", "at least one image", "none")
    pixels = channels_last(given)
    if normalisation != "none":
        if pixels.is_floating_point():
            check_unit_range(pixels)
        elif pixels.numel() and int(pixels.max()) == 1:
            expected = "whole numbers from 0 to 255; images of 0 and 1 as floats or bool"
            raise InvalidInput("images", expected, "whole numbers of which none is above 1")
    array: np.ndarray[Any, Any] = pixels.contiguous().numpy()
    return array


def as_weak(weak: Any, sigma: Sigma, number: int, argument: str = "weak") -> IntArray:
    """Weak labels by value, one for each of ``number`` samples, as the passes take them: [n], or [n, L]."""
    try:
        found: IntArray = sigma.encode(weak).numpy()
    except InvalidInput as error:
        raise InvalidInput(argument, f"{error.expected}, by value", error.given) from None
    if len(found) != number:
        raise InvalidInput(argument, f"a weak label for each of the {number} tuples", len(found))
    return found


def as_samples(images: Images, tuples: Any, weak: Any, validation: Any, sigma: Sigma, seed: int) -> Samples:
    """Weak samples, with those for validation that are given as a pair, or a tenth that is set aside."""
    if isinstance(tuples, Samples):
        if weak is not None or validation is not None:
            raise InvalidInput("weak, validation", "none beside Samples, which have their own", "one of them")
        if len(tuples.validation) == 0:
            raise InvalidInput("samples", "at least one validation sample", "none")
        return tuples
    if weak is None:
        raise InvalidInput("weak", "the weak label of each tuple", "none")
    rows = check_tuples("tuples", tuples, sigma.arity, len(images))
    values = as_weak(weak, sigma, len(rows))
    if validation is None:
        train, held = hold_out(rows, HELD_OUT, seed)
        return Samples(rows[train], values[train], rows[held], values[held], _NO_TEST)
    if not isinstance(validation, (tuple, list)) or len(validation) != 2:
        raise InvalidInput("validation", "a pair of tuples and weak labels", type(validation).__name__)
    others = check_tuples("validation tuples", validation[0], sigma.arity, len(images))
    if len(others) == 0:
        raise InvalidInput("validation", "at least one sample", "none")
    return Samples(rows, values, others, as_weak(validation[1], sigma, len(others), "validation weak labels"), _NO_TEST)


def as_labels(labels: Any, classes: Sequence[Any], number: int) -> IntArray:
    """Gold labels of images, as predictions have them, as class numbers [n]."""
    index = {label: place for place, label in enumerate(classes)}
    listed = labels.tolist() if isinstance(labels, (Tensor, np.ndarray)) else list(labels)
    shown = ", ".join(map(repr, list(classes)[:10])) + (", ..." if len(classes) > 10 else "")
    expected = f"a class for each of the {number} images ({shown})"
    if len(listed) != number:
        raise InvalidInput("labels", expected, len(listed))
    unknown = [label for label in listed if isinstance(label, list) or label not in index]
    if unknown:
        raise InvalidInput("labels", expected, repr(unknown[0]))
    return np.array([index[label] for label in listed], dtype=np.int64)
