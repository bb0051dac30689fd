"""A classifier's scores as npz or CSV, one row a sample and one column a class. Pickles are never loaded."""

from __future__ import annotations

import csv
import warnings
import zipfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nslimb.data.columns import readable_csv
from nslimb.errors import DataError, InvalidInput
from nslimb.files import written_aside

# Rows of probabilities printed with three digits still sum to 1 within this.
_TOLERANCE = 1e-2
_SUFFIXES = "a file that ends in .npz or .csv"


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores [n, c] as they stand in a file."""

    values: NDArray[np.floating]
    log: bool  # whether they are logarithms
    array: str = "scores"  # its name in an npz
    header: tuple[str, ...] | None = None  # the first line of a CSV, if it is no row of numbers

    def log_scores(self) -> Tensor:
        """log P [n, c], each row normalised."""
        values = torch.from_numpy(self.values)
        return values.log_softmax(-1) if self.log else (values / values.sum(dim=1, keepdim=True)).log()

    def adjusted(self, log_scores: Tensor) -> Scores:
        """The same with other scores."""
        return replace(self, values=(log_scores if self.log else log_scores.exp()).numpy())


def read_scores(path: Path, array: str | None = None, log: bool = False) -> Scores:
    """Probabilities (or, with ``log``, their logarithms) from an npz array or a CSV file; anything else is refused."""
    if path.suffix == ".npz":
        scores = _from_npz(path, array, log)
    elif path.suffix == ".csv":
        scores = _from_csv(path, log)
    else:
        raise InvalidInput("SCORES", _SUFFIXES, repr(str(path)))
    _check_probabilities(path, scores)
    return scores


def write_scores(path: Path, scores: Scores) -> None:
    """Write scores in the format that the suffix names."""
    check_suffix(path)
    with written_aside(path) as aside:
        if path.suffix == ".npz":
            np.savez(aside, **{scores.array: scores.values})  # type: ignore[arg-type]
        else:
            with aside.open("w", encoding="utf-8", newline="") as stream:
                if scores.header is not None:
                    csv.writer(stream, lineterminator="\n").writerow(scores.header)
                np.savetxt(stream, scores.values, fmt="%.9g", delimiter=",")


def check_suffix(path: Path) -> None:
    """Refuse a file to write that is neither npz nor CSV."""
    if path.suffix not in (".npz", ".csv"):
        raise InvalidInput("--out", _SUFFIXES, repr(str(path)))


def _from_npz(path: Path, array: str | None, log: bool) -> Scores:
    try:
        with np.load(path, allow_pickle=False) as content:
            names = list(content.files)
            if array is None and len(names) != 1:
                raise DataError(f"{path}: holds the arrays {', '.join(names) or '(none)'}; choose one with --array")
            name = names[0] if array is None else array
            if name not in names:
                raise DataError(f"{path}: has no array {name!r}; it has {', '.join(names) or 'none'}")
            values = content[name]
    except (OSError, ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile) as error:
        raise DataError(f"{path}: cannot be read as npz without pickles ({error})") from error
    if values.dtype.kind not in "fiu":
        raise DataError(f"{path}: the array {name!r} holds {values.dtype}, not numbers")
    return Scores(
        values.astype(np.float32 if values.dtype.itemsize < 4 else np.result_type(values, np.float32)), log, name
    )


def _from_csv(path: Path, log: bool) -> Scores:
    with readable_csv(path) as rows:
        first = next(rows, None)
    if not first:
        raise DataError(f"{path}: is empty; expected one row a sample and one column a class")
    numbered = [str(label) for label in range(len(first))]  # as pandas names columns
    header = None if all(map(_is_number, first)) and first != numbered else tuple(first)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a header alone: no rows, refused by its shape
            values = np.loadtxt(path, delimiter=",", skiprows=int(header is not None), ndmin=2, encoding="utf-8-sig")
    except ValueError as error:
        raise DataError(f"{path}: expected one row a sample and one column a class, all numbers ({error})") from error
    return Scores(values, log, header=header)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _check_probabilities(path: Path, scores: Scores) -> None:
    values = scores.values
    if values.ndim != 2 or values.size == 0:
        raise DataError(f"{path}: expected scores of shape [samples, classes], got shape {list(values.shape)}")
    with np.errstate(over="ignore"):  # it is refused just below
        probabilities = np.exp(values) if scores.log else values
    bad = ~((probabilities >= 0) & (probabilities <= 1 + _TOLERANCE)).all(axis=1)
    sums = probabilities.sum(axis=1, dtype=np.float64)
    bad |= ~(np.abs(sums - 1) <= _TOLERANCE)
    if bad.any():
        row = int(np.argmax(bad))
        kind = "log-probabilities" if scores.log else "probabilities (or, with --log, their logarithms)"
        given = f"a sum of {sums[row]:.6g} and a smallest value of {probabilities[row].min():.6g}"
        raise InvalidInput(f"{path}, row {row + 1}", f"{kind} that sum to 1", given)
