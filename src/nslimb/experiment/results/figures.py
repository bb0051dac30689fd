"""The figures of the page, each from the published numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from nslimb.experiment import places as house
from nslimb.experiment.results.class_figures import draw_classes, draw_figure_2, draw_marginals, draw_order
from nslimb.experiment.results.data import PROTOCOLS, Place, Results, method_order, printed
from nslimb.experiment.results.frontier import frontier
from nslimb.plotting import BLUE, GREY, ORANGE, legend_above, panels, styled, subplots

_MARKS = "osD^v*PX<>hp"


@styled
def draw_frontier(results: Results) -> Any:
    """MAX and SUM cell by cell: the paper's best, our SL and recipe with exact inference, the ceiling."""
    frame = frontier(results)
    frame = frame[frame["benchmark"].isin(["max", "sum"])].reset_index(drop=True)
    figure, axes = subplots(size=(7.2, 2.9))
    axis, place = axes[0, 0], np.arange(len(frame))
    cells = [Place(row["benchmark"], row["M"], row["rho"]) for row in frame.to_dict("records")]
    plain = np.array([np.nan if (mean := results.mean(cell, "exact", "sl")) is None else mean for cell in cells], float)
    axis.vlines(place, frame["paper"], frame["recipe"], color="#bbbbbb", linewidth=1)
    axis.plot(place, frame["ceiling"], "_", color="black", markersize=12, label="identifiable ceiling")
    axis.plot(place, frame["recipe"], "o", color=BLUE, markersize=5, label="our recipe")
    axis.plot(place, plain, "o", color=BLUE, fillstyle="none", markersize=5, label="SL, exact inference")
    axis.plot(place, frame["paper"], "s", color=ORANGE, markersize=4, label="the paper's best method")
    axis.set(ylabel="test accuracy (%)", ylim=(None, 101))
    axis.set_xticks(place, [cell.title.replace(", rho=", "\n") for cell in cells], fontsize=6)
    axis.set_xlabel("cell (the long tail rho below its name)")
    axis.grid(axis="y", color="#eeeeee")
    legend_above(figure)
    return figure


@styled
def draw_accuracy(results: Results) -> Any:
    """All methods by cell: ours of both protocols, the paper's entries, and the ceiling."""
    cells = [cell for cell in results.cells() if cell.M != "2" or cell.benchmark != "max"]
    groups = list(dict.fromkeys((cell.benchmark, cell.M) for cell in cells))
    methods = sorted(set(results.runs["method"]), key=method_order)
    figure, axes = panels(len(groups), height=2.4)
    for axis, group in zip(axes, groups, strict=False):
        own = [cell for cell in cells if (cell.benchmark, cell.M) == group]
        for place, cell in enumerate(own):
            paper = results.at(results.distinct, cell)
            axis.plot(
                [place - 0.3] * len(paper), paper["paper_mean"], "x", color=GREY, markersize=3, label="the paper's"
            )
            for protocol, shift, colour in (("paper", -0.1, ORANGE), ("exact", 0.1, BLUE)):
                found = results.at(results.entries, cell, protocol)
                for method, mean in zip(found["method"], found["mean"], strict=True):
                    number = methods.index(method)
                    look = {"color": colour, "markersize": 3.5, "fillstyle": "none" if protocol == "paper" else "full"}
                    offset = place + shift + 0.02 * number
                    axis.plot(
                        offset, mean, _MARKS[number % len(_MARKS)], label=f"{printed(method)}, {protocol}", **look
                    )
            ceiling = _ceiling(results, cell)
            if ceiling is not None:
                axis.hlines(ceiling, place - 0.4, place + 0.4, color="black", linewidth=1, label="identifiable ceiling")
        axis.set(title=own[0].title.partition(", rho")[0], ylabel="accuracy (%)", xlabel="rho")
        axis.set_xticks(range(len(own)), [cell.rho for cell in own])
        axis.set_xlim(-0.6, len(own) - 0.4)
    legend_above(figure)
    return figure


def _ceiling(results: Results, cell: Place) -> float | None:
    known = [value for protocol in PROTOCOLS if (value := results.ceiling(cell, protocol)) is not None]
    return known[-1] if known else None


@styled
def draw_figure_1(results: Results) -> Any:
    """The paper's Figure 1: class accuracies of MAX-2 after 20, 40 and 100 epochs, the paper's and ours."""
    paper = pd.read_csv(house.REFERENCE / "class_accuracy.csv", dtype={"M": str, "rho": str})
    paper = paper[paper["figure"] == "fig1"]
    ours = results.at(results.epochs, Place("max", "2", "0"), "paper")
    figure, axes = panels(2, height=2.6, columns=2)
    for number, (series, part) in enumerate(paper.groupby("series", sort=False)):
        look = {"color": (GREY, ORANGE, BLUE)[number % 3], "markersize": 3, "linewidth": 1, "label": str(series)}
        axes[0].plot(part["class"], part["value"], "s--", **look)
        own = ours[ours["epoch"] == int(str(series).removeprefix("epoch "))]
        if len(own):
            means = np.mean([[float(x) for x in text.split()] for text in own["class_accuracy"]], axis=0)
            axes[1].plot(range(len(means)), means, "o-", **look)
    if not len(ours):
        axes[1].text(0.5, 0.5, "not run yet", ha="center", transform=axes[1].transAxes)
    for axis, title in zip(axes, ("the paper", "ours, protocol paper, mean over seeds"), strict=False):
        axis.set(title=title, xlabel="class", ylabel="accuracy (%)", ylim=(-3, 103), xticks=range(10))
    legend_above(figure)
    return figure


FIGURES: dict[str, tuple[str, Callable[[Results], Any]]] = {
    "frontier": ("Cell by cell: the paper's best method, ours, and what weak labels allow", draw_frontier),
    "accuracy": ("All methods by cell against the paper's entries and the ceiling", draw_accuracy),
    "classes": ("Accuracy of every class by cell", draw_classes),
    "marginals": ("True and estimated label ratios", draw_marginals),
    "figure_1": ("The paper's Figure 1: MAX-2, class by class", draw_figure_1),
    "figure_2": ("The paper's Figure 2: bounds on the class risks of MAX-2, from theory alone", draw_figure_2),
    "order": ("Predicted against measured order of the classes, rank 1 the hardest", draw_order),
}
