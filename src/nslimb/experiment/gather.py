"""Read what a grid has left on disk: for tables, figures and tracking alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from nslimb.errors import BrokenFile
from nslimb.experiment.cells import Cell, run_path
from nslimb.experiment.config import Config
from nslimb.experiment.provenance import run_mark
from nslimb.files import read_sealed


def gather(config: Config, runs: list[tuple[Cell, str]]) -> list[dict[str, Any]]:
    """For each run its keys, metrics and history; None for what is missing, an error for what is broken.

    Metrics of other settings or code, which a failed run may have left in place, count as missing.
    """
    marks = {benchmark: run_mark(config, benchmark) for benchmark in {cell.benchmark for cell, _ in runs}}
    gathered = []
    for cell, method in runs:
        folder = config.results / run_path(cell, method)
        path, history = folder / "metrics.json", folder / "history.csv"
        metrics = read_sealed(path) if path.exists() else None
        if metrics is not None and metrics.get("mark") != marks[cell.benchmark]:
            metrics = None
        gathered.append(
            {
                **vars(cell),
                "method": method,
                "folder": folder,
                "metrics": metrics,
                "history": _read_history(history) if metrics is not None and history.exists() else None,
            }
        )
    return gathered


def _read_history(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path)
    except ValueError as error:
        raise BrokenFile(path, f"cannot be read ({error})") from error
