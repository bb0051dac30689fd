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


def read_rows(path: Path, columns: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """The cells of these columns, a row each, and what is wrong with rows that lack one; such a row is left out."""
    rows: list[list[str]] = []
    wrong: list[str] = []
    with readable_csv(path) as lines:
        header = next(lines, None)
        if header is None:
            raise DataError(f"{path}: is empty; expected a CSV file whose first line names its columns")
        missing = [column for column in columns if column not in header]
        if missing:
            named = ", ".join(map(repr, missing))
            raise DataError(f"{path}: has no column {named}; it has {', '.join(map(repr, header))}")
        places = [header.index(column) for column in columns]
        for number, row in enumerate((row for row in lines if row), start=1):
            cells = [row[place].strip() if place < len(row) else "" for place in places]
            empty = [column for column, cell in zip(columns, cells, strict=True) if not cell]
            if empty:
                wrong.append(f"{path}, row {number}: nothing in {', '.join(map(repr, empty))}")
            rows.append(cells)
    if not rows:
        raise DataError(f"{path}: has no row below its header")
    return rows, wrong


def encode_texts(texts: Sequence[str], sigma: Sigma, path: Path) -> IntArray | BoolArray:
    """Indices of weak labels written as text: ``str`` or ``repr`` of the label, or a Python literal equal to it.

    So 3 is written as 3 or 3.0, the string even as even or 'even', the pair (1, 2) as (1, 2) or (1,2), and True as
    True, true or 1. A text that is no weak label may be several of them with | between: the set 3|4. Where there are
    such, all rows are sets, bool [n, S]. The first text that is none of these is an error that names its row.
    """
    codes = find_texts(texts, sigma)
    if None in codes:
        row = codes.index(None)
        several = ", or several with | between" if "|" in texts[row] else ""
        expected = f"a weak label of sigma ({shown(sigma)}){several}"
        raise InvalidInput(f"{path}, row {row + 1}", expected, repr(texts[row]))
    return as_array([parts for parts in codes if parts is not None], sigma)


def find_texts(texts: Sequence[str], sigma: Sigma) -> list[tuple[int, ...] | None]:
    """The index of each weak label that is written as text, several for a set; None for what is none."""
    known = _names(sigma.weak_labels)
    index = {label: i for i, label in enumerate(sigma.weak_labels)}

    def single(text: str) -> int | None:
        named = known.get(text, known.get(text.strip()))
        return _literal(text.strip(), index) if named is None else named

    found: dict[str, tuple[int, ...] | None] = {}
    for text in dict.fromkeys(texts):
        whole = single(text)
        parts = [whole] if whole is not None or "|" not in text else list(map(single, text.split("|")))
        known_parts = tuple(part for part in parts if part is not None)
        found[text] = known_parts if len(known_parts) == len(parts) else None
    return [found[text] for text in texts]


def as_array(codes: Sequence[tuple[int, ...]], sigma: Sigma) -> IntArray | BoolArray:
    """Weak labels that were found: int64 [n], or bool [n, S] where some are sets."""
    if all(len(parts) == 1 for parts in codes):
        return np.array([parts[0] for parts in codes], dtype=np.int64)
    sets = np.zeros((len(codes), len(sigma.weak_labels)), dtype=np.bool_)
    for row, parts in enumerate(codes):
        sets[row, list(parts)] = True
    return sets


def shown(sigma: Sigma) -> str:
    """The first of sigma's weak labels, for messages."""
    return ", ".join(map(str, sigma.weak_labels[:10])) + (", ..." if len(sigma.weak_labels) > 10 else "")


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
