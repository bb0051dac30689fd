"""Weak samples: tuples of image indices with nothing but sigma of their labels, and the gold labels kept apart."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nslimb.arrays import FloatArray, IntArray
from nslimb.checks import check_count
from nslimb.data.classes import check_classes
from nslimb.data.source import Images, ImageSource
from nslimb.data.tails import thin
from nslimb.errors import BrokenFile, DataError, InvalidInput
from nslimb.files import written_aside
from nslimb.seeds import numpy_generator
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD

VALIDATION_FROM = ("held-out", "split")

_HELD_OUT = 0.1


def _none() -> IntArray:
    return np.empty((0, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Samples:
    """What a learner may see: indices into the source's images, and weak labels."""

    train: IntArray  # [m, M]
    train_weak: IntArray  # [m], or sequences [m, L]
    validation: IntArray  # [v, M], none where every image is used once
    validation_weak: IntArray  # [v], or [v, L]
    test: IntArray  # [t], single images
    test_tuples: IntArray = field(default_factory=_none)  # [t', M], drawn from these like the training tuples

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        sigma: Sigma,
        columns: Sequence[str],
        weak: str = "weak",
        *,
        images: str | Path | None = None,
        validation: str | Path | None = None,
        size: int | None = None,
        seed: int = 1,
    ) -> OwnSamples:
        """One's own samples: a CSV file whose ``columns`` name pictures, and whose column ``weak`` holds weak labels.

        Parameters
        ----------
        path
            The CSV file; its first line names the columns.
        sigma
            What the weak labels are of; as many labels as there are columns.
        columns, weak
            The columns of the pictures' file names, and the one of the weak labels, written as Python prints them.
        images
            The folder of the pictures; that of the CSV file if not given.
        validation
            Another such file for the validation samples. Without, a tenth of the rows is set aside, so that no picture
            is in both parts (:func:`nslimb.data.splitting.hold_out`, with ``seed``).
        size
            Stretch every picture to size x size; without, all must have one size.

        Returns
        -------
        OwnSamples
            ``images`` (uint8), ``samples``, ``files``, the name of each image, and ``left_out``, the number of rows
            that are in neither part. There are no test images.

        Raises
        ------
        DataError
            For rows and pictures that cannot be used: all of them at once.
        """
        from nslimb.data.weak_csv import read_weak_csv

        return read_weak_csv(path, sigma, columns, weak, images, validation, size, seed)


class OwnSamples(NamedTuple):
    """Samples of one's own with the pictures that they are about."""

    images: Images  # uint8 [N, H, W] or [N, H, W, 3]
    samples: Samples
    files: tuple[str, ...]  # the pictures' names, as the file has them
    left_out: int  # rows that have pictures of both parts, and so are in neither


@dataclass(frozen=True, eq=False)
class Gold:
    """What a learner may not see: for metrics, and for methods that are named oracles."""

    train: IntArray  # [m, M] labels
    test: IntArray  # [t] labels
    ratios: FloatArray  # the label ratios of the pool, [c], or [M, c] where positions draw from different pools
    test_tuples: IntArray = field(default_factory=_none)  # [t', M] labels


