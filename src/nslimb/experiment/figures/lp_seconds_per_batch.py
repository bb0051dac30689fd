"""What the linear program costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.experiment.figures.common import by_scenario, finished, methods
from nslimb.experiment.gather import GridRun
from nslimb.plotting import COLOURS, legend_above, styled, subplots


@styled
def draw(runs: list[GridRun]) -> Any:
    """Seconds of the linear program for a batch, beside all else that a batch needs; medians over epochs and seeds."""
    cells = {
        f"{name}, {first.printed}": [run for run in group if run.method == method]
        for name, group in by_scenario(run for run in finished(runs) if run.history["lp_seconds"].any()).items()
        for method, first in methods(group).items()
    }
    figure, ((axis,),) = subplots(size=(6.4, 0.22 * len(cells) + 1.2))
    program = np.array([_per_batch(group, "lp_seconds") for group in cells.values()])
    rest = np.array([_per_batch(group, "seconds") for group in cells.values()]) - program
    axis.barh(range(len(cells)), program, color=COLOURS[1], label="linear program")
    axis.barh(range(len(cells)), rest, left=program, color="#bbbbbb", label="network, forward and backward")
    axis.set(xlabel="seconds a batch (median over epochs and seeds)")
    axis.set_yticks(range(len(cells)), list(cells))
    axis.invert_yaxis()
    legend_above(figure)
    return figure


def _per_batch(group: list[GridRun], column: str) -> float:
    return float(np.median(np.concatenate([run.history[column] / run.history["batches"] for run in group])))
