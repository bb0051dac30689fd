"""The page's figures class by class: accuracies, label ratios, risk bounds, and the order of difficulty."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from nslimb.experiment.results.data import FORMULAS, Place, Results, printed
from nslimb.experiment.results.difficulty import METHODS, agreements, measured
from nslimb.plotting import BLUE, COLOURS, ORANGE, legend_above, styled, subplots
from nslimb.sigma.library import FORMULA_CLASSES

_AREA = 6.0  # of a dot of one class
_ORDER_OF = {"bound": "the risk bound", "evidence": "the evidence"}
_RANKS = """\
Ranks run from 0, the easiest class of a cell, to 1, the hardest. Risk bound: at a partial risk of 0.01.
Evidence: samples of 1,000 that speak against the likeliest confusion, few for a hard class.
The size of a dot: how many classes of all cells have its two ranks."""


def _names(benchmark: str, number: int) -> list[str]:
    """The classes as ticks: digits and + - * for HWF, numbers elsewhere."""
    return [str(name) for name in FORMULA_CLASSES] if benchmark == FORMULAS else [str(label) for label in range(number)]


@styled
def draw_classes(results: Results) -> Any:
    """Accuracies of every class by cell, a row a cell in all panels: SL in both protocols, and the recipe."""
    means = {
        (which, cell): rows.groupby("class")["accuracy"].mean()
        for which in METHODS
        for cell in results.cells()
        if len(rows := _of_method(results, cell, *which))
    }
    cells = sorted({cell for _, cell in means}, key=lambda cell: cell.order)
    size = max((int(values.index.max()) + 1 for values in means.values()), default=10)
    figure, axes = subplots(1, len(METHODS), (7.2, 0.19 * len(cells) + 1.1))
    drawn = None
    for number, (axis, which) in enumerate(zip(axes.flat, METHODS, strict=True)):
        protocol, method = which
        axis.set(title=f"{printed(method)}, protocol {protocol}", xlabel="class")
        matrix = np.full((len(cells), size), np.nan)
        for row, cell in enumerate(cells):
            if (which, cell) in means:
                matrix[row, means[which, cell].index.to_numpy(int)] = means[which, cell]
            else:
                axis.text(size / 2 - 0.5, row, "not run", ha="center", va="center", fontsize=7)
        if cells:
            drawn = axis.imshow(matrix, aspect="auto", vmin=0, vmax=100, cmap="viridis", interpolation="nearest")
        for row in range(1, len(cells)):
            if cells[row].benchmark != cells[row - 1].benchmark:
                axis.axhline(row - 0.5, color="white", linewidth=2)
        axis.set_xticks(range(size), _names(FORMULAS if size > 10 else "", size), fontsize=7)
        axis.set_yticks(range(len(cells)), [cell.title for cell in cells] if number == 0 else [], fontsize=7)
        axis.tick_params(length=0)
    if drawn is not None:
        figure.colorbar(drawn, ax=axes, label="accuracy (%)", shrink=0.6, pad=0.01)
    return figure


def _of_method(results: Results, cell: Place, protocol: str, method: str) -> pd.DataFrame:
    rows = results.at(results.classes, cell, protocol)
    return rows[rows["method"] == method]


@styled
def draw_marginals(results: Results) -> Any:
    """True and estimated label ratios of every cell, first seed, mean over positions; one axis for all panels."""
    cells = [cell for cell in results.cells() if len(results.at(results.marginals, cell))]
    rows = _packed(cells, 5)
    figure, axes = subplots(max(1, len(rows)), 5, (7.2, 1.2 * len(rows) + 0.6))
    for axis in axes.flat:
        axis.set_visible(False)
    highest = 0.0
    for place, cell in ((place, cell) for row, own in enumerate(rows) for place, cell in enumerate(own, 5 * row)):
        axis = axes.flat[place]
        axis.set_visible(True)
        highest = max(highest, _draw_ratios(axis, cell, results.at(results.marginals, cell)))
        axis.set_title(cell.title, fontsize=7)
    for axis in axes.flat:
        axis.set(ylim=(0, 1.08 * highest or 1))
        axis.tick_params(labelsize=7, labelleft=axis in axes[:, 0])
    if rows:
        figure.supxlabel("class", fontsize=8)
        figure.supylabel("ratio", fontsize=8)
    legend_above(figure)
    return figure


def _packed(cells: list[Place], columns: int) -> list[list[Place]]:
    """Rows of panels: the cells of one M stay in one row, if they fit in any."""
    rows: list[list[Place]] = []
    groups: dict[tuple[str, str], list[Place]] = {}
    for cell in cells:
        groups.setdefault((cell.benchmark, cell.M), []).append(cell)
    for group in groups.values():
        for start in range(0, len(group), columns):
            part = group[start : start + columns]
            if rows and len(rows[-1]) + len(part) <= columns:
                rows[-1] += part
            else:
                rows.append(part)
    return rows


def _draw_ratios(axis: Any, cell: Place, rows: pd.DataFrame) -> float:
    """Bars of the true ratios and a mark for each estimate; the highest of them."""
    names = _names(cell.benchmark, int(rows["class"].max()) + 1)
    first = rows[rows["seed"] == rows["seed"].min()]
    means = first.groupby(["protocol", "class"])[["true", "estimated"]].mean()
    seed = f"seed {first['seed'].iloc[0]}"
    true = means["true"].groupby("class").first()  # both protocols draw from the same ratios
    axis.bar(true.index, true, color="#cccccc", width=0.8)
    axis.plot([], [], "s", color="#cccccc", label=f"true, {seed}")
    for protocol, mark, colour, beside in (("paper", "x", ORANGE, -0.16), ("exact", "+", BLUE, 0.16)):
        own = means["estimated"][means.index.get_level_values("protocol") == protocol].droplevel("protocol")
        look = {"color": colour, "markersize": 4, "label": f"estimated, protocol {protocol}, {seed}"}
        if len(own):
            axis.plot(own.index + beside, own, mark, **look)
    shown = [label for label in range(len(names)) if label % 2 == 0 or label > 9]
    axis.set_xticks(shown, [names[label] for label in shown])
    return float(means.to_numpy().max())


@styled
def draw_figure_2(results: Results) -> Any:
    """The paper's Figure 2: bounds on the class risks of MAX-2; classes beside each other where curves meet."""
    from matplotlib import colormaps

    cases = dict(iter(results.figure_2.groupby("case", sort=False)))
    figure, axes = subplots(1, max(1, len(cases)), (7.2, 3.0))
    if not cases:
        axes[0, 0].set_visible(False)
        figure.text(0.5, 0.5, "nothing to show in this grid", ha="center")
        return figure
    colours = colormaps["viridis"](np.linspace(0, 0.92, int(results.figure_2["class"].max()) + 1))
    for axis, (case, part) in zip(axes.flat, cases.items(), strict=True):
        for label, rows in part.groupby("class"):
            look = {"color": colours[int(str(label))], "linewidth": 1.2, "markersize": 2, "label": str(label)}
            axis.plot(rows["partial_risk"], rows["certified"], "o-", **look)
        axis.set(title=f"MAX-2, {case!s}", xlabel="partial risk", ylabel="bound on the class risk", ylim=(0, 1.02))
        axis.set(xlim=(0, part["partial_risk"].max()), xticks=np.linspace(0, part["partial_risk"].max(), 5))
        _draw_inset(axis, part, colours)
    handles = axes[0, 0].lines
    figure.legend(
        handles=handles,
        title="class",
        loc="outside upper center",
        ncols=len(handles),
        handlelength=1.2,
        columnspacing=1.2,
    )
    return figure


