"""Figures of the grid, readable in print: PNG and SVG."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd

from nslimb.experiment.names import PRINTED
from nslimb.files import written_aside

matplotlib.use("Agg")
import matplotlib.pyplot as plt

_STYLE: Any = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "nslimb",
    "figure.constrained_layout.use": True,
}
_COLOURS = ("#1b6ca8", "#d95f02", "#1b9e77", "#7570b3", "#a6761d", "#666666")
Run = dict[str, Any]


def save(figure: Any, png: Path, svg: Path) -> None:
    """Write both formats, whole or not at all, without dates, so that equal figures are equal files."""
    for path, metadata in ((png, None), (svg, {"Date": None})):
        with written_aside(path) as aside:
            figure.savefig(aside, dpi=160, format=path.suffix[1:], metadata=metadata)
    plt.close(figure)


def _grid(number: int, height: float = 2.1) -> tuple[Any, list[Any]]:
    columns = min(3, max(1, number))
    rows = -(-number // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.6 * columns + 0.6, height * rows + 0.5), squeeze=False)
    flat = list(axes.flat)
    for spare in flat[number:]:
        spare.set_visible(False)
    return figure, flat


def _by_cell(runs: list[Run]) -> dict[str, list[Run]]:
    cells: dict[str, list[Run]] = {}
    for run in runs:
        cells.setdefault(f"{run['benchmark'].upper()}-{run['M']}, rho={run['rho']}", []).append(run)
    return cells


def class_accuracy_over_epochs(runs: list[Run]) -> Any:
    """The paper's first figure: the accuracy of each class early, midway and at the end of SL."""
    chosen = {
        name: [r for r in group if r["method"] == "sl" and r["history"] is not None]
        for name, group in _by_cell(runs).items()
    }
    chosen = {name: group for name, group in chosen.items() if group}
    with plt.rc_context(_STYLE):
        figure, axes = _grid(len(chosen))
        for axis, (name, group) in zip(axes, chosen.items(), strict=False):
            histories = [run["history"]["test_class_accuracy"].map(json.loads).tolist() for run in group]
            epochs = len(histories[0])
            for colour, epoch in zip(
                _COLOURS, sorted({max(1, epochs // 5), max(1, 2 * epochs // 5), epochs}), strict=False
            ):
                values = 100 * np.mean([history[epoch - 1] for history in histories], axis=0)
                axis.plot(values, marker="o", markersize=3, linewidth=1, color=colour, label=f"epoch {epoch}")
            axis.set(title=name, xlabel="class", ylabel="accuracy (%)", ylim=(-3, 103), xticks=range(len(values)))
            axis.legend(fontsize=6)
    return figure


def marginals(runs: list[Run]) -> Any:
    """Estimated against true ratios of every scenario, first seed, with the absolute difference."""
    cells = {name: next((r for r in group if r["metrics"] is not None), None) for name, group in _by_cell(runs).items()}
    known = {name: run for name, run in cells.items() if run is not None}
    with plt.rc_context(_STYLE):
        figure, axes = _grid(len(known))
        for axis, (name, run) in zip(axes, known.items(), strict=False):
            ratios = run["metrics"]["ratios"]
            true, estimated = (_over_positions(ratios[key]) for key in ("true", "estimated"))
            place = np.arange(len(true))
            axis.bar(place - 0.2, true, width=0.4, color=_COLOURS[5], label="true")
            axis.bar(place + 0.2, estimated, width=0.4, color=_COLOURS[0], label="Algorithm 1")
            axis.plot(place, np.abs(true - estimated), "x", color=_COLOURS[1], markersize=4, label="|difference|")
            axis.set(title=name, xlabel="class", ylabel="ratio", xticks=place)
            axis.legend(fontsize=6)
    return figure


def _over_positions(ratios: Any) -> Any:
    array = np.asarray(ratios)
    return array if array.ndim == 1 else array.mean(axis=0)


def sl_against_ilp(runs: list[Run]) -> Any:
    """Class accuracies of SL and of the ILP with Algorithm 1 (or gold ratios), with the hidden ratios behind."""
    wanted = ("sl", "ilp-alg1", "ilp-gold")
    cells = {
        name: [r for r in group if r["method"] in wanted and r["metrics"] is not None]
        for name, group in _by_cell(runs).items()
    }
    cells = {name: group for name, group in cells.items() if len({r["method"] for r in group}) > 1}
    with plt.rc_context(_STYLE):
        figure, axes = _grid(len(cells))
        for axis, (name, group) in zip(axes, cells.items(), strict=False):
            true = _over_positions(group[0]["metrics"]["ratios"]["true"])
            axis.bar(np.arange(len(true)), 100 * true / true.max(), color="#dddddd", label="hidden ratio (scaled)")
            for colour, method in zip(_COLOURS, wanted, strict=False):
                rows = [r["metrics"]["adjustments"]["none"]["class_accuracy"] for r in group if r["method"] == method]
                if rows:
                    values = 100 * np.nanmean(np.array(rows, dtype=float), axis=0)
                    axis.plot(values, marker="o", markersize=3, linewidth=1, color=colour, label=PRINTED[method])
            axis.set(title=name, xlabel="class", ylabel="accuracy (%)", ylim=(-3, 103), xticks=range(len(true)))
            axis.legend(fontsize=5)
    return figure


def accuracy_by_method(runs: list[Run]) -> Any:
    """Accuracy of every method and adjustment in every scenario, mean and standard deviation over seeds."""
    cells = _by_cell(runs)
    with plt.rc_context(_STYLE):
        figure, axes = _grid(len(cells), height=2.4)
        for axis, (name, group) in zip(axes, cells.items(), strict=False):
            methods = list(dict.fromkeys(run["method"] for run in group))
            for shift, colour, adjustment in zip((-0.25, 0, 0.25), _COLOURS, ("none", "la", "carot"), strict=False):
                values = [
                    [
                        100 * r["metrics"]["adjustments"][adjustment]["accuracy"]
                        for r in group
                        if r["method"] == m and r["metrics"]
                    ]
                    for m in methods
                ]
                means = [np.mean(v) if v else np.nan for v in values]
                spread = [np.std(v, ddof=1) if len(v) > 1 else 0 for v in values]
                place = np.arange(len(methods)) + shift
                axis.bar(
                    place,
                    means,
                    width=0.25,
                    yerr=spread,
                    color=colour,
                    label=PRINTED[adjustment],
                    error_kw={"linewidth": 0.7},
                )
            axis.set(title=name, ylabel="accuracy (%)", ylim=(0, 103))
            axis.set_xticks(range(len(methods)), [PRINTED[m] for m in methods], rotation=30, ha="right", fontsize=6)
        axes[0].legend(fontsize=6)
    return figure


def training_curves(runs: list[Run]) -> Any:
    """Loss and weak accuracy over the epochs of each method, first seed."""
    cells = _by_cell([run for run in runs if run["history"] is not None])
    with plt.rc_context(_STYLE):
        figure, axes = _grid(len(cells))
        for axis, (name, group) in zip(axes, cells.items(), strict=False):
            first: dict[str, pd.DataFrame] = {}
            for run in group:
                first.setdefault(run["method"], run["history"])
            for colour, (method, history) in zip(_COLOURS, first.items(), strict=False):
                axis.plot(
                    history["epoch"],
                    100 * history["validation_weak_accuracy"],
                    color=colour,
                    linewidth=1,
                    label=PRINTED[method],
                )
            axis.set(title=name, xlabel="epoch", ylabel="weak accuracy (%)", ylim=(0, 103))
            axis.legend(fontsize=5)
    return figure


def seconds_per_epoch(runs: list[Run]) -> Any:
    """Seconds an epoch of each method: what the linear program adds to the loss."""
    cells = _by_cell([run for run in runs if run["history"] is not None])
    methods = list(dict.fromkeys(run["method"] for run in runs))
    with plt.rc_context(_STYLE):
        figure, axis = plt.subplots(figsize=(6.4, 2.8))
        for index, (colour, method) in enumerate(zip(_COLOURS, methods, strict=False)):
            values = [
                np.median(
                    np.concatenate(
                        [r["history"]["seconds"].to_numpy() for r in group if r["method"] == method] or [[np.nan]]
                    )
                )
                for group in cells.values()
            ]
            axis.bar(
                np.arange(len(cells)) + (index - len(methods) / 2) * 0.8 / len(methods),
                values,
                width=0.8 / len(methods),
                color=colour,
                label=PRINTED[method],
            )
        axis.set(ylabel="seconds an epoch")
        axis.set_xticks(range(len(cells)), list(cells), rotation=20, ha="right", fontsize=6)
        axis.legend(fontsize=6)
    return figure


FIGURES = {
    "class_accuracy_over_epochs": class_accuracy_over_epochs,
    "marginals": marginals,
    "sl_against_ilp": sl_against_ilp,
    "accuracy_by_method": accuracy_by_method,
    "training_curves": training_curves,
    "seconds_per_epoch": seconds_per_epoch,
}
