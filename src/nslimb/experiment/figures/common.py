"""What several figures need: runs by scenario, means and spreads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from nslimb.experiment.gather import GridRun


def by_scenario(runs: Iterable[GridRun]) -> dict[str, list[GridRun]]:
    """Runs by benchmark, M and rho, in the order of the grid."""
    found: dict[str, list[GridRun]] = {}
    for run in runs:
        found.setdefault(run.scenario, []).append(run)
    return found


def methods(runs: Iterable[GridRun]) -> dict[str, GridRun]:
    """The methods in the order of the grid, with one run of each, which says how it is drawn."""
    found: dict[str, GridRun] = {}
    for run in runs:
        found.setdefault(run.method, run)
    return found


def finished(runs: Iterable[GridRun]) -> list[GridRun]:
    """The runs that have come to their end."""
    return [run for run in runs if run.finished]


def over_positions(ratios: Any) -> Any:
    """Ratios [c] as they are, [M, c] as their mean over positions."""
    array = np.asarray(ratios)
    return array if array.ndim == 1 else array.mean(axis=0)


def spread(values: list[float]) -> tuple[float, float]:
    """Mean and standard deviation; no value, no number."""
    if not values:
        return np.nan, 0.0
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def accuracies(group: list[GridRun], method: str, adjustment: str) -> list[float]:
    """Test accuracies in per cent of a method's finished runs."""
    return [
        100 * run.metrics.adjustments[adjustment]["accuracy"]
        for run in group
        if run.method == method and run.metrics is not None
    ]
