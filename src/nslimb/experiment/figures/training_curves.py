"""Loss and weak accuracy over the epochs."""

from __future__ import annotations

from typing import Any

from nslimb.experiment.figures.common import by_scenario, finished, methods
from nslimb.experiment.gather import GridRun
from nslimb.plotting import legend_above, styled, subplots


@styled
def draw(runs: list[GridRun]) -> Any:
    """Loss (above) and weak validation accuracy (below) over the epochs of each method, first seed."""
    cells = by_scenario(finished(runs))
    columns = min(5, max(1, len(cells)))
    rows = max(1, -(-len(cells) // columns))
    figure, axes = subplots(2 * rows, columns, (2.1 * columns + 0.8, 3.6 * rows + 0.4))
    pairs = [pair for row in range(rows) for pair in zip(axes[2 * row], axes[2 * row + 1], strict=True)]
    for (above, below), (name, group) in zip(pairs, cells.items(), strict=False):
        for run in methods(group).values():
            history = run.history
            line = {"linewidth": 1, "linestyle": run.dash, **run.look}
            above.plot(history["epoch"], history["loss"], **line)
            below.plot(history["epoch"], 100 * history["validation_weak_accuracy"].astype(float), **line)
        above.set(title=name, yscale="log", ylabel="loss")
        below.set(xlabel="epoch", ylim=(-3, 103), ylabel="weak accuracy (%)")
    for spare in (axis for pair in pairs[len(cells) :] for axis in pair):
        spare.set_visible(False)
    legend_above(figure)
    return figure
