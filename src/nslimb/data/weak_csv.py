"""Weak samples of one's own from CSV files, and the pictures that these name: checked as a whole before any is used."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from nslimb.arrays import IntArray, WeakArray
from nslimb.checks import check_count
from nslimb.data.columns import as_array, find_texts, read_rows, shown
from nslimb.data.pictures import collect, told_sizes
from nslimb.data.samples import OwnSamples, Samples
from nslimb.data.source import Images
from nslimb.data.splitting import hold_out
from nslimb.errors import DataError, InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.sigma.transducer import Transducer

OPTIONAL = True  # no job of the workflow reads CSV files

HELD_OUT = 0.1
_MOST = 50  # problems to list


def read_weak_csv(
    path: str | Path,
    sigma: Sigma,
    columns: Sequence[str],
    weak: str,
    images: str | Path | None,
    validation: str | Path | None,
    size: int | None,
    seed: int,
) -> OwnSamples:
    """See ``Samples.from_csv``."""
    columns = _check_columns(columns, sigma)
    paths = [Path(part) for part in (path, validation) if part is not None]
    folder = paths[0].parent if images is None else Path(images)
    wrong: list[str] = []
    tables = [read_rows(part, [*columns, weak]) for part in paths]
    names: dict[str, int] = {}
    first: list[str] = []  # where each picture is named first
    parts: list[tuple[IntArray, WeakArray]] = []
    for part, (rows, empty) in zip(paths, tables, strict=True):
        wrong += empty
        codes = _encode([row[-1] for row in rows], sigma, part, wrong)
        for number, row in enumerate(rows, start=1):
            for name in row[:-1]:
                if name and names.setdefault(name, len(names)) == len(first):
                    first.append(f"{part}, row {number}")
        parts.append((np.array([[names.get(name, -1) for name in row[:-1]] for row in rows]), codes))
    pixels = read_files([folder / name for name in names], size, wrong, first)
    train, train_weak = parts[0]
    if validation is None:
        kept, held = hold_out(train, HELD_OUT, seed)
        samples = Samples(train[kept], train_weak[kept], train[held], train_weak[held], _no_test())
    else:
        samples = Samples(train, train_weak, *parts[1], _no_test())
    used = len(samples.train) + (len(samples.validation) if validation is None else 0)
    return OwnSamples(pixels, samples, tuple(names), len(train) - used)


def read_files(files: Sequence[Path], size: int | None, wrong: Iterable[str] = (), first: Sequence[str] = ()) -> Images:
    """The pixels of pictures; all that cannot be read are told at once, after what else is ``wrong``.

    ``first`` says where each of the files is named.
    """
    if size is not None:
        check_count("size", size)
    found = collect(files, size)
    told = [f"{files[i]}: {reason}{f' ({first[i]})' if first else ''}" for i, reason in found.broken.items()]
    told = [*wrong, *told]
    if len(found.sizes) > 1:
        told.append(f"pictures of several sizes, {told_sizes(found.sizes)}: give a size to bring them to (--size)")
    if told:
        more = [f"... and {len(told) - _MOST:,} more"] if len(told) > _MOST else []
        listed = "".join(f"\n  {line}" for line in [*told[:_MOST], *more])
        raise DataError(f"{len(told):,} problem{'s' * (len(told) > 1)} with rows or pictures:{listed}")
    if found.images is None:
        raise InvalidInput("images", "at least one picture", "none")
    return found.images


def _check_columns(columns: Sequence[str], sigma: Sigma) -> list[str]:
    expected = f"a column for each of sigma's {sigma.arity} labels"
    if isinstance(columns, str) or len(columns) != sigma.arity:
        raise InvalidInput("columns", expected, repr(columns))
    return list(columns)


def _encode(texts: Sequence[str], sigma: Sigma, path: Path, wrong: list[str]) -> WeakArray:
    """Weak labels as the passes take them; what is none is added to ``wrong``, an empty cell is there already."""
    if isinstance(sigma, Transducer):
        return _encode_sequences(texts, sigma, path, wrong)
    codes = find_texts(texts, sigma)
    for number, (text, code) in enumerate(zip(texts, codes, strict=True), start=1):
        if code is None and text:
            wrong.append(f"{path}, row {number}: {text!r} is no weak label of sigma ({shown(sigma)})")
    return as_array([(0,) if code is None else code for code in codes], sigma)


def _encode_sequences(texts: Sequence[str], sigma: Transducer, path: Path, wrong: list[str]) -> IntArray:
    """The same where a weak label is a sequence, written as Python prints a tuple."""
    found: dict[str, list[int]] = {}
    for number, text in enumerate(texts, start=1):
        if text not in found:
            try:
                found[text] = sigma.encode([ast.literal_eval(text)])[0].tolist()
            except (InvalidInput, ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                found[text] = [-1] * sigma.length
        if text and -1 in found[text]:
            expected = f"{sigma.length} symbols out of {', '.join(map(repr, sigma.symbols[:10]))}"
            wrong.append(f"{path}, row {number}: {text!r} is no weak label of sigma ({expected})")
    return np.array([found[text] for text in texts], dtype=np.int64)


def _no_test() -> IntArray:
    return np.empty(0, dtype=np.int64)
