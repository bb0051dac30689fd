"""A folder of pictures, one sub-folder a class: what is in it, and its pixels."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from nslimb.data.source import Images
from nslimb.errors import DataError

if TYPE_CHECKING:
    from PIL import Image

_ENDINGS = (".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")


@dataclass(frozen=True)
class Pictures:
    """The pictures of one class, in one part of the split (None where the folder has no split)."""

    class_name: str
    is_test: bool | None
    files: tuple[Path, ...]


def list_pictures(folder: Path) -> list[Pictures]:
    """Every class with its files, sorted. Hidden files, and those that are no pictures by their ending, are left out.

    A ``train`` or ``test`` that itself holds folders is a part of the split, not a class; then both must be there with
    the same classes in them, and nothing else.
    """
    parts = {part: _subfolders(folder / part) for part in ("train", "test") if (folder / part).is_dir()}
    if not any(parts.values()):
        return [Pictures(name, None, files_below(folder / name)) for name in _subfolders(folder)]
    if _subfolders(folder) != ["test", "train"]:
        raise DataError(
            f"{folder}: expected the two folders train and test with one sub-folder a class in each, or one folder a "
            f"class, got {', '.join(_subfolders(folder))}"
        )
    if parts["train"] != parts["test"]:
        raise DataError(
            f"{folder}: expected the same classes in train and test, got {', '.join(parts['train']) or 'none'} in "
            f"train and {', '.join(parts['test']) or 'none'} in test"
        )
    return [
        Pictures(name, part == "test", files_below(folder / part / name))
        for part in ("train", "test")
        for name in parts[part]
    ]


def _subfolders(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def files_below(folder: Path) -> tuple[Path, ...]:
    """The pictures in a folder and in those below it, sorted, as torchvision's ImageFolder has it."""

    def refuse(error: OSError) -> None:
        raise error

    found = [
        Path(place) / name
        for place, _, names in os.walk(folder, onerror=refuse)
        for name in names
        if name.lower().endswith(_ENDINGS) and not name.startswith(".")
    ]
    return tuple(sorted(found, key=lambda file: file.relative_to(folder).as_posix()))


def read_pictures(folder: Path, files: Sequence[Path]) -> Images:
    """The pixels of all pictures: uint8 [N, H, W] if all are grey, else [N, H, W, 3].

    All must have one size. Grey ones among coloured ones become coloured. What is transparent shows white paper.
    Pictures that cannot be read are named, all of them at once.
    """
    images, broken, sizes = collect(files)
    if broken:
        listed = "".join(f"\n  {files[index].relative_to(folder)}: {reason}" for index, reason in broken.items())
        raise DataError(f"{folder}: {len(broken)} of {len(files):,} pictures cannot be read:{listed}")
    if images is None:
        shown = {size: file.relative_to(folder) for size, file in sizes.items()}
        raise DataError(f"{folder}: expected pictures of one size, got {told_sizes(shown)}")
    return images


class Collected(NamedTuple):
    """The pixels of pictures, where all can be read and have one size."""

    images: Images | None
    broken: dict[int, str]  # why a picture cannot be read, by its place in the list
    sizes: dict[tuple[int, ...], Path]  # each height and width that was met, with the first such picture


def collect(files: Sequence[Path], size: int | None = None) -> Collected:
    """The pixels of all pictures, brought to ``size`` x ``size`` where that is given; with all that is wrong."""
    images: Images | None = None
    broken: dict[int, str] = {}
    sizes: dict[tuple[int, ...], Path] = {}
    for index, file in enumerate(files):
        try:
            picture = _read(file, size)
        except MemoryError:
            raise
        except FileNotFoundError:
            broken[index] = "is not there"
            continue
        except Exception as error:  # Pillow has no one kind of error for broken files
            broken[index] = (str(error).strip() or type(error).__name__).splitlines()[0]
            continue
        sizes.setdefault(picture.shape[:2], file)
        if broken or len(sizes) > 1:
            continue  # the rest is read for its faults alone
        if images is None:
            images = np.empty((len(files), *picture.shape), dtype=np.uint8)
        elif picture.ndim == images.ndim:
            images = np.repeat(images[..., None], 3, axis=3)
        images[index] = picture if picture.ndim == images.ndim - 1 else picture[..., None]
    return Collected(None if broken or len(sizes) > 1 else images, broken, sizes)


def told_sizes(sizes: Mapping[tuple[int, ...], Path]) -> str:
    """Two of the sizes, each with a picture that has it."""
    two = list(sizes.items())[:2]
    return " and ".join(f"{width} x {height} ({file})" for (height, width), file in two) or "no pictures"


def _read(file: Path, size: int | None = None) -> Images:
    """One picture, uint8 [H, W] or [H, W, 3]; stretched to ``size`` x ``size`` where that is given."""
    from PIL import Image

    with Image.open(file) as stored:
        picture = stored if size is None else _resized(stored, size)
        if picture.mode.startswith(("I", "F")):
            raise ValueError(f"expected 8 bits a channel, got a picture of mode {picture.mode}")
        if picture.mode.upper().endswith("A") or "transparency" in picture.info:
            opaque = picture.convert("RGBA")
            paper = Image.new("RGBA", picture.size, "white")
            pixels = np.asarray(Image.alpha_composite(paper, opaque).convert("RGB"))
        elif picture.mode in ("1", "L"):
            return np.asarray(picture.convert("L"))
        else:
            pixels = np.asarray(picture.convert("RGB"))
        # The mode does not tell whether these have colours.
        mixed = picture.mode.startswith(("L", "P")) and bool((pixels == pixels[..., :1]).all())
        return pixels[..., 0] if mixed else pixels


def _resized(picture: Image.Image, size: int) -> Image.Image:
    """The picture in a mode whose values can be averaged, stretched to size x size."""
    if picture.size == (size, size):
        return picture
    modes = {"1": "L", "P": "RGBA" if "transparency" in picture.info else "RGB", "PA": "RGBA"}
    return picture.convert(modes.get(picture.mode, picture.mode)).resize((size, size), resample=2)  # bilinear
