"""Figures of the grid, from what :func:`nslimb.experiment.gather.gather` has read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from nslimb.experiment.names import ADJUSTMENTS, PRINTED
from nslimb.experiment.plotting import METHOD_COLOURS, METHOD_MARKS
from nslimb.plotting import COLOURS, legend_above, panels, styled, subplots

Run = dict[str, Any]


def _cell_name(run: Run) -> str:
    return f"{run['benchmark'].upper().replace('_', ' ')}-{run['M']}, rho={run['rho']}"


def _by_cell(runs: Iterable[Run]) -> dict[str, list[Run]]:
    cells: dict[str, list[Run]] = {}
    for run in runs:
        cells.setdefault(_cell_name(run), []).append(run)
    return cells


def _finished(runs: Iterable[Run]) -> list[Run]:
    return [run for run in runs if run["metrics"] is not None and run["history"] is not None]


def _over_positions(ratios: Any) -> Any:
    array = np.asarray(ratios)
    return array if array.ndim == 1 else array.mean(axis=0)


@styled
def class_accuracy_over_epochs(runs: list[Run]) -> Any:
    """The paper's first figure: the accuracy of each class early, midway and at the end of SL, mean over seeds."""
    cells = _by_cell(run for run in _finished(runs) if run["method"] == "sl")
    figure, axes = panels(len(cells))
    for axis, (name, group) in zip(axes, cells.items(), strict=False):
        histories = [run["history"]["test_class_accuracy"].map(json.loads).tolist() for run in group]
        epochs = len(histories[0])
        marked = {
            "after a fifth of the epochs": max(1, epochs // 5),
            "after two fifths": max(1, 2 * epochs // 5),
            "at the end": epochs,
        }
        for colour, (label, epoch) in zip(COLOURS, marked.items(), strict=False):
            values = 100 * np.mean([history[epoch - 1] for history in histories], axis=0)
            axis.plot(values, marker="o", markersize=3, linewidth=1, color=colour, label=label)
        axis.set(title=name, xlabel="class", ylabel="accuracy (%)", ylim=(-3, 103), xticks=range(len(values)))
    legend_above(figure)
    return figure


@styled
def marginals(runs: list[Run]) -> Any:
    """Estimated against true ratios of every scenario, first seed, with the absolute difference."""
    known = {name: group[0] for name, group in _by_cell(_finished(runs)).items()}
    figure, axes = panels(len(known))
    for axis, (name, run) in zip(axes, known.items(), strict=False):
        true, estimated = (_over_positions(run["metrics"]["ratios"][key]) for key in ("true", "estimated"))
        place = np.arange(len(true))
        axis.bar(place - 0.2, true, width=0.4, color="#999999", label="true")
        axis.bar(place + 0.2, estimated, width=0.4, color=COLOURS[0], label="Algorithm 1")
        axis.plot(place, np.abs(true - estimated), "x", color=COLOURS[1], markersize=4, label="|difference|")
        axis.set(title=name, xlabel="class", ylabel="ratio", xticks=place)
    legend_above(figure)
    return figure


@styled
def sl_against_ilp(runs: list[Run]) -> Any:
    """Class accuracies of SL and of the ILP with Algorithm 1 (or gold ratios), with the hidden ratios behind."""
    wanted = ("sl", "ilp-alg1", "ilp-gold")
    cells = _by_cell(run for run in _finished(runs) if run["method"] in wanted)
    cells = {name: group for name, group in cells.items() if len({run["method"] for run in group}) > 1}
    figure, axes = panels(len(cells))
    for axis, (name, group) in zip(axes, cells.items(), strict=False):
        true = _over_positions(group[0]["metrics"]["ratios"]["true"])
        axis.bar(range(len(true)), 100 * true / true.max(), color="#dddddd", label="hidden ratio, largest = 100")
        for method in wanted:
            rows = [r["metrics"]["adjustments"]["none"]["class_accuracy"] for r in group if r["method"] == method]
            if rows:
                values = 100 * np.nanmean(np.array(rows, dtype=float), axis=0)
                axis.plot(values, marker=METHOD_MARKS[method], markersize=3, linewidth=1, **_look(method))
        axis.set(title=name, xlabel="class", ylabel="accuracy (%)", ylim=(-3, 103), xticks=range(len(true)))
    legend_above(figure)
    return figure


def _look(method: str) -> dict[str, Any]:
    return {"color": METHOD_COLOURS[method], "label": PRINTED[method]}


def _spread(values: list[float]) -> tuple[float, float]:
    """Mean and standard deviation; no value, no number."""
    if not values:
        return np.nan, 0.0
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _accuracies(group: list[Run], method: str, adjustment: str) -> list[float]:
    return [
        100 * run["metrics"]["adjustments"][adjustment]["accuracy"]
        for run in group
        if run["method"] == method and run["metrics"] is not None
    ]


@styled
def accuracy_by_method(runs: list[Run]) -> Any:
    """Accuracy of every method and adjustment in every scenario, mean and standard deviation over seeds."""
    cells = _by_cell(runs)
    figure, axes = panels(len(cells), height=2.4)
    for axis, (name, group) in zip(axes, cells.items(), strict=False):
        methods = list(dict.fromkeys(run["method"] for run in group))
        for shift, colour, adjustment in zip((-0.25, 0, 0.25), COLOURS, ADJUSTMENTS, strict=False):
            means, spread = zip(*(_spread(_accuracies(group, method, adjustment)) for method in methods), strict=True)
            place = np.arange(len(methods)) + shift
            label = "no adjustment" if adjustment == "none" else PRINTED[adjustment]
            axis.bar(place, means, 0.25, yerr=spread, color=colour, label=label, error_kw={"linewidth": 0.7})
        axis.set(title=name, ylabel="accuracy (%)", ylim=(0, 103))
        axis.set_xticks(range(len(methods)), [PRINTED[m] for m in methods], rotation=30, ha="right", fontsize=6)
    legend_above(figure)
    return figure


def _accuracy_against(runs: list[Run], swept: str, fixed: str) -> Any:
    """A panel for each benchmark and value of ``fixed``, a line for each method over the values of ``swept``."""
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run["benchmark"], run[fixed]), []).append(run)
    groups = {key: group for key, group in groups.items() if len({run[swept] for run in group}) > 1}
    figure, axes = panels(len(groups))
    for axis, ((benchmark, value), group) in zip(axes, groups.items(), strict=False):
        places = sorted({run[swept] for run in group}, key=float)
        for method in dict.fromkeys(run["method"] for run in group):
            found = [_accuracies([r for r in group if r[swept] == place], method, "none") for place in places]
            means, spread = zip(*map(_spread, found), strict=True)
            mark = {"marker": METHOD_MARKS[method], "markersize": 3, "linewidth": 1, "capsize": 2}
            axis.errorbar(range(len(places)), means, yerr=spread, **mark, **_look(method))
        axis.set_xticks(range(len(places)), places)
        title = f"{benchmark.upper().replace('_', ' ')}, {fixed}={value}"
        axis.set(title=title, xlabel=swept, ylabel="accuracy (%)", ylim=(-3, 103))
    legend_above(figure)
    return figure


