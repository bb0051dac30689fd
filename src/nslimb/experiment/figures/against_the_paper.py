"""Class accuracies beside those that the paper prints: its first figure, and its class-specific accuracies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nslimb.experiment import places
from nslimb.experiment.figures.common import finished
from nslimb.experiment.figures.shown import PAPER_METHODS
from nslimb.experiment.gather import GridRun
from nslimb.plotting import COLOURS, legend_above, name_classes, panels, styled


@styled
def draw(runs: list[GridRun]) -> Any:
    """A panel for each curve of the paper that the grid can set one beside: ours drawn through, the paper's dashed."""
    reference = pd.read_csv(places.REFERENCE / "class_accuracy.csv", dtype={"M": str, "rho": str})
    keys = ["figure", "benchmark", "M", "rho", "series"]
    found = []
    for (figure, benchmark, arity, rho, series), paper in reference.groupby(keys, sort=False):
        group = [
            run
            for run in finished(runs)
            if (run.sigma.upper(), run.cell.M, run.cell.rho) == (benchmark, arity, rho)
            and run.method == PAPER_METHODS.get(str(series), "sl")
        ]
        ours = _ours(group, str(series)) if figure != "class_specific" or series in PAPER_METHODS else None
        if ours is not None:
            title = f"{benchmark}-{arity}, rho={rho}: {series}".replace("_", " ")
            found.append((title, paper["value"], ours, group[0].class_names))
    figure, axes = panels(len(found))
    for axis, (title, printed, ours, classes) in zip(axes, found, strict=False):
        axis.plot(range(len(ours)), ours, "o-", color=COLOURS[0], markersize=3, linewidth=1, label="ours")
        axis.plot(range(len(printed)), printed, "s--", color=COLOURS[1], markersize=3, linewidth=1, label="the paper")
        axis.set(title=title, xlabel="class", ylabel="accuracy (%)", ylim=(-3, 103))
        name_classes(axis, classes)
    legend_above(figure)
    return figure


def _ours(group: list[GridRun], series: str) -> Any:
    """Class accuracies in per cent, mean over seeds: after an epoch that was looked at, else at the end."""
    rows = []
    for run in group:
        looks = run.history.dropna(subset="test_class_accuracy").set_index("epoch")["test_class_accuracy"]
        epoch = int(series.removeprefix("epoch ")) if series.startswith("epoch ") else int(looks.index.max())
        if epoch in looks.index:
            rows.append(looks.loc[epoch])
    return 100 * np.mean(rows, axis=0) if rows else None
