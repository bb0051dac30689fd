"""Estimated, or known, against true label ratios."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.experiment.figures.common import by_scenario, finished, over_positions
from nslimb.experiment.gather import GridRun
from nslimb.plotting import COLOURS, legend_above, name_classes, panels, styled


@styled
def draw(runs: list[GridRun]) -> Any:
    """Estimated (or known) against true ratios of every scenario, first seed, with the absolute difference."""
    known = {name: group[0] for name, group in by_scenario(finished(runs)).items()}
    figure, axes = panels(len(known))
    for axis, (name, run) in zip(axes, known.items(), strict=False):
        true, used = (over_positions(getattr(run.done.ratios, key)) for key in ("true", "estimated"))
        colour, told = (COLOURS[2], "known") if run.known_ratios else (COLOURS[0], "Algorithm 1")
        place = np.arange(len(true))
        axis.bar(place - 0.2, true, width=0.4, color="#999999", label="true")
        axis.bar(place + 0.2, used, width=0.4, color=colour, label=told)
        axis.plot(place, np.abs(true - used), "x", color=COLOURS[1], markersize=4, label="|difference|")
        axis.set(title=name, xlabel="class", ylabel="ratio")
        name_classes(axis, run.class_names)
    legend_above(figure)
    return figure