def draw_samples(
    source: ImageSource,
    sigma: Sigma,
    number: int,
    seed: int,
    *,
    rho: float = 0.0,
    reverse: bool = False,
    order: Sequence[int | str] | None = None,
    validation: int = 256,
    validation_from: str = "held-out",
    noise: float = 0.0,
) -> tuple[Samples, Gold]:
    """``number`` tuples drawn with replacement from long-tailed training images, and ``validation`` for choosing.

    Position i draws from the images whose label sigma accepts there (all of them for MAX; digits or operators for
    HWF); tuples without a weak label are drawn again. ``order`` lists the classes from rank 0 on, by number or by the
    source's names. The test images are thinned by the same profile; a tuple for every M of them is
    drawn in the same way, for adjustments that need to know the position of an image.

    ``validation_from="held-out"`` adds validation tuples of images that no training tuple uses: a tenth of the
    training images of each class is held out for them. ``"split"`` splits them off the ``number`` tuples, as the paper
    has it, so that ``number - validation`` are left for training.

    With ``noise`` e, each weak label, of training and of validation, is with probability e replaced by another one,
    drawn uniformly.

    Parameters
    ----------
    source
        The images.
    sigma
        The symbolic component.
    number
        Training samples, m_P.
    seed
        Of every draw.
    rho, reverse, order
        The long tail: its length (0: none), whether the last class is the head, and the order of the classes.
    validation, validation_from
        How many validation samples, and where they come from.
    noise
        The share of wrong weak labels.

    Returns
    -------
    tuple
        ``Samples``, which a learner may see, and ``Gold``, which it may not.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.
    """
    check_classes(source.name, source.class_names, Sigma.check(sigma).class_names)
    check_count("number", number)
    check_count("seed", seed, least=0)
    check_count("validation", validation)
    if validation_from not in VALIDATION_FROM:
        raise InvalidInput("validation_from", f"one of {', '.join(VALIDATION_FROM)}", repr(validation_from))
    if not 0 <= noise < 1:
        raise InvalidInput("noise", "a share from 0 to below 1", noise)
    pools = _pools(source, seed, rho, reverse, order)
    draw = partial(_draw, source.labels, sigma, seed)
    if validation_from == "split":
        if validation >= number:
            raise InvalidInput("validation", f"fewer than the {number} samples it is split off", validation)
        train, validate = np.split(draw("train", pools["train"], number), [number - validation])
    else:
        pool, held_out = _hold_out(pools["train"], source.labels, numpy_generator(seed, "held out"))
        train, validate = draw("train", pool, number), draw("validation", held_out, validation)
    tuples = draw("test", pools["test"], -(-len(pools["test"]) // sigma.arity))
    samples = Samples(
        train=train,
        train_weak=_observe(source.labels[train], sigma, noise, numpy_generator(seed, "noise", "train")),
        validation=validate,
        validation_weak=_observe(source.labels[validate], sigma, noise, numpy_generator(seed, "noise", "validation")),
        test=pools["test"],
        test_tuples=tuples,
    )
    gold = Gold(
        train=source.labels[train],
        test=source.labels[pools["test"]],
        ratios=_pool_ratios(source.labels[pools["train"]], sigma),
        test_tuples=source.labels[tuples],
    )
    return samples, gold


def _observe(labels: IntArray, sigma: Sigma, noise: float, rng: np.random.Generator) -> IntArray:
    """The weak labels of label vectors [m, M], a share ``noise`` of them wrong."""
    weak: IntArray = sigma.apply(labels)
    if noise == 0:
        return weak
    number = len(sigma.weak_labels)
    if number == 1:
        raise InvalidInput("noise", "0 where there is one weak label only", noise)
    wrong = rng.random(len(weak)) < noise
    return np.where(wrong, (weak + rng.integers(1, number, size=len(weak))) % number, weak)


def _pools(
    source: ImageSource, seed: int, rho: float, reverse: bool, order: Sequence[int | str] | None
) -> dict[str, IntArray]:
    """The images to draw from, for training and for testing, each with the long tail."""
    ranked = None if order is None else _ranked(order, source.class_names)
    pools = {}
    for part, is_test in (("train", False), ("test", True)):
        members = np.flatnonzero(source.is_test == is_test)
        rng = numpy_generator(seed, "tail", part)
        pools[part] = members[thin(source.labels[members], source.num_classes, rho, rng, reverse, ranked)]
    return pools


def _ranked(order: Any, names: tuple[str, ...]) -> tuple[int, ...]:
    """An order of classes by number, from one by number or by name."""
    index: dict[Any, int] = {**{name: k for k, name in enumerate(names)}, **{k: k for k in range(len(names))}}
    listed = list(order) if isinstance(order, (Sequence, np.ndarray)) and not isinstance(order, str) else [order]
    known = [index[k] for k in listed if isinstance(k, (str, int, np.integer)) and k in index]
    if len(known) != len(listed) or sorted(known) != list(range(len(names))):
        raise InvalidInput("order", f"each of the classes once, by name or number: {', '.join(names)}", repr(order))
    return tuple(known)


def _hold_out(pool: IntArray, labels: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Split a pool: a tenth of each class, at least one image, goes to validation where the class has two or more."""
    held = np.zeros(len(pool), dtype=bool)
    for label in np.unique(labels[pool]):
        members = np.flatnonzero(labels[pool] == label)
        take = max(1, round(_HELD_OUT * len(members))) if len(members) > 1 else 0
        held[rng.permutation(members)[:take]] = True
    return pool[~held], pool[held]


def _draw(labels: IntArray, sigma: Sigma, seed: int, part: str, pool: IntArray, number: int) -> IntArray:
    rng = numpy_generator(seed, "samples", part)
    tuples = np.empty((number, sigma.arity), dtype=np.int64)
    choices = [pool[accepted[labels[pool]]] for accepted in sigma.accepted]
    if min(map(len, choices)) == 0:
        raise DataError("samples: no image of the pool has a label that sigma accepts at some position")
    wanting = np.arange(number)
    for _ in range(1000):
        for position, choice in enumerate(choices):
            tuples[wanting, position] = rng.choice(choice, size=len(wanting))
        invalid = (sigma.apply(labels[tuples[wanting]]) == DEAD).reshape(len(wanting), -1).any(axis=1)
        wanting = wanting[invalid]
        if len(wanting) == 0:
            return tuples
    raise DataError("samples: sigma accepts hardly any of the label vectors that the images give")


def _pool_ratios(labels: IntArray, sigma: Sigma) -> FloatArray:
    counts = np.bincount(labels, minlength=sigma.num_classes) * sigma.accepted
    ratios = counts / counts.sum(axis=1, keepdims=True)
    return np.asarray(ratios[0] if (ratios == ratios[0]).all() else ratios)


def save(arrays: Samples | Gold, path: Path) -> None:
    """Write as npz, whole or not at all; equal arrays give equal bytes."""
    with written_aside(path) as aside, aside.open("wb") as stream:
        np.savez(stream, **{part.name: getattr(arrays, part.name) for part in fields(arrays)})


def load_samples(path: Path) -> Samples:
    """Read what ``save`` wrote."""
    return Samples(**_read(path, Samples))


def load_gold(path: Path) -> Gold:
    """Read what ``save`` wrote."""
    return Gold(**_read(path, Gold))


def _read(path: Path, kind: type) -> dict[str, Any]:
    names = [part.name for part in fields(kind)]
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return {name: stored[name] for name in names}
    except OSError as error:  # of the machine, not of the file
        raise DataError(f"{path}: cannot be opened ({error})") from error
    except (ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise BrokenFile(
            path, f"expected an npz file with {', '.join(names)} ({error})", "remove it and draw the samples again"
        ) from error
