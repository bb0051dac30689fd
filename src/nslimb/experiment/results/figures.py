"""The figures of the page, each from the published numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from nslimb.experiment import places as house
from nslimb.experiment.results.class_figures import draw_classes, draw_figure_2, draw_marginals, draw_order
from nslimb.experiment.results.data import (
    ADJUSTMENTS,
    CHANGED,
    FEW,
    FORMULAS,
    FULL,
    TITLES,
    Place,
    Results,
    is_oracle,
    method_order,
    on_other_images,
    printed,
)
from nslimb.experiment.results.frontier import frontier
from nslimb.plotting import BLUE, GREY, ORANGE, legend_above, panels, styled, subplots

_MARKS = "osD^v*PX<>hp"


@styled
def draw_frontier(results: Results) -> Any:
    """MAX and SUM cell by cell: the paper's best, our SL and recipe with exact inference, the identifiable ceiling."""
    frame = frontier(results)
    frame = frame[frame["benchmark"].isin(FULL)].reset_index(drop=True)
    figure, axes = subplots(size=(7.2, 2.9))
    axis, place = axes[0, 0], np.arange(len(frame))
    cells = [Place(row["benchmark"], row["M"], row["rho"]) for row in frame.to_dict("records")]
    axis.vlines(place, frame["paper"], frame["recipe"], color="#bbbbbb", linewidth=1)
    axis.plot(place, frame["ceiling"], "_", color="black", markersize=12, label="identifiable ceiling")
    axis.plot(place, frame["recipe"], "D", color=BLUE, markersize=4, label="our recipe, augmented")
    axis.plot(place, frame["recipe_plain"], "D", color=BLUE, fillstyle="none", markersize=4, label="our recipe")
    axis.plot(place, frame["sl"], "o", color=BLUE, fillstyle="none", markersize=5, label="SL, exact inference")
    axis.plot(place, frame["paper"], "s", color=ORANGE, markersize=4, label="the paper's best method")
    axis.set(ylabel="test accuracy (%)", ylim=(None, 101))
    axis.set_xticks(place, [cell.title.replace(", rho=", "\n") for cell in cells], fontsize=6)
    axis.set_xlabel("cell (the long tail rho below its name)")
    axis.grid(axis="y", color="#eeeeee")
    legend_above(figure)
    return figure


# What an accuracy is of, the place beside its method's own, and how it looks.
_SOURCES: dict[str, tuple[float, dict[str, Any]]] = {
    "the paper's": (-0.25, {"color": GREY}),
    "ours, protocol paper": (0.0, {"color": ORANGE, "fillstyle": "none"}),
    "ours, protocol exact": (0.25, {"color": BLUE}),
}
_TICKS = {"la": 0, "carot": 1}  # matplotlib's ticks to the left and to the right


