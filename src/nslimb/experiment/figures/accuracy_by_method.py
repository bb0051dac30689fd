"""Accuracy of every method and adjustment."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.experiment.figures.common import accuracies, by_scenario, methods, spread
from nslimb.experiment.gather import GridRun
from nslimb.plotting import COLOURS, legend_above, panels, styled


@styled
def draw(runs: list[GridRun]) -> Any:
    """Accuracy of every method and adjustment in every scenario, mean and standard deviation over seeds."""
    cells = by_scenario(runs)
    figure, axes = panels(len(cells), height=2.4)
    for axis, (name, group) in zip(axes, cells.items(), strict=False):
        shown = methods(group)
        adjustments = group[0].adjustments
        width = 0.75 / max(1, len(adjustments))
        for i, (adjustment, printed) in enumerate(adjustments.items()):
            means, spreads = zip(*(spread(accuracies(group, method, adjustment)) for method in shown), strict=True)
            place = np.arange(len(shown)) + (i - (len(adjustments) - 1) / 2) * width
            label = "no adjustment" if adjustment == "none" else printed
            bars = {"color": COLOURS[i % len(COLOURS)], "label": label, "error_kw": {"linewidth": 0.7}}
            axis.bar(place, means, width, yerr=spreads, **bars)
        axis.set(title=name, ylabel="accuracy (%)", ylim=(0, 103))
        names = [run.printed for run in shown.values()]
        axis.set_xticks(range(len(shown)), names, rotation=30, ha="right", fontsize=6)
    legend_above(figure)
    return figure
