"""Image sources: one uint8 array, labels, a split, and where they come from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nslimb.arrays import BoolArray, IntArray
from nslimb.errors import BrokenFile, DataError
from nslimb.files import digest, folder_aside
from nslimb.seeds import numpy_generator

Images = NDArray[np.uint8]

_TEST_SHARE = 0.3


@dataclass(frozen=True, eq=False)
class ImageSource:
    """Images [N, H, W] or [N, H, W, 3] with their labels, class names and split; images may be memory-mapped.

    ``normalisation`` is how their values are scaled for a network, see ``nslimb.data.pixels.normalise``.
    """

    name: str
    images: Images
    labels: IntArray
    is_test: BoolArray
    class_names: tuple[str, ...]
    licence: str
    origin: str
    normalisation: str = "half"

    @property
    def num_classes(self) -> int:
        return len(self.class_names)

    def checksum(self) -> str:
        """sha256 over pixels, labels and split."""
        return content_checksum(self.images, self.labels, self.is_test)


def content_checksum(images: Images, labels: IntArray, is_test: BoolArray) -> str:
    """sha256 over pixels, labels and split."""
    parts = (images, labels.astype("<i8"), is_test.astype(np.uint8))
    return digest(*(np.ascontiguousarray(part).data for part in parts))


def split_classes(labels: IntArray, purposes: Sequence[str]) -> BoolArray:
    """Which images are for testing where their source does not say: 30 % of each class.

    The choice depends on nothing but the number of images in a class and its purpose, a name for the draw.
    """
    is_test = np.zeros(len(labels), dtype=bool)
    for label, purpose in enumerate(purposes):
        members = np.flatnonzero(labels == label)
        order = numpy_generator(0, "split", purpose).permutation(len(members))
        is_test[members[order[: round(_TEST_SHARE * len(members))]]] = True
    return is_test


def store(source: ImageSource, folder: Path) -> None:
    """Write a source to ``folder`` as arrays and a description, whole or not at all."""
    description = {
        "name": source.name,
        "class_names": list(source.class_names),
        "licence": source.licence,
        "origin": source.origin,
        "normalisation": source.normalisation,
        "checksum": source.checksum(),
    }
    with folder_aside(folder) as aside:
        np.save(aside / "images.npy", source.images, allow_pickle=False)
        np.save(aside / "labels.npy", source.labels, allow_pickle=False)
        np.save(aside / "is_test.npy", source.is_test, allow_pickle=False)
        (aside / "source.json").write_text(
            json.dumps(description, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )


def open_stored(folder: Path) -> ImageSource:
    """Open what ``store`` wrote, images memory-mapped; a checksum that does not fit is refused."""
    remedy = "remove the folder and fetch the source again"
    try:
        described = json.loads((folder / "source.json").read_text(encoding="utf-8"))
        images = np.load(folder / "images.npy", mmap_mode="c", allow_pickle=False)
        labels = np.load(folder / "labels.npy", allow_pickle=False)
        is_test = np.load(folder / "is_test.npy", allow_pickle=False)
        source = ImageSource(
            name=described["name"],
            images=images,
            labels=labels,
            is_test=is_test,
            class_names=tuple(described["class_names"]),
            licence=described["licence"],
            origin=described["origin"],
            # Folders of earlier versions do not say it: there only CIFAR-10 had one of its own.
            normalisation=described.get("normalisation", "cifar10" if described["name"] == "cifar10" else "half"),
        )
        found = source.checksum()
    except (FileNotFoundError, ValueError, KeyError, TypeError, EOFError) as error:
        raise BrokenFile(folder, f"cannot be read ({error})", remedy) from error
    except OSError as error:  # of the machine, not of the files
        raise DataError(f"{folder}: cannot be opened ({error})") from error
    if found != described["checksum"]:
        raise BrokenFile(folder, f"expected checksum {described['checksum']}, got {found}", remedy)
    return source