@styled
def draw_accuracy(results: Results) -> Any:
    """All methods by cell: ours of both protocols, the paper's entries, and the ceiling; a place a method.

    HWF's adjustments are left out: they are measured on other test images.
    """
    groups = _groups([cell for cell in results.cells() if cell.M != "2" or cell.benchmark != "max"])
    shown = _accuracies(results)
    methods = sorted(set(shown["method"]), key=method_order)
    rows = max(1, -(-len(groups) // 2))
    figure, axes = subplots(rows, 2, (7.2, 2.2 * rows + 1.0))
    for axis in axes.flat[len(groups) :]:
        axis.set_visible(False)
    for number, (axis, (title, cells)) in enumerate(zip(axes.flat, groups.items(), strict=False)):
        if number % 2:
            axis.sharey(axes.flat[number - 1])
        here = pd.concat([results.at(shown, cell) for cell in cells])
        places = [method for method in methods if method in set(here["method"])]
        for place, cell in enumerate(cells):
            if place % 2:
                axis.axvspan(place - 0.5, place + 0.5, color="#f4f4f4", linewidth=0)
            ceiling = results.ceiling(cell, "exact")
            if ceiling is not None:
                axis.hlines(ceiling, place - 0.46, place + 0.46, color="black", linewidth=1)
            for (source, method), own in results.at(here, cell).groupby(["source", "method"], sort=False):
                beside, look = _SOURCES[str(source)]
                slot = place + 0.9 * ((places.index(method) + 0.5 + beside) / len(places) - 0.5)
                _draw_method(axis, slot, own, _MARKS[methods.index(method) % len(_MARKS)], look)
        several = len({cell.M for cell in cells}) > 1
        names = [cell.title.replace(", ", "\n") if several else f"rho={cell.rho}" for cell in cells]
        axis.set_xticks(range(len(cells)), names, fontsize=7)
        axis.tick_params(axis="x", length=0)
        axis.set(title=title, xlim=(-0.5, len(cells) - 0.5))
        axis.grid(axis="y", color="#e4e4e4", linewidth=0.5)
        axis.set_axisbelow(True)
        if number % 2 == 0:
            axis.set_ylabel("test accuracy (%)")
    if groups:
        _name_looks(axes.flat[0], methods)
        entries = axes[0, 0].get_legend_handles_labels()
        title = "In each cell, methods stand from left to right in this order."
        figure.legend(*entries, title=title, loc="outside upper center", ncols=4)
    return figure


def _groups(cells: list[Place]) -> dict[str, list[Place]]:
    """The cells of a panel by its title: those of a benchmark, or of one M where a benchmark has many."""
    groups: dict[str, list[Place]] = {}
    for cell in cells:
        many = sum(other.benchmark == cell.benchmark for other in cells) > 6
        name = cell.title.partition(", rho")[0] if many else TITLES.get(cell.benchmark, cell.benchmark)
        groups.setdefault(f"{name}, ours without adjustment" if cell.benchmark == FORMULAS else name, []).append(cell)
    return groups


def _accuracies(results: Results) -> pd.DataFrame:
    """The means that are drawn, the paper's and ours of the same test images, by ``source``."""
    ours = results.entries[~on_other_images(results.entries)]
    paper = results.distinct.assign(source="the paper's", mean=results.distinct["paper_mean"])
    keys = ["source", "benchmark", "M", "rho", "method", "adjustment", "mean"]
    joined: pd.DataFrame = pd.concat([paper[keys], ours.assign(source="ours, protocol " + ours["protocol"])[keys]])
    return joined


def _draw_method(axis: Any, place: float, own: pd.DataFrame, mark: str, look: dict[str, Any]) -> None:
    """A method on a cell: its mark without adjustment, and a tick each for LA and CAROT, on one line."""
    means = own.set_index("adjustment")["mean"]
    axis.vlines(place, means.min(), means.max(), color=look["color"], linewidth=0.6)
    for adjustment, mean in means.items():
        if adjustment in _TICKS:
            axis.plot(place, mean, marker=_TICKS[str(adjustment)], color=look["color"], markersize=2.6)
        else:
            axis.plot(place, mean, mark, markersize=3.8, markeredgewidth=0.7, **look)


def _name_looks(axis: Any, methods: list[str]) -> None:
    """Nothing that is seen but in the legend."""
    name = partial(axis.plot, [], [], linestyle="none", markersize=4)
    for source, (_, look) in _SOURCES.items():
        name(marker="o", label=source, **look)
    for adjustment, tick in _TICKS.items():
        name(marker=tick, color="black", label=f"with {ADJUSTMENTS[adjustment]}")
    axis.plot([], [], color="black", linewidth=1, label="identifiable ceiling, protocol exact")
    for number, method in enumerate(methods):
        label = printed(method) + (", oracle" if is_oracle(method) else "")
        name(marker=_MARKS[number % len(_MARKS)], color="black", label=label)


@styled
def draw_figure_1(results: Results) -> Any:
    """The paper's Figure 1: class accuracies of MAX-2 after 20, 40 and 100 epochs, the paper's and ours."""
    paper = pd.read_csv(house.REFERENCE / "class_accuracy.csv", dtype={"M": str, "rho": str})
    paper = paper[paper["figure"] == "fig1"]
    epochs = results.at(results.epochs, Place("max", "2", "0"), "paper")
    figure, axes = panels(3, height=2.6, columns=3)
    for number, (series, part) in enumerate(paper.groupby("series", sort=False)):
        look = {"color": (GREY, ORANGE, BLUE)[number % 3], "markersize": 3, "linewidth": 1, "label": str(series)}
        axes[0].plot(part["class"], part["value"], "s--", **look)
        for axis, method in zip(axes[1:], ("sl", FEW), strict=True):
            own = epochs[(epochs["method"] == method) & (epochs["epoch"] == int(str(series).removeprefix("epoch ")))]
            if len(own):
                means = np.mean([[float(x) for x in text.split()] for text in own["class_accuracy"]], axis=0)
                axis.plot(range(len(means)), means, "o-", **look)
    for axis in axes[1:]:
        if not axis.lines:
            axis.text(0.5, 0.5, "not run yet", ha="center", transform=axis.transAxes)
    for axis, title in zip(axes, ("the paper", "ours, 3,000 samples", f"ours, {CHANGED[FEW][1]}"), strict=True):
        axis.set(title=title, xlabel="class", ylabel="accuracy (%)", ylim=(-3, 103), xticks=range(10))
    legend_above(figure)
    return figure


FIGURES: dict[str, tuple[str, Callable[[Results], Any]]] = {
    "frontier": ("Cell by cell: the paper's best method, ours, and what weak labels allow", draw_frontier),
    "accuracy": ("All methods by cell against the paper's entries and the ceiling", draw_accuracy),
    "classes": ("Accuracy of every class by cell", draw_classes),
    "marginals": ("True and estimated label ratios", draw_marginals),
    "figure_1": ("The paper's Figure 1: MAX-2, class by class; ours with one proof, mean over seeds", draw_figure_1),
    "figure_2": ("The paper's Figure 2: bounds on the class risks of MAX-2, from theory alone", draw_figure_2),
    "order": ("Predicted against measured order of the classes, rank 1 the hardest", draw_order),
}
