"""The README's opening table, from the published numbers, between two marks."""

from __future__ import annotations

from textwrap import fill

import numpy as np
import pandas as pd

from nslimb.experiment.results.data import CELL, FULL, TITLES, Results
from nslimb.experiment.results.frontier import RECIPE, frontier
from nslimb.experiment.results.layout import between_marks, markdown

BEGIN, END = "<!-- results: written by `make results` -->", "<!-- end of results -->"
_COLUMNS = {
    "paper_sl": "the paper's SL",
    "paper": "the paper's best method",
    "sl": "SL, exact inference",
    "recipe_plain": "our recipe",
    "recipe": "our recipe, augmented",
    "ceiling": "identifiable ceiling",
}
_OWN = [key for key in _COLUMNS if key != "ceiling"]  # one of which is the best


def opening(results: Results) -> pd.DataFrame:
    """By benchmark and M, the mean over the long tails that are complete; ``cells`` says how many those are."""
    frame = frontier(results)
    frame = frame[frame["benchmark"].isin(FULL)]
    printed = results.distinct[(results.distinct["method"] == "sl") & (results.distinct["adjustment"] == "none")]
    frame = frame.merge(printed[[*CELL, "paper_mean"]].rename(columns={"paper_mean": "paper_sl"}), on=CELL)
    whole = frame.dropna(subset=list(_COLUMNS))
    grouped = whole.groupby(["benchmark", "M"], sort=False)
    means: pd.DataFrame = grouped[list(_COLUMNS)].mean().assign(cells=grouped.size()).reset_index()
    return means


def block(results: Results) -> str:
    """The table and the figure; nothing where nothing has been run."""
    frame = opening(results)
    if not len(frame):
        return ""
    lines = [["mean accuracy (%)", "cells", *_COLUMNS.values()]]
    for row in frame.to_dict("records"):
        numbers = [f"{row[key]:.1f}" for key in _COLUMNS]
        best = max(_OWN, key=lambda key: row[key])
        numbers[list(_COLUMNS).index(best)] = f"**{row[best]:.1f}**"
        lines.append([f"{TITLES[row['benchmark']]}-{row['M']}", str(row["cells"]), *numbers])
    told = (
        f"Over the {int(frame['cells'].sum())} MAX and SUM cells that have been run ({_seeds(results)}), with the "
        f"paper's samples, images and network, exact inference alone is {_apart(frame, 'sl')} the best method that the "
        f"paper prints for each cell, on average, our recipe {_apart(frame, 'recipe_plain')}, and with augmented "
        f"images {_apart(frame, 'recipe')}. "
        "[docs/results.md](docs/results.md) has every table, in two protocols, and what holds of the paper's claims."
    )
    figure = "![Cell by cell: the paper's best method, ours, and what weak labels allow](docs/results/frontier.png)"
    return f"{figure}\n\n{markdown(lines)}\n{fill(told, 120)}\n"


def _apart(frame: pd.DataFrame, key: str) -> str:
    """How far a column is from the paper's best, mean over cells."""
    gain = float(np.average(frame[key] - frame["paper"], weights=frame["cells"]))
    return f"{abs(gain):.1f} points {'above' if gain > 0 else 'below'}"


def _seeds(results: Results) -> str:
    """How many seeds the recipe's means are over."""
    entries = results.entries[(results.entries["protocol"] == "exact") & (results.entries["method"] == RECIPE)]
    entries = entries[entries["benchmark"].isin(FULL)]
    least, most = int(entries["seeds"].min()), int(entries["seeds"].max())
    return f"{most} seed{'s' * (most > 1)}" if least == most else f"{least} to {most} seeds"


def inserted(readme: str, results: Results) -> str:
    """The README with its block written anew."""
    return between_marks(readme, BEGIN, END, block(results), "README.md")
