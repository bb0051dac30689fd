"""The accuracy of each class as training goes on."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.experiment.figures.common import by_scenario, finished
from nslimb.experiment.gather import GridRun
from nslimb.plotting import COLOURS, legend_above, name_classes, panels, styled


@styled
def draw(runs: list[GridRun]) -> Any:
    """The paper's first figure: the accuracy of each class early, midway and at the end of SL, mean over seeds."""
    cells = by_scenario(run for run in finished(runs) if run.method == "sl")
    figure, axes = panels(len(cells))
    for axis, (name, group) in zip(axes, cells.items(), strict=False):
        # Every run of a scenario looks at the test set in the same epochs.
        looks = [run.history.dropna(subset="test_class_accuracy") for run in group]
        seen, last = looks[0]["epoch"].to_numpy(), int(looks[0]["epoch"].max())
        marked = {"after a fifth of the epochs": last / 5, "after two fifths": 2 * last / 5, "at the end": last}
        for colour, (label, epoch) in zip(COLOURS, marked.items(), strict=False):
            row = int(np.abs(seen - max(1, int(epoch))).argmin())
            values = 100 * np.mean([look["test_class_accuracy"].iloc[row] for look in looks], axis=0)
            axis.plot(values, marker="o", markersize=3, linewidth=1, color=colour, label=label)
        axis.set(title=name, xlabel="class", ylabel="accuracy (%)", ylim=(-3, 103))
        name_classes(axis, group[0].class_names)
    legend_above(figure)
    return figure