def _draw_inset(axis: Any, part: pd.DataFrame, colours: Any) -> None:
    """The bounds at one partial risk class by class, below curves that run too close to be told apart."""
    risks = np.sort(part["partial_risk"].unique())
    at = risks[len(risks) // 4]
    bounds = part[part["partial_risk"] == at].set_index("class")["certified"]
    if bounds.round(2).nunique() > len(bounds) / 2:
        return
    axis.axvline(at, color="#bbbbbb", linewidth=0.8, linestyle=":", zorder=0)
    inset = axis.inset_axes((0.62, 0.24, 0.36, 0.46))
    inset.bar(bounds.index, bounds, color=colours)
    for label, bound in zip(bounds.index, bounds.to_numpy(float), strict=True):
        inset.text(label, bound + 0.02, f"{bound:.3f}", rotation=90, ha="center", va="bottom", fontsize=7)
    inset.set(ylim=(0, 1.7 * bounds.max()), yticks=[])
    inset.spines["left"].set_visible(False)
    inset.set_xticks(bounds.index, bounds.index, fontsize=7)
    inset.set_xlabel("class", fontsize=7)
    inset.set_title(f"at a partial risk of {at:.3f}", fontsize=7)


@styled
def draw_order(results: Results) -> Any:
    """How often the class of each predicted rank has each measured rank, over the cells of a mean rank correlation.

    Ranks are scaled to [0, 1], 1 the hardest: HWF has 13 classes.
    """
    figure, axes = subplots(len(_ORDER_OF), len(METHODS), (7.2, 5.4))
    found, sizes = agreements(results), _sizes(results)
    shown = ((predictor, which) for predictor in _ORDER_OF for which in METHODS)
    for axis, (predictor, which) in zip(axes.flat, shown, strict=True):
        protocol, method = which
        own = [row for row in found if (row.protocol, row.method) == which and not np.isnan(getattr(row, predictor))]
        axis.plot([0, 1], [0, 1], color="#cccccc", linewidth=1, zorder=0)
        for size, colour in zip(sizes, COLOURS, strict=False):
            frames = [measured(results, row.place, protocol, method) for row in own]
            ranks = [_ranks(frame, predictor) for frame in frames if len(frame) == size]
            if ranks:
                pairs, often = np.unique(np.concatenate(ranks, axis=1), axis=1, return_counts=True)
                axis.scatter(*pairs, s=_AREA * often, color=colour, alpha=0.6, linewidths=0)
        mean = f"{np.mean([getattr(row, predictor) for row in own]):.2f}" if own else "-"
        title = f"{printed(method)}, protocol {protocol}\nmean rank correlation {mean} ({len(own)} cells)"
        axis.set_title(title, fontsize=7)
        axis.set(xlim=(-0.06, 1.06), ylim=(-0.06, 1.06), aspect="equal", xticks=(0, 0.5, 1), yticks=(0, 0.5, 1))
        axis.set(xlabel=f"rank by {_ORDER_OF[predictor]}", ylabel="rank by the measured error")
    for size, colour in zip(sizes, COLOURS, strict=False):
        label = f"cells of {size} classes" + (" (HWF)" if size == len(FORMULA_CLASSES) else "")
        axes[0, 0].scatter([], [], s=4 * _AREA, color=colour, alpha=0.6, linewidths=0, label=label)
    for count in (1, 5, 10):
        label = "1 class" if count == 1 else f"{count} classes"
        axes[0, 0].scatter([], [], s=_AREA * count, color="#888888", linewidths=0, label=label)
    legend_above(figure)
    figure.legends[0].set_title(_RANKS)
    figure.legends[0].set_alignment("left")
    return figure


def _sizes(results: Results) -> list[int]:
    """The numbers of classes of the cells."""
    return sorted({len(rows) for _, rows in results.predictions.groupby(["benchmark", "M", "rho"])})


def _ranks(frame: pd.DataFrame, predictor: str) -> Any:
    """Predicted and measured ranks of the classes of a cell, [2, c], from 0 for the easiest to 1 for the hardest."""
    hard = frame[predictor] if predictor == "bound" else -frame[predictor]  # little evidence makes a class hard
    return (np.stack([rankdata(hard), rankdata(frame["error"])]) - 1) / (len(frame) - 1)
