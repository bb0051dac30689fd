"""Small tables of all finished runs of a grid, for publishing: a row a run and adjustment, class, cell or epoch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nslimb.experiment import names
from nslimb.experiment.cells import runs
from nslimb.experiment.config import Config
from nslimb.experiment.gather import GridRun, gather
from nslimb.experiment.readings import COLUMNS as READINGS
from nslimb.experiment.readings import publish_readings
from nslimb.experiment.runs.base import read_schema
from nslimb.experiment.runs.run import RunFile
from nslimb.experiment.tables import write_csv

Frame = pd.DataFrame
MAIN = {"paper": "cpu_paper", "exact": "cpu_exact"}  # by protocol, the grids that the page of results is about
KEYS = ["protocol", "benchmark", "M", "rho", "seed", "method"]
CLOCK = ["grid", *KEYS, "seconds", "ended"]  # of a training job: how long it took, and when it ended (since 1970)
_MEASURES = ["accuracy", "macro_recall", "worst_class", "weak_accuracy", "ceiling", "seconds"]
COLUMNS = {
    "runs": [*KEYS, "adjustment", *_MEASURES],
    "classes": [*KEYS, "class", "accuracy", "lost", "share"],
    "marginals": [*KEYS[:-1], "position", "class", "true", "estimated"],
    "epochs": [*KEYS, "epoch", "loss", "validation_weak_accuracy", "accuracy", "class_accuracy"],
    # where positions have ratios of their own, adjustments are measured on other test images: drawn as formulas
    "formulas": [*KEYS, "adjustment", "accuracy", "unadjusted_accuracy"],
}


def collect(config: Config) -> dict[str, Frame]:
    """``runs``, ``classes``, ``marginals``, ``epochs`` and ``formulas`` of the finished runs of a grid.

    A run that is done is data: its settings and schema version must be those of today, its code need not be.
    """
    done = [run for run in gather(config, runs(config), any_code=True) if run.finished]
    rows = {
        "runs": [row for run in done for row in _adjustments(config, run)],
        "classes": [row for run in done for row in _classes(config, run)],
        "marginals": [row for run in _first_of_cells(done) for row in _marginals(config, run)],
        "epochs": [row for run in done for row in _epochs(config, run)],
        "formulas": [row for run in done for row in _formulas(config, run)],
    }
    return {name: pd.DataFrame(found, columns=COLUMNS[name]) for name, found in rows.items()}


def _keys(config: Config, run: GridRun) -> dict[str, Any]:
    cell = run.cell
    values = (config.protocol, run.sigma, cell.M, cell.rho, cell.seed, run.method)
    return dict(zip(KEYS, values, strict=True))


def _adjustments(config: Config, run: GridRun) -> list[dict[str, Any]]:
    seconds = read_schema(run.folder / names.RUN_FILE, RunFile).seconds["training"]
    ceiling = run.done.ceiling
    return [
        {
            **_keys(config, run),
            "adjustment": adjustment,
            **{key: 100 * found[key] for key in ("accuracy", "macro_recall", "worst_class")},
            "weak_accuracy": _per_cent(found["validation_weak_accuracy"]),
            "ceiling": None if ceiling is None else 100 * ceiling.identifiable,
            "seconds": seconds,
        }
        for adjustment, found in run.done.adjustments.items()
    ]


def _per_cent(share: float | None) -> float | None:
    """Of a share that there may not be."""
    return None if share is None else 100 * share


def _classes(config: Config, run: GridRun) -> list[dict[str, Any]]:
    found = run.done.adjustments["none"]["class_accuracy"]
    lost = run.done.ceiling.lost if run.done.ceiling is not None else []
    matrix = np.array(run.done.adjustments["none"]["confusion_matrix"])
    shares = matrix.sum(axis=1) / matrix.sum()
    return [
        {
            **_keys(config, run),
            "class": label,
            "accuracy": _per_cent(accuracy),
            "lost": int(label in lost),
            "share": shares[label],
        }
        for label, accuracy in enumerate(found)
    ]


def _first_of_cells(done: list[GridRun]) -> list[GridRun]:
    """A run of each cell; entries of the configuration with the same sigma and M share their cells."""
    cells = {(run.sigma, run.cell.M, run.cell.rho, run.cell.seed): run for run in reversed(done)}
    return list(cells.values())[::-1]


def _marginals(config: Config, run: GridRun) -> list[dict[str, Any]]:
    both = (np.atleast_2d(getattr(run.done.ratios, key)) for key in ("true", "estimated"))
    true, estimated = np.broadcast_arrays(*both)  # known ones may be the same at all positions
    keys = {key: value for key, value in _keys(config, run).items() if key != "method"}
    return [
        {**keys, "position": place if len(true) > 1 else "all", "class": label, "true": r, "estimated": estimate}
        for place, (ratios, estimates) in enumerate(zip(true, estimated, strict=True), start=1)
        for label, (r, estimate) in enumerate(zip(ratios, estimates, strict=True))
    ]


def _epochs(config: Config, run: GridRun) -> list[dict[str, Any]]:
    return [
        {
            **_keys(config, run),
            "epoch": row.epoch,
            "loss": row.loss,
            "validation_weak_accuracy": _per_cent(row.validation_weak_accuracy),
            "accuracy": 100 * row.test_accuracy,
            "class_accuracy": " ".join(f"{100 * share:.1f}" for share in row.test_class_accuracy or ()),
        }
        for row in run.epochs or ()
        if row.test_accuracy is not None and row.phase == "training"  # not of the network that fills a window first
    ]


def _formulas(config: Config, run: GridRun) -> list[dict[str, Any]]:
    return [
        {
            **_keys(config, run),
            "adjustment": adjustment,
            **{key: 100 * found[key] for key in ("accuracy", "unadjusted_accuracy")},
        }
        for adjustment, found in run.done.adjustments.items()
        if "unadjusted_accuracy" in found
    ]


def publish(config: Config, folder: Path) -> dict[str, int]:
    """Write what the pages need of a grid's finished runs into CSV files in ``folder``; the rows of each file."""
    if config.name in MAIN.values():
        write = publish_together
    else:
        write = publish_readings if config.name in READINGS else publish_apart
    return write(config, folder) | publish_clock(config, folder)