@styled
def accuracy_against_rho(runs: list[Run]) -> Any:
    """Accuracy of every method against the length of the tail, before adjustment."""
    return _accuracy_against(runs, "rho", "M")


@styled
def accuracy_against_arity(runs: list[Run]) -> Any:
    """Accuracy of every method against the number of hidden labels, before adjustment."""
    return _accuracy_against(runs, "M", "rho")


@styled
def training_curves(runs: list[Run]) -> Any:
    """Loss (above) and weak validation accuracy (below) over the epochs of each method, first seed."""
    cells = _by_cell(_finished(runs))
    columns = min(5, max(1, len(cells)))
    rows = max(1, -(-len(cells) // columns))
    figure, axes = subplots(2 * rows, columns, (2.1 * columns + 0.8, 3.6 * rows + 0.4))
    pairs = [pair for row in range(rows) for pair in zip(axes[2 * row], axes[2 * row + 1], strict=True)]
    for (above, below), (name, group) in zip(pairs, cells.items(), strict=False):
        first: dict[str, Run] = {}
        for run in group:
            first.setdefault(run["method"], run)
        for method, run in first.items():
            history = run["history"]
            above.plot(history["epoch"], history["loss"], linewidth=1, **_look(method))
            below.plot(history["epoch"], 100 * history["validation_weak_accuracy"], linewidth=1, **_look(method))
        above.set(title=name, yscale="log", ylabel="loss")
        below.set(xlabel="epoch", ylim=(-3, 103), ylabel="weak accuracy (%)")
    for spare in (axis for pair in pairs[len(cells) :] for axis in pair):
        spare.set_visible(False)
    legend_above(figure)
    return figure


@styled
def lp_seconds_per_batch(runs: list[Run]) -> Any:
    """Seconds of the linear program for a batch, beside all else that a batch needs; medians over epochs and seeds."""
    cells = _by_cell(run for run in _finished(runs) if run["method"].startswith("ilp"))
    cells = {
        f"{name}, {PRINTED[method]}": [run for run in group if run["method"] == method]
        for name, group in cells.items()
        for method in dict.fromkeys(run["method"] for run in group)
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


def _per_batch(group: list[Run], column: str) -> float:
    return float(np.median(np.concatenate([run["history"][column] / run["history"]["batches"] for run in group])))


FIGURES = {
    "class_accuracy_over_epochs": class_accuracy_over_epochs,
    "marginals": marginals,
    "sl_against_ilp": sl_against_ilp,
    "accuracy_by_method": accuracy_by_method,
    "accuracy_against_rho": accuracy_against_rho,
    "accuracy_against_arity": accuracy_against_arity,
    "training_curves": training_curves,
    "lp_seconds_per_batch": lp_seconds_per_batch,
}
