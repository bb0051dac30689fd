"""Class accuracies of SL beside those of the linear program."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.experiment.figures.common import by_scenario, finished, methods, over_positions
from nslimb.experiment.gather import GridRun
from nslimb.plotting import legend_above, name_classes, panels, styled


@styled
def draw(runs: list[GridRun]) -> Any:
    """Class accuracies of SL and of the ILP with Algorithm 1 (or gold ratios), with the hidden ratios behind."""
    wanted = ("sl", "ilp-alg1", "ilp-gold")
    cells = by_scenario(run for run in finished(runs) if run.method in wanted)
    cells = {name: group for name, group in cells.items() if len(methods(group)) > 1}
    figure, axes = panels(len(cells))
    for axis, (name, group) in zip(axes, cells.items(), strict=False):
        true = over_positions(group[0].done.ratios.true)
        axis.bar(range(len(true)), 100 * true / true.max(), color="#dddddd", label="hidden ratio, largest = 100")
        for method, first in methods(group).items():
            rows = [run.done.adjustments["none"]["class_accuracy"] for run in group if run.method == method]
            values = 100 * np.nanmean(np.array(rows, dtype=float), axis=0)
            axis.plot(values, marker=first.mark, markersize=3, linewidth=1, **first.look)
        axis.set(title=name, xlabel="class", ylabel="accuracy (%)", ylim=(-3, 103))
        name_classes(axis, group[0].class_names)
    legend_above(figure)
    return figure
