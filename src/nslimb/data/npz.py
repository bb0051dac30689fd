"""Images in an npz file."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nslimb.arrays import BoolArray
from nslimb.errors import DataError


def read_npz(path: Path, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, NDArray[Any]]:
    """Arrays of an npz file by name; nothing in it is unpickled."""
    try:
        with path.open("rb") as stream:
            stored = np.load(stream, allow_pickle=False)
            if not isinstance(stored, np.lib.npyio.NpzFile):
                raise ValueError("a single array")
            return {name: stored[name] for name in (*required, *(name for name in optional if name in stored))}
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise DataError(f"{path} is no npz file with {', '.join(required)} ({error})") from error


def read_split(path: Path, split: NDArray[Any], number: int) -> BoolArray:
    """Which of ``number`` images are for testing, from an array of the words train and test."""
    words = as_text(split)
    if words is None or words.shape != (number,) or not np.isin(words, ("train", "test")).all():
        given = f"{split.dtype} {list(split.shape)}"
        if words is not None and words.shape == (number,):
            given = ", ".join(map(repr, np.unique(words)[:10].tolist()))
        raise DataError(f"{path}: expected a split of {number:,} words, each 'train' or 'test', got {given}")
    return np.asarray(words == "test")


def as_text(values: NDArray[Any]) -> NDArray[np.str_] | None:
    """An array of text, from text or bytes; None for anything else."""
    if values.dtype.kind == "S":
        return np.char.decode(values, "utf-8", "replace")
    return values if values.dtype.kind == "U" else None
