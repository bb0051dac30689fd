"""Read what a grid has left on disk: for tables, figures and tracking alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from nslimb.errors import DataError
from nslimb.experiment.cells import Cell, run_path
from nslimb.experiment.config import Config


def gather(config: Config, runs: list[tuple[Cell, str]]) -> list[dict[str, Any]]:
    """For each run its keys, metrics and history; None for what is missing, an error for what is broken."""
    gathered = []
    for cell, method in runs:
        folder = config.results / run_path(cell, method)
        metrics, history = folder / "metrics.json", folder / "history.csv"
        gathered.append(
            {
                **vars(cell),
                "method": method,
                "folder": folder,
                "metrics": _read(metrics, lambda path: json.loads(path.read_text())),
                "history": _read(history, pd.read_csv) if metrics.exists() else None,
            }
        )
    return gathered


def _read(path: Path, reader: Any) -> Any:
    if not path.exists():
        return None
    try:
        return reader(path)
    except (ValueError, OSError) as error:
        raise DataError(f"{path}: cannot be read ({error}); remove it and run the workflow again") from error
