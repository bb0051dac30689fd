"""Weak samples: tuples of image indices with nothing but sigma of their labels, and the gold labels kept apart."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from nslimb.arrays import FloatArray, IntArray
from nslimb.checks import check_count
from nslimb.data.source import ImageSource
from nslimb.data.tails import thin
from nslimb.errors import BrokenFile, DataError, InvalidInput
from nslimb.files import written_aside
from nslimb.seeds import numpy_generator
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD

_HELD_OUT = 0.1


@dataclass(frozen=True, eq=False)
class Samples:
    """What a learner may see: indices into the source's images, and weak labels."""

    train: IntArray  # [m, M]
    train_weak: IntArray  # [m]
    validation: IntArray  # [v, M], of images that no training tuple uses
    validation_weak: IntArray  # [v]
    test: IntArray  # [t], single images


@dataclass(frozen=True, eq=False)
class Gold:
    """What a learner may not see: for metrics, and for methods that are named oracles."""

    train: IntArray  # [m, M] labels
    test: IntArray  # [t] labels
    ratios: FloatArray  # the label ratios of the pool, [c], or [M, c] where positions draw from different pools


def draw_samples(
    source: ImageSource,
    sigma: Sigma,
    number: int,
    seed: int,
    *,
    rho: float = 0.0,
    reverse: bool = False,
    order: tuple[int, ...] | None = None,
    validation: int = 256,
) -> tuple[Samples, Gold]:
    """``number`` tuples drawn with replacement from long-tailed training images, and ``validation`` from held-out ones.

    A tenth of the training images of each class is held out. Position i draws from the images whose label sigma
    accepts there (all of them for MAX; digits or operators for HWF); tuples without a weak label are drawn again. The
    test images are thinned by the same profile.
    """
    if source.num_classes != Sigma.check(sigma).num_classes:
        raise InvalidInput(
            "source", f"{sigma.num_classes} classes, as sigma has", f"{source.name} with {source.num_classes}"
        )
    check_count("number", number)
    check_count("seed", seed, least=0)
    check_count("validation", validation)
    pools = {}
    for part, is_test in (("train", False), ("test", True)):
        members = np.flatnonzero(source.is_test == is_test)
        rng = numpy_generator(seed, "tail", part)
        pools[part] = members[thin(source.labels[members], source.num_classes, rho, rng, reverse, order)]
    pool, held_out = _hold_out(pools["train"], source.labels, numpy_generator(seed, "held out"))
    train = _draw(source.labels, pool, sigma, number, numpy_generator(seed, "samples", "train"))
    validate = _draw(source.labels, held_out, sigma, validation, numpy_generator(seed, "samples", "validation"))
    samples = Samples(
        train=train,
        train_weak=sigma.apply(source.labels[train]),
        validation=validate,
        validation_weak=sigma.apply(source.labels[validate]),
        test=pools["test"],
    )
    gold = Gold(
        train=source.labels[train],
        test=source.labels[pools["test"]],
        ratios=_pool_ratios(source.labels[pools["train"]], sigma),
    )
    return samples, gold


def _hold_out(pool: IntArray, labels: IntArray, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Split a pool: a tenth of each class, at least one image, goes to validation where the class has two or more."""
    held = np.zeros(len(pool), dtype=bool)
    for label in np.unique(labels[pool]):
        members = np.flatnonzero(labels[pool] == label)
        take = max(1, round(_HELD_OUT * len(members))) if len(members) > 1 else 0
        held[rng.permutation(members)[:take]] = True
    return pool[~held], pool[held]


def _draw(labels: IntArray, pool: IntArray, sigma: Sigma, number: int, rng: np.random.Generator) -> IntArray:
    tuples = np.empty((number, sigma.arity), dtype=np.int64)
    choices = [pool[accepted[labels[pool]]] for accepted in sigma.accepted]
    if min(map(len, choices)) == 0:
        raise DataError("samples: no image of the pool has a label that sigma accepts at some position")
    wanting = np.arange(number)
    for _ in range(1000):
        for position, choice in enumerate(choices):
            tuples[wanting, position] = rng.choice(choice, size=len(wanting))
        wanting = wanting[sigma.apply(labels[tuples[wanting]]) == DEAD]
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
        np.savez(stream, **{field.name: getattr(arrays, field.name) for field in fields(arrays)})


def load_samples(path: Path) -> Samples:
    """Read what ``save`` wrote."""
    return Samples(**_read(path, Samples))


def load_gold(path: Path) -> Gold:
    """Read what ``save`` wrote."""
    return Gold(**_read(path, Gold))


def _read(path: Path, kind: type) -> dict[str, Any]:
    names = [field.name for field in fields(kind)]
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return {name: stored[name] for name in names}
    except OSError as error:  # of the machine, not of the file
        raise DataError(f"{path}: cannot be opened ({error})") from error
    except (ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise BrokenFile(
            path, f"expected an npz file with {', '.join(names)} ({error})", "remove it and draw the samples again"
        ) from error
