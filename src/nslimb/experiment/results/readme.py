"""The README's opening table, from the published numbers, between two marks."""

from __future__ import annotations

from textwrap import fill

import numpy as np
import pandas as pd

from nslimb.experiment.results.data import TITLES, Results
from nslimb.experiment.results.frontier import RECIPE, frontier
from nslimb.experiment.results.layout import between_marks, markdown

BEGIN, END = "<!-- results: written by `make results` -->", "<!-- end of results -->"
_COLUMNS = {
    "paper_sl": "the paper's SL",
    "paper": "the paper's best method",
    "sl": "SL, exact inference",
    "recipe": "our recipe, augmented",
    "ceiling": "identifiable ceiling",
}


def opening(results: Results) -> pd.DataFrame:
    """By benchmark and M, the mean over the long tails that are complete; ``cells`` says how many those are."""
    frame = frontier(results)
    frame = frame[frame["benchmark"].isin(["max", "sum"])]
    printed = results.distinct[(results.distinct["method"] == "sl") & (results.distinct["adjustment"] == "none")]
    plain = results.entries[
        (results.entries["protocol"] == "exact")
        & (results.entries["method"] == "sl")
        & (results.entries["adjustment"] == "none")
    ]
    keys = ["benchmark", "M", "rho"]
    frame = frame.merge(printed[[*keys, "paper_mean"]].rename(columns={"paper_mean": "paper_sl"}), on=keys)
    frame = frame.merge(plain[[*keys, "mean"]].rename(columns={"mean": "sl"}), how="left", on=keys)
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
        numbers[3] = f"**{numbers[3]}**" if row["recipe"] >= max(row["sl"], row["paper"]) else numbers[3]
        lines.append([f"{TITLES[row['benchmark']]}-{row['M']}", str(row["cells"]), *numbers])
    gain = float(np.average(frame["recipe"] - frame["paper"], weights=frame["cells"]))
    apart = f"{abs(gain):.1f} points {'above' if gain > 0 else 'below'}"
    told = (
        f"Over the {int(frame['cells'].sum())} MAX and SUM cells that have been run ({_seeds(results)}), with the "
        f"paper's samples and network, our recipe, on augmented images, is {apart} the best method that the paper "
        "prints for each cell, on average. [docs/results.md](docs/results.md) has every table, in two protocols, and "
        "what holds of the paper's claims."
    )
    figure = "![Cell by cell: the paper's best method, ours, and what weak labels allow](docs/results/frontier.png)"
    return f"{figure}\n\n{markdown(lines)}\n{fill(told, 120)}\n"


def _seeds(results: Results) -> str:
    """How many seeds the recipe's means are over."""
    entries = results.entries[(results.entries["protocol"] == "exact") & (results.entries["method"] == RECIPE)]
    least, most = int(entries["seeds"].min()), int(entries["seeds"].max())
    return f"{most} seed{'s' * (most > 1)}" if least == most else f"{least} to {most} seeds"


def inserted(readme: str, results: Results) -> str:
    """The README with its block written anew."""
    return between_marks(readme, BEGIN, END, block(results), "README.md")
