"""Read what a grid has left on disk: for tables, figures and tracking alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from nslimb.errors import BrokenFile
from nslimb.experiment.cells import Cell, run_path
from nslimb.experiment.config import Config
from nslimb.files import read_sealed


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
                "metrics": read_sealed(metrics) if metrics.exists() else None,
                "history": _read_history(history) if metrics.exists() and history.exists() else None,
            }
        )
    return gathered


def _read_history(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(path)
    except (ValueError, OSError) as error:
        raise BrokenFile(path, f"cannot be read ({error})") from error
