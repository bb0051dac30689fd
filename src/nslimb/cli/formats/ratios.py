"""Ratios of the hidden labels as CSV or JSON: written with their intervals, read to adjust scores."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from nslimb.arrays import FloatArray
from nslimb.checks import check_ratios
from nslimb.data.columns import readable_csv
from nslimb.errors import DataError, InvalidInput
from nslimb.files import read_json, write_json, write_text
from nslimb.marginals.bootstrap import Bootstrap
from nslimb.sigma.component import Sigma


def describe(found: Bootstrap, sigma: Sigma, samples: int) -> dict[str, Any]:
    """The whole result as plain values; ratios [c], or [M, c] where positions differ."""
    return {
        "sigma": repr(sigma),
        "samples": samples,
        "classes": list(sigma.class_names),
        "ratios": found.estimate.ratios.tolist(),
        "lower": found.lower.tolist(),
        "upper": found.upper.tolist(),
        "level": found.level,
        "resamples": len(found.replicates),
        "log_likelihood": found.estimate.log_likelihood,
        "converged": found.estimate.converged,
        "not_identified": list(found.estimate.flat_classes),
    }


def write_ratios(path: Path, found: Bootstrap, sigma: Sigma, samples: int) -> None:
    """``describe`` as .json, or a row for each position (``all`` where they share ratios) and class as .csv."""
    content = describe(found, sigma, samples)
    if path.suffix == ".json":
        write_json(path, content)
        return
    if path.suffix != ".csv":
        raise InvalidInput("--out", "a file that ends in .csv or .json", repr(str(path)))
    columns = [np.atleast_2d(content[key]) for key in ("ratios", "lower", "upper")]
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["position", "class", "ratio", "lower", "upper", "identified"])
    for position in range(len(columns[0])):
        for label, name in enumerate(content["classes"]):
            numbers = (f"{column[position, label]:.9g}" for column in columns)
            place = "all" if len(columns[0]) == 1 else position + 1
            table.writerow([place, name, *numbers, "yes" if found.identified[label] else "no"])
    write_text(path, text.getvalue())


def read_ratios(path: Path) -> FloatArray:
    """Ratios [c], or [M, c] where positions differ, from a file that ``write_ratios`` or the workflow wrote.

    A CSV file needs a column ``ratio``, a row for each class in order, and for each position if there is a column
    ``position``; JSON a list ``ratios``, or is itself one.
    """
    if path.suffix == ".json":
        content = read_json(path)
        values = content.get("ratios") if isinstance(content, dict) else content
    elif path.suffix == ".csv":
        values = _from_csv(path)
    else:
        raise InvalidInput("--ratios", "a file that ends in .csv or .json", repr(str(path)))
    try:
        table = np.atleast_2d(np.asarray(values, dtype=np.float64))
        return check_ratios(table if len(table) > 1 else table[0], len(table), table.shape[1])
    except (InvalidInput, TypeError, ValueError) as error:
        raise DataError(f"{path}: {error}") from error


def of_any_position(ratios: FloatArray) -> FloatArray:
    """Ratios [c] of an instance whose position is not known: of [M, c] the mean over positions."""
    return ratios if ratios.ndim == 1 else np.asarray(ratios.mean(axis=0))


def _from_csv(path: Path) -> list[list[float]]:
    by_position: dict[str, list[float]] = {}
    with readable_csv(path) as rows:
        header = next(rows, [])
        if "ratio" not in header:
            raise DataError(f"{path}: has no column 'ratio'; it has {', '.join(map(repr, header)) or 'none'}")
        for number, row in enumerate((row for row in rows if row), start=1):
            entry = dict(zip(header, row, strict=False))
            try:
                by_position.setdefault(entry.get("position", "all"), []).append(float(entry["ratio"]))
            except (KeyError, ValueError) as error:
                raise DataError(f"{path}: row {number} has no ratio that is a number: {row}") from error
    return list(by_position.values())
