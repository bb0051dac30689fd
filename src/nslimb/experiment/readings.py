"""What networks make of classes that can be read in several ways: rows of the grids `shortcuts` and `spaces`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nslimb.experiment import names
from nslimb.experiment.cells import runs
from nslimb.experiment.config import Config
from nslimb.experiment.gather import GridRun, gather
from nslimb.experiment.runs.base import read_schema
from nslimb.experiment.runs.run import RunFile
from nslimb.experiment.tables import write_csv
from nslimb.learning.methods import method_class

Frame = pd.DataFrame
COLUMNS = {
    "shortcuts": ["benchmark", "M", "seed", "method", "accuracy", "weak_accuracy", "eta", "tau", "reading", "keeps"],
    "spaces": ["networks", "M", "seed", "method", "accuracy", "weak_accuracy", "digit", "operator"],
}
TRUTH, NONE = "truth", "none"


def collect_readings(config: Config) -> Frame:
    """A row for each finished run of one of the grids."""
    done = [run for run in gather(config, runs(config), any_code=True) if run.finished]
    if config.name == "spaces":
        rows = [_space_row(run) for run in done]
    else:
        rows = [_shortcut_row(run) for run in done]
        rows += [_renamed_row(run) for run in done if run.cell.benchmark == "even_odd" and not run.supervised]
    frame: Frame = pd.DataFrame(rows, columns=COLUMNS[config.name])
    return frame


def _measured(run: GridRun) -> dict[str, Any]:
    plain = run.done.adjustments["none"]
    return {
        "M": run.cell.M,
        "seed": int(run.cell.seed),
        "method": run.method,
        "accuracy": 100 * plain["accuracy"],
        "weak_accuracy": 100 * plain["test_weak_accuracy"],
    }


def _shortcut_row(run: GridRun) -> dict[str, Any]:
    described = read_schema(run.folder / names.RUN_FILE, RunFile)
    made = method_class(described.recipe["method"]["method"])
    starts = made.starts(made.Settings(**described.recipe["method"]["settings"]))
    chosen = starts[described.start or 0][0]
    reading, keeps = _reading(run)
    settings = {key: getattr(chosen, key, None) for key in ("eta", "tau")}
    return {"benchmark": run.cell.benchmark, **_measured(run), **settings, "reading": reading, "keeps": int(keeps)}


def _renamed_row(run: GridRun) -> dict[str, Any]:
    """The same run, had every digit d been called d + 5 mod 10: the same pairs of images then have the same sums."""
    row, every = _shortcut_row(run), np.arange(10)
    new = (every + 5) % 10
    confusion = np.asarray(run.done.adjustments["none"]["confusion_matrix"])
    row |= {"benchmark": "even_odd_renamed", "accuracy": 100 * confusion[every, new].sum() / confusion.sum()}
    read = {TRUTH: every, NONE: None}.get(row["reading"], run.done.shortcut)
    if read is not None:
        learned = np.empty(10, dtype=np.int64)
        learned[new] = read
        row["reading"] = TRUTH if (learned == every).all() else _told(learned.tolist())
    return row


def _told(learned: Sequence[int]) -> str:
    return ", ".join(f"{label} as {other}" for label, other in enumerate(learned) if other not in (-1, label))


def _reading(run: GridRun) -> tuple[str, bool]:
    """What the network takes each class for, in words, and whether the ratios of the classes stay as they are."""
    ratios = np.atleast_2d(run.done.ratios.true).mean(axis=0)
    learned = run.done.shortcut
    if learned is not None:
        pushed = np.zeros_like(ratios)
        np.add.at(pushed, [max(other, 0) for other in learned], ratios)  # those that do not occur have ratio 0
        return _told(learned), bool(np.abs(pushed - ratios).max() < 1e-4)
    recall = run.done.adjustments["none"]["class_accuracy"]
    right = all(share is not None and share >= 0.5 for share, ratio in zip(recall, ratios, strict=True) if ratio > 0)
    return (TRUTH, True) if right else (NONE, False)


def _space_row(run: GridRun) -> dict[str, Any]:
    by_space = run.done.spaces or {}
    shares = {name: 100 * by_space[name] if name in by_space else None for name in ("digit", "operator")}
    return {"networks": "two" if run.cell.benchmark.endswith("_two") else "one", **_measured(run), **shares}


def publish_readings(config: Config, folder: Path) -> dict[str, int]:
    """Write the finished runs of one of the grids into the file of its name; the number of rows."""
    frame = collect_readings(config)
    write_csv(folder / f"{config.name}.csv", frame)
    return {config.name: len(frame)}
