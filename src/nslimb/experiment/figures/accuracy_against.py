"""Accuracy against the length of the tail, and against the number of hidden labels."""

from __future__ import annotations

from typing import Any

from nslimb.experiment.figures.common import accuracies, methods, spread
from nslimb.experiment.gather import GridRun
from nslimb.plotting import legend_above, panels, styled


@styled
def against_rho(runs: list[GridRun]) -> Any:
    """Accuracy of every method against the length of the tail, before adjustment."""
    return _accuracy_against(runs, "rho", "M")


@styled
def against_arity(runs: list[GridRun]) -> Any:
    """Accuracy of every method against the number of hidden labels, before adjustment."""
    return _accuracy_against(runs, "M", "rho")


def _accuracy_against(runs: list[GridRun], swept: str, fixed: str) -> Any:
    """A panel for each benchmark and value of ``fixed``, a line for each method over the values of ``swept``."""
    groups: dict[tuple[str, str], list[GridRun]] = {}
    for run in runs:
        groups.setdefault((run.title, getattr(run.cell, fixed)), []).append(run)
    groups = {key: group for key, group in groups.items() if len({getattr(run.cell, swept) for run in group}) > 1}
    figure, axes = panels(len(groups))
    for axis, ((title, value), group) in zip(axes, groups.items(), strict=False):
        places = sorted({getattr(run.cell, swept) for run in group}, key=float)
        for method, first in methods(group).items():
            found = [
                accuracies([run for run in group if getattr(run.cell, swept) == place], method, "none")
                for place in places
            ]
            means, spreads = zip(*map(spread, found), strict=True)
            mark = {"marker": first.mark, "linestyle": first.dash, "markersize": 3, "linewidth": 1, "capsize": 2}
            axis.errorbar(range(len(places)), means, yerr=spreads, **mark, **first.look)
        axis.set_xticks(range(len(places)), places)
        axis.set(title=f"{title}, {fixed}={value}", xlabel=swept, ylabel="accuracy (%)", ylim=(-3, 103))
    legend_above(figure)
    return figure
