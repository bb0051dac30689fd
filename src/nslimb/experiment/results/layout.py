"""The paper's tables with its numbers and ours side by side."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from nslimb.errors import DataError
from nslimb.experiment.results.data import (
    ADJUSTMENTS,
    FORMULAS,
    FULL,
    PROTOCOLS,
    Place,
    Results,
    is_oracle,
    method_order,
    printed,
)
from nslimb.experiment.results.reach import reachable

_ON_FORMULAS = (
    "LA and CAROT are measured on test images drawn as formulas, where a position says whether a digit or an operator "
    "stands there; all else on single test images. So they are not compared here; what they change on the same images "
    "is in the table of the adjustments above."
)
HWF = "HWF-M"
Column = tuple[Place, str]  # a cell, and whose number: the paper's ("printed") or ours by protocol
_WHOSE = {"printed": "the paper", "paper": "ours, `paper`", "exact": "ours, `exact`"}


def shown(mean: float, std: float = float("nan")) -> str:
    """An entry of a table; without a spread where there is one seed."""
    return f"{mean:.2f}" if pd.isna(std) else f"{mean:.2f} ± {std:.2f}"


def table(results: Results, places: Sequence[Place]) -> str:
    """A row for each method and adjustment, three columns for each cell; the best weakly supervised entry is bold.

    Below each column the identifiable ceiling of the cell, what of it can be reached, and the accuracy of the network
    trained on gold labels. An adjustment that changes nothing in any column has no row.
    """
    columns = [(place, whose) for place in places for whose in _WHOSE]
    values = {column: _column(results, *column) for column in columns}
    rows = sorted(
        {row for found in values.values() for row in found if row[0] != "supervised"},
        key=lambda row: (method_order(row[0]), list(ADJUSTMENTS).index(row[1])),
    )
    lines = [["", *(f"{place.title}: {_WHOSE[whose]}" for place, whose in columns)]]
    best = {(place, whose): _best(place, found) for (place, whose), found in values.items()}
    for row in rows:
        if row[1] != "none" and all(found.get(row) == found.get((row[0], "none")) for found in values.values()):
            continue
        entries = []
        for column in columns:
            entry = shown(*values[column][row]) if row in values[column] else "-"
            entries.append(f"**{entry}**" if row == best[column] else entry)
        lines.append([printed(*row), *entries])
    lines.append(["identifiable ceiling", *(_ceiling(results, *column) for column in columns)])
    lines.append(["reachable", *(_reachable(results, *column) for column in columns)])
    supervised = ("supervised", "none")
    lines.append(["supervised", *(shown(*values[c][supervised]) if supervised in values[c] else "-" for c in columns)])
    return markdown(lines)


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """Rows of text, the first one the header, as a Markdown table."""
    head, *body = ("| " + " | ".join(line) + " |" for line in lines)
    return "\n".join([head, "|" + " --- |" * len(lines[0]), *body]) + "\n"


def not_run(number: int, of: int, what: str) -> str:
    """How much is missing, in brackets; nothing where nothing is."""
    return f" ({number} of {of} {what} have not been run yet)" if number else ""


def between_marks(text: str, begin: str, end: str, block: str, where: str) -> str:
    """A page with what stands between the lines ``begin`` and ``end`` written anew; ``where`` names it in an error."""
    if text.count(begin) != 1 or text.count(end) != 1:
        raise DataError(f"{where}: expected the lines {begin} and {end} once")
    before, rest = text.split(begin)
    return f"{before}{begin}\n{block}{end}{rest.split(end)[1]}"


def _column(results: Results, place: Place, whose: str) -> dict[tuple[str, str], tuple[float, float]]:
    if whose == "printed":
        found = results.at(results.distinct, place)
        numbers = zip(found["paper_mean"], found["paper_std"], strict=True)
    else:
        found = results.at(results.entries, place, whose)
        numbers = zip(found["mean"], found["std"], strict=True)
    return dict(zip(zip(found["method"], found["adjustment"], strict=True), numbers, strict=True))


def _best(place: Place, values: dict[tuple[str, str], tuple[float, float]]) -> tuple[str, str] | None:
    weak = {row: mean for row, (mean, _) in values.items() if not is_oracle(row[0])}
    rivals = {row: mean for row, mean in weak.items() if place.benchmark != FORMULAS or row[1] == "none"}
    return max(rivals, key=lambda row: rivals[row]) if rivals else None


def _ceiling(results: Results, place: Place, whose: str) -> str:
    ceiling = results.ceiling(place, whose) if whose in PROTOCOLS else None
    return "-" if ceiling is None else f"{ceiling:.2f}"


def _reachable(results: Results, place: Place, whose: str) -> str:
    accuracy = reachable(results, place, whose) if whose in PROTOCOLS else float("nan")
    return "-" if pd.isna(accuracy) else f"{accuracy:.2f}"


def groups(results: Results) -> list[tuple[str, list[Place]]]:
    """A title and its cells for each benchmark and long tail, as the paper groups the columns of its tables."""
    made = []
    for benchmark in FULL:
        places = [place for place in results.cells(benchmark) if benchmark != "max" or place.M != "2"]
        for rho in dict.fromkeys(place.rho for place in sorted(places, key=lambda place: float(place.rho))):
            tail = "no long tail" if float(rho) == 0 else f"rho = {rho}"
            made.append((f"{benchmark.upper()}-M, {tail}", [place for place in places if place.rho == rho]))
    return [*made, (HWF, results.cells(FORMULAS)), ("Smallest Parent", results.cells("smallest_parent"))]


def tables(results: Results) -> list[tuple[str, str]]:
    """A title and a table for each group of cells."""
    made = [(title, table(results, places)) for title, places in groups(results)]
    return [(title, f"{_ON_FORMULAS}\n\n{text}" if title == HWF else text) for title, text in made]
