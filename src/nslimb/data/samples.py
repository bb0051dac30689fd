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

from nslimb.arrays import BoolArray, FloatArray, IntArray, WeakArray
from nslimb.checks import check_count, check_share
from nslimb.data.classes import check_classes
from nslimb.data.drawing import Drawn, candidate_sets, draw, labels_of
from nslimb.data.source import Images, ImageSource
from nslimb.data.tails import thin
from nslimb.errors import BrokenFile, DataError, InvalidInput
from nslimb.files import written_aside
from nslimb.seeds import numpy_generator
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD
from nslimb.sigma.support import Support, read_support

VALIDATION_FROM = ("held-out", "drawn", "split")

_HELD_OUT = 0.1


def _none() -> IntArray:
    return np.empty((0, 0), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Samples:
    """What a learner may see: indices into the source's images, and weak labels."""

    train: IntArray  # [m, M], -1 at positions that a sample does not have (families)
    train_weak: WeakArray  # [m], sequences [m, L], or sets or log-weights [m, S]
    validation: IntArray  # [v, M], none where every image is used once
    validation_weak: WeakArray  # [v], or [v, L] or [v, S]
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
            is in both parts (``nslimb.data.splitting.hold_out``, with ``seed``).
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
    ambiguity: float = 0.0,
    support: Any = None,
) -> tuple[Samples, Gold]:
    """``number`` tuples drawn with replacement from long-tailed training images, and ``validation`` for choosing.

    Position i draws from the images whose label sigma accepts there (all of them for MAX; digits or operators for
    HWF); tuples without a weak label are drawn again. ``order`` lists the classes from rank 0 on, by number or by the
    source's names. The test images are thinned by the same profile; a tuple for every M of them is
    drawn in the same way, for adjustments that need to know the position of an image.

    ``validation_from="held-out"`` adds validation tuples of images that no training tuple uses: a tenth of the
    training images of each class is held out for them. ``"drawn"`` adds tuples of the same training images, as the
    paper's code does. ``"split"`` splits them off the ``number`` tuples, as the paper's text has it, so that
    ``number - validation`` are left for training.

    With ``noise`` e, each weak label, of training and of validation, is with probability e replaced by another one,
    drawn uniformly. With an ``ambiguity`` q weak labels are candidate sets, bool [m, S]: the weak label, and each other
    one with probability q (partial labels, where sigma is the identity).

    ``support`` lists the label vectors that occur, equally likely, or is a mapping {vector: probability}; only images
    of the classes in it are taken. Positions are then dependent: what rests on independent labels (Algorithm 1, risk
    bounds, the identifiable ceiling) does not hold. A family's samples have members drawn uniformly.

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
    noise, ambiguity
        The share of wrong weak labels; the probability of each other weak label to join a candidate set.
    support
        The label vectors that occur, where not all do.

    Returns
    -------
    tuple
        ``Samples``, which a learner may see, and ``Gold``, which it may not.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.
    """
    check_classes(source.name, source.class_names, Sigma.check(sigma, families=True).class_names)
    check_count("number", number)
    check_count("seed", seed, least=0)
    check_count("validation", validation)
    if validation_from not in VALIDATION_FROM:
        raise InvalidInput("validation_from", f"one of {', '.join(VALIDATION_FROM)}", repr(validation_from))
    check_share("noise", noise)
    allowed = "a probability from 0 to below 1, and 0 for a family"
    if check_share("ambiguity", ambiguity, allowed) and sigma.is_family:
        raise InvalidInput("ambiguity", allowed, ambiguity)
    known = None if support is None else _occurring(support, sigma)
    pools = _pools(source, seed, rho, reverse, order)
    if known is not None:
        pools = {part: pool[np.isin(source.labels[pool], known.vectors)] for part, pool in pools.items()}
    drawn = partial(_draw, source.labels, sigma, seed, known)
    if validation_from == "split":
        if validation >= number:
            raise InvalidInput("validation", f"fewer than the {number} samples it is split off", validation)
        both = drawn("train", pools["train"], number)
        halves = [np.split(part, [number - validation]) for part in both]
        train, validate = (Drawn(*parts) for parts in zip(*halves, strict=True))
    elif validation_from == "drawn":
        train, validate = drawn("train", pools["train"], number), drawn("validation", pools["train"], validation)
    else:
        pool, held_out = _hold_out(pools["train"], source.labels, numpy_generator(seed, "held out"))
        train, validate = drawn("train", pool, number), drawn("validation", held_out, validation)
    tuples = drawn("test", pools["test"], -(-len(pools["test"]) // sigma.arity)).tuples
    observe = partial(_observe, sigma, noise, ambiguity, seed)
    samples = Samples(
        train=train.tuples,
        train_weak=observe("train", train.weak),
        validation=validate.tuples,
        validation_weak=observe("validation", validate.weak),
        test=pools["test"],
        test_tuples=tuples,
    )
    gold = Gold(
        train=labels_of(source.labels, train.tuples),
        test=source.labels[pools["test"]],
        ratios=_pool_ratios(source.labels[pools["train"]], sigma, known),
        test_tuples=labels_of(source.labels, tuples),
    )
    return samples, gold


def _occurring(support: Any, sigma: Sigma) -> Support:
    """The label vectors that occur, all of them with a weak label."""
    if sigma.is_family:
        raise InvalidInput("support", "none for a family", "label vectors")
    known = read_support(support, sigma.arity, sigma.num_classes)
    invalid = np.flatnonzero(np.asarray(sigma.apply(known.vectors)) == DEAD)
    if len(invalid):
        given = f"{tuple(known.vectors[invalid[0]].tolist())}, which has none"
        raise InvalidInput("support", "label vectors with a weak label", given)
    return known


def _observe(
    sigma: Sigma, noise: float, ambiguity: float, seed: int, part: str, weak: IntArray
) -> IntArray | BoolArray:
    """Weak labels [m] as they are observed: a share ``noise`` of them wrong, and perhaps among others in a set."""
    number = len(sigma.weak_labels) if noise or ambiguity else 0
    if noise:
        if number == 1 or sigma.is_family:
            raise InvalidInput("noise", "0 for a family, and where there is one weak label only", noise)
        rng = numpy_generator(seed, "noise", part)
        wrong = rng.random(len(weak)) < noise
        weak = np.where(wrong, (weak + rng.integers(1, number, size=len(weak))) % number, weak)
    return candidate_sets(weak, number, ambiguity, numpy_generator(seed, "sets", part)) if ambiguity else weak


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


def _draw(
    labels: IntArray, sigma: Sigma, seed: int, support: Support | None, part: str, pool: IntArray, number: int
) -> Drawn:
    return draw(labels, sigma, numpy_generator(seed, "samples", part), pool, number, support)


def _pool_ratios(labels: IntArray, sigma: Sigma, support: Support | None) -> FloatArray:
    if support is None:
        counts = np.bincount(labels, minlength=sigma.num_classes) * sigma.accepted
        ratios = counts / counts.sum(axis=1, keepdims=True)
    else:
        ratios = support.ratios(sigma.num_classes)
    return np.asarray(ratios[0] if np.abs(ratios - ratios[0]).max() < 1e-12 else ratios)


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
