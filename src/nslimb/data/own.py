"""Image sources of one's own: a folder with one sub-folder a class, or an npz file."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nslimb.arrays import BoolArray, IntArray
from nslimb.data.classes import arrange, sort_names
from nslimb.data.npz import as_text, read_npz, read_split
from nslimb.data.pictures import list_pictures, read_pictures
from nslimb.data.source import Images, ImageSource, split_classes
from nslimb.errors import DataError
from nslimb.files import digest

_LICENCE = "not stated"


def own_folder(folder: Path, name: str, class_names: Sequence[str] | None) -> ImageSource:
    """Pictures in one sub-folder a class, or in ``train`` and ``test`` with one sub-folder a class in each."""
    groups = list_pictures(folder)
    found = sort_names({group.class_name for group in groups})
    if not found:
        raise DataError(f"{folder}: expected a folder with one sub-folder a class, got no sub-folder")
    empty = [f"{group.class_name}{_part(group.is_test)}" for group in groups if not group.files]
    if empty:
        raise DataError(f"{folder}: expected pictures in every class, got none for {', '.join(empty)}")
    names, place = arrange(name, found, class_names)
    sizes = [len(group.files) for group in groups]
    numbers = np.repeat([found.index(group.class_name) for group in groups], sizes)
    given = np.repeat([group.is_test is True for group in groups], sizes) if groups[0].is_test is not None else None
    is_test = _split(folder, numbers, found, given)
    images = read_pictures(folder, [file for group in groups for file in group.files])  # last, for it takes longest
    return ImageSource(name, images, place[numbers], is_test, names, _LICENCE, f"the folder {folder.name}")


def own_npz(path: Path, name: str, class_names: Sequence[str] | None) -> ImageSource:
    """``images`` and ``labels``, and perhaps ``split`` and ``class_names``, of an npz file."""
    arrays = read_npz(path, ("images", "labels"), ("split", "class_names"))
    images = _check_images(path, arrays["images"])
    found, numbers = _read_labels(path, arrays["labels"], len(images), arrays.get("class_names"))
    names, place = arrange(name, found, class_names)
    given = read_split(path, arrays["split"], len(images)) if "split" in arrays else None
    is_test = _split(path, numbers, found, given)
    return ImageSource(name, images, place[numbers], is_test, names, _LICENCE, f"the file {path.name}")


def own_digest(path: Path) -> str:
    """Of a file its sha256; of a folder the sha256 of its pictures' names, sizes and times of change."""
    if path.is_dir():
        files = [file for group in list_pictures(path) for file in group.files]
        stats = ((file.relative_to(path).as_posix(), file.stat()) for file in files)
        return digest(*(f"{name}\0{stat.st_size}\0{stat.st_mtime_ns}\n".encode() for name, stat in stats))
    state = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(1 << 20):
            state.update(block)
    return state.hexdigest()


def _check_images(path: Path, images: NDArray[Any]) -> Images:
    shaped = images.ndim == 3 or (images.ndim == 4 and images.shape[3] == 3)
    if images.dtype != np.uint8 or not shaped or images.size == 0:
        raise DataError(
            f"{path}: expected uint8 images [N, H, W] or [N, H, W, 3], got {images.dtype} {list(images.shape)}"
        )
    return images


def _read_labels(
    path: Path, labels: NDArray[Any], number: int, listed: NDArray[Any] | None
) -> tuple[tuple[str, ...], IntArray]:
    """The names of the classes, and the number of each image's class among them.

    Whole numbers are indices into the file's ``class_names``; where it has none, they are names like any other.
    """
    if labels.shape != (number,) or labels.dtype.kind not in "iuUS":
        raise DataError(
            f"{path}: expected {number:,} labels, whole numbers or names, got {labels.dtype} {list(labels.shape)}"
        )
    words = as_text(labels)
    if listed is None:
        words = labels.astype(str) if words is None else words
        found = sort_names(np.unique(words).tolist())
    else:
        listed_words = as_text(listed)
        if listed_words is None or listed_words.ndim != 1 or len(np.unique(listed_words)) != len(listed_words):
            raise DataError(f"{path}: expected distinct class_names, got {listed.tolist()}")
        found = tuple(listed_words.tolist())
    if words is None:
        if labels.min() < 0 or labels.max() >= len(found):
            raise DataError(
                f"{path}: expected labels from 0 to {len(found) - 1}, indices into class_names, got labels from "
                f"{labels.min()} to {labels.max()}"
            )
        return found, labels.astype(np.int64)
    index = {name: k for k, name in enumerate(found)}
    distinct, inverse = np.unique(words, return_inverse=True)
    unknown = [name for name in distinct.tolist() if name not in index]
    if unknown:
        raise DataError(f"{path}: expected labels among class_names ({', '.join(found)}), got {', '.join(unknown)}")
    return found, np.array([index[name] for name in distinct.tolist()], dtype=np.int64)[inverse]


def _split(path: Path, labels: IntArray, names: Sequence[str], given: BoolArray | None) -> BoolArray:
    """The split that is given, else 30 % of each class for testing; each class must have an image in both parts.

    ``names`` are the source's own, not sigma's: the split is the same whatever sigma it is used with.
    """
    is_test = split_classes(labels, [f"own/{name}" for name in names]) if given is None else given
    lacking = []
    for part in (False, True):
        counts = np.bincount(labels[is_test == part], minlength=len(names))
        lacking += [f"{names[k]}{_part(part)}" for k in np.flatnonzero(counts == 0).tolist()]
    if lacking:
        raise DataError(
            f"{path}: expected at least 2 images of every class, 1 for training and 1 for testing, got none for "
            f"{', '.join(lacking)}"
        )
    return is_test


def _part(is_test: bool | None) -> str:
    return "" if is_test is None else f" ({'test' if is_test else 'train'})"
