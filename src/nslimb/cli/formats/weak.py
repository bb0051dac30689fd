"""Weak labels as text in a column of a CSV file."""

from __future__ import annotations

import ast
import csv
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from nslimb.arrays import BoolArray, IntArray
from nslimb.errors import DataError, InvalidInput
from nslimb.sigma.component import Sigma


def read_column(path: Path, column: str) -> list[str]:
    """The texts of a CSV file's column, a row each; the first line names the columns."""
    with readable_csv(path) as rows:
        header = next(rows, None)
        if header is None:
            raise DataError(f"{path}: is empty; expected a CSV file whose first line names its columns")
        if column not in header:
            raise DataError(f"{path}: has no column {column!r}; it has {', '.join(map(repr, header))}")
        place = header.index(column)
        texts = []
        for number, row in enumerate((row for row in rows if row), start=1):
            if len(row) <= place:
                raise DataError(f"{path}: row {number} ends before the column {column!r}: {row}")
            texts.append(row[place])
    if not texts:
        raise DataError(f"{path}: has the column {column!r} and no row")
    return texts


@contextmanager
def readable_csv(path: Path) -> Iterator[Iterator[list[str]]]:
    """The rows of a CSV file; what is no text or no CSV is told with the file's name."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            yield csv.reader(file)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as CSV ({error})") from error


def encode_texts(texts: Sequence[str], sigma: Sigma, path: Path) -> IntArray | BoolArray:
    """Indices of weak labels written as text: ``str`` or ``repr`` of the label, or a Python literal equal to it.

    So 3 is written as 3 or 3.0, the string even as even or 'even', the pair (1, 2) as (1, 2) or (1,2), and True as
    True, true or 1. A text that is no weak label may be several of them with | between: the set 3|4. Where there are
    such, all rows are sets, bool [n, S]. The first text that is none of these is an error that names its row.
    """
    known = _names(sigma.weak_labels)
    index = {label: i for i, label in enumerate(sigma.weak_labels)}

    def single(text: str) -> int | None:
        named = known.get(text, known.get(text.strip()))
        return _literal(text.strip(), index) if named is None else named

    found: dict[str, list[int | None]] = {}
    for text in dict.fromkeys(texts):
        whole = single(text)
        found[text] = [whole] if whole is not None or "|" not in text else list(map(single, text.split("|")))
    for row, text in enumerate(texts, start=1):
        if None in found[text]:
            shown = ", ".join(map(str, sigma.weak_labels[:10])) + (", ..." if len(sigma.weak_labels) > 10 else "")
            expected = f"a weak label of sigma ({shown})" + (", or several with | between" if "|" in text else "")
            raise InvalidInput(f"{path}, row {row}", expected, repr(text))
    if all(len(codes) == 1 for codes in found.values()):
        return np.array([found[text][0] for text in texts], dtype=np.int64)
    sets = np.zeros((len(texts), len(index)), dtype=np.bool_)
    for row, text in enumerate(texts):
        sets[row, [code for code in found[text] if code is not None]] = True
    return sets


def _names(labels: Sequence[Hashable]) -> dict[str, int]:
    """Texts that stand for one label alone: of 1 and "1" the latter is written '1', with its quotes."""
    names: dict[str, int] = {}
    for i, label in enumerate(labels):
        for text in {str(label), str(label).lower() if isinstance(label, bool) else str(label)}:
            names[text] = -1 if text in names else i
    exact = {repr(label): i for i, label in enumerate(labels)}
    return {text: i for text, i in names.items() if i >= 0} | exact


def _literal(text: str, index: dict[Hashable, int]) -> int | None:
    try:
        value = ast.literal_eval(text)
        place = index.get(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    # True equals 1, but who writes True does not mean the number.
    mistaken = isinstance(value, bool) and place is not None and not isinstance(list(index)[place], bool)
    return None if mistaken else place
