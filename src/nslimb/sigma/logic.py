"""Formulas in files: conjunctive normal form, as DIMACS writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from nslimb.errors import DataError
from nslimb.sigma.expression import Expression, all_of, any_of


class Cnf(NamedTuple):
    """A conjunction of clauses: literal v stands for variable v, -v for its negation; variables count from 1."""

    variables: int
    clauses: tuple[tuple[int, ...], ...]

    def holds(self, labels: tuple[Any, ...]) -> Expression:
        """The formula on traced labels, where variable v is ``labels[v - 1]`` and class 1 is true."""
        return all_of([any_of([self._literal(labels, literal) for literal in clause]) for clause in self.clauses])

    @staticmethod
    def _literal(labels: tuple[Any, ...], literal: int) -> Expression:
        truth: Expression = labels[abs(literal) - 1] == int(literal > 0)
        return truth


def read_dimacs(path: str | Path) -> Cnf:
    """The formula of a DIMACS file: lines ``c ...`` are comments, ``p cnf V C`` announces V variables and C clauses.

    Clauses end with 0 and may go over several lines. A line ``%`` ends the formula, as in the files of SATLIB.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read as a DIMACS file ({error})") from error
    header: tuple[int, int] | None = None
    clauses: list[tuple[int, ...]] = []
    open_clause: list[int] = []
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words or words[0] == "c":
            continue
        if words[0] == "%":
            break
        if words[0] == "p":
            if header is not None:
                raise DataError(f"{path}, line {number}: a second line {line!r}")
            header = _header(words, f"{path}, line {number}")
            continue
        if header is None:
            raise DataError(f"{path}, line {number}: expected 'p cnf VARIABLES CLAUSES' first, got {line!r}")
        for literal in _literals(words, header[0], f"{path}, line {number}"):
            if literal:
                open_clause.append(literal)
            else:
                clauses.append(tuple(open_clause))
                open_clause = []
    if header is None:
        raise DataError(f"{path}: expected a line 'p cnf VARIABLES CLAUSES', got none")
    if open_clause or len(clauses) != header[1]:
        rest = " and one without its final 0" if open_clause else ""
        raise DataError(f"{path}: expected {header[1]} clauses, as its first line says, got {len(clauses)}{rest}")
    return Cnf(header[0], tuple(clauses))


def _header(words: list[str], place: str) -> tuple[int, int]:
    if len(words) == 4 and words[1] == "cnf" and words[2].isdecimal() and words[3].isdecimal():
        return int(words[2]), int(words[3])
    raise DataError(f"{place}: expected 'p cnf VARIABLES CLAUSES', got {' '.join(words)!r}")


def _literals(words: list[str], variables: int, place: str) -> list[int]:
    try:
        literals = [int(word) for word in words]
    except ValueError:
        raise DataError(f"{place}: expected integers, got {' '.join(words)!r}") from None
    for literal in literals:
        if abs(literal) > variables:
            raise DataError(f"{place}: expected literals up to {variables}, as the first line says, got {literal}")
    return literals
