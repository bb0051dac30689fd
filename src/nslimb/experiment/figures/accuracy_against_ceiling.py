"""What each method makes of what the weak labels tell."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.experiment.figures.common import accuracies, finished, methods
from nslimb.experiment.gather import GridRun
from nslimb.experiment.tables import ceilings
from nslimb.plotting import legend_above, styled, subplots


@styled
def draw(runs: list[GridRun]) -> Any:
    """Accuracy of each method, mean over seeds, against what is reachable on the cell; on the line it is met."""
    figure, ((axis,),) = subplots(size=(4.6, 3.8))
    done = finished(runs)
    limits = {
        (name, *key): value
        for name in dict.fromkeys(run.cell.benchmark for run in done)
        for key, value in ceilings([run for run in done if run.cell.benchmark == name]).items()
    }
    low = 100.0
    for method, first in methods(done).items():
        if first.oracle:
            continue
        points = []
        for key, ceiling in limits.items():
            group = [run for run in done if (run.cell.benchmark, run.cell.M, run.cell.rho) == key]
            found = accuracies(group, method, "none")
            if found:
                points.append((ceiling, float(np.mean(found))))
        if points:
            x, y = zip(*points, strict=True)
            axis.plot(x, y, first.mark, markersize=4, alpha=0.8, **first.look)
            low = min(low, *x, *y)
    axis.plot([low - 2, 101], [low - 2, 101], color="#bbbbbb", linewidth=0.8, zorder=0)
    axis.set(xlabel="reachable (%)", ylabel="test accuracy (%)", xlim=(low - 2, 101), ylim=(low - 2, 101))
    legend_above(figure)
    return figure