def publish_apart(config: Config, folder: Path) -> dict[str, int]:
    """Write the runs of a grid into a file of its own name, with the ``entry`` of the configuration they are of.

    Where there are test tuples, ``test_weak_accuracy`` says how many of their weak labels come out.
    """
    done = [run for run in gather(config, runs(config), any_code=True) if run.finished]
    rows = [
        {"entry": run.cell.benchmark, **row, "test_weak_accuracy": _per_cent(found.get("test_weak_accuracy"))}
        for run in done
        for row, found in zip(_adjustments(config, run), run.done.adjustments.values(), strict=True)
    ]
    in_tuples = any(row["test_weak_accuracy"] is not None for row in rows)
    columns = ["entry", *COLUMNS["runs"], *(["test_weak_accuracy"] if in_tuples else [])]
    write_csv(folder / f"{config.name}.csv", pd.DataFrame(rows, columns=columns))
    return {config.name: len(rows)}


def publish_together(config: Config, folder: Path) -> dict[str, int]:
    """Write the tables of a grid into ``folder``; rows of other protocols that are there stay. Rows of each file."""
    return {
        name: _replace_rows(folder / f"{name}.csv", frame, "protocol", config.protocol)
        for name, frame in collect(config).items()
    }


def publish_clock(config: Config, folder: Path) -> dict[str, int]:
    """Write when each training job of a grid ran into ``clock.csv``; rows of other grids stay. Rows of the file."""
    rows = []
    for run in gather(config, runs(config), any_code=True):
        if run.finished:
            described = read_schema(run.folder / names.RUN_FILE, RunFile)
            job = {"seconds": described.seconds["job"], "ended": described.ended}
            rows.append({"grid": config.name, **_keys(config, run), **job})
    frame = pd.DataFrame(rows, columns=CLOCK)
    return {"clock": _replace_rows(folder / "clock.csv", frame, "grid", config.name)}


def _replace_rows(path: Path, frame: Frame, column: str, value: str) -> int:
    """Write a frame in place of the rows of a file that have a value in a column; how many rows the file has then."""
    parts = [frame]
    if path.exists():
        there = pd.read_csv(path, dtype=dict.fromkeys(KEYS, str))
        parts.insert(0, there[there[column] != value])
    joined = pd.concat([part for part in parts if len(part)]) if any(map(len, parts)) else frame
    ordered = joined.sort_values(column, kind="stable") if len(joined) else joined
    write_csv(path, ordered)
    return len(ordered)
