"""The frontier: our best against the paper's best, cell by cell, and what is left to the ceiling."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nslimb.experiment.chance import signed
from nslimb.experiment.results.data import FULL, PROTOCOLS, Place, Results, on_other_images, printed, without_oracles
from nslimb.experiment.results.layout import markdown, not_run, shown

RECIPE = "recipe"
UNAUGMENTED = "recipe-plain"  # the recipe on images as they are


def frontier(results: Results) -> pd.DataFrame:
    """By cell the best weakly supervised entry of the paper and of ours, the recipe's, the ceiling; NaN if missing."""
    rows = []
    for place in results.cells():
        paper = results.at(results.distinct, place)
        if not len(paper):
            continue
        paper = without_oracles(paper).sort_values("paper_mean").iloc[-1]
        entries = without_oracles(results.at(results.entries, place))
        ours = _as_often_run(entries[~on_other_images(entries)])
        # The first of those that tie: without adjustment.
        best = ours.iloc[int(ours["mean"].argmax())] if len(ours) else None
        ceilings = [value for protocol in PROTOCOLS if (value := results.ceiling(place, protocol)) is not None]
        rows.append(
            {
                **place._asdict(),
                "paper": paper["paper_mean"],
                "paper_std": paper["paper_std"],
                "paper_by": printed(paper["method"], paper["adjustment"]),
                "ours": np.nan if best is None else best["mean"],
                "ours_std": np.nan if best is None else best["std"],
                "ours_by": ""
                if best is None
                else f"{printed(best['method'], best['adjustment'])}, `{best['protocol']}`",
                "sl": _number(results.mean(place, "exact", "sl")),
                "recipe": _number(results.mean(place, "exact", RECIPE)),
                "recipe_plain": _number(results.mean(place, "exact", UNAUGMENTED)),
                "ceiling": ceilings[-1] if ceilings else np.nan,
                "supervised": _number(results.mean(place, "exact", "supervised")),
            }
        )
    return pd.DataFrame(rows)


def _as_often_run(entries: pd.DataFrame) -> pd.DataFrame:
    """Entries of a cell with as many seeds as any other of their protocol: a mean of fewer wins by luck more often."""
    return entries[entries["seeds"] == entries.groupby("protocol")["seeds"].transform("max")]


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _told(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"


def section(results: Results) -> str:
    """The frontier in words and as a table."""
    frame = frontier(results)
    own = ["our best", "by", "ahead by", *map(printed, (RECIPE, UNAUGMENTED))]
    lines = [["cell", "the paper's best", "by", *own, "identifiable ceiling", "left to it"]]
    for row in frame.to_dict("records"):
        place = Place(row["benchmark"], row["M"], row["rho"])
        ahead, left = row["ours"] - row["paper"], row["ceiling"] - row["ours"]
        best = "-" if np.isnan(row["ours"]) else shown(row["ours"], row["ours_std"])
        numbers = [best, row["ours_by"] or "-", signed(ahead, 2), _told(row["recipe"]), _told(row["recipe_plain"])]
        ends = [_told(row["ceiling"]), _told(left)]
        reduced = "" if place.benchmark in FULL else " (reduced)"
        lines.append(
            [f"{place.title}{reduced}", shown(row["paper"], row["paper_std"]), row["paper_by"], *numbers, *ends]
        )
    scored = frame[frame["benchmark"].isin(FULL)]
    run = scored.dropna(subset="ours")
    text = [
        "The best of each cell is chosen by test accuracy on both sides, among methods, adjustments and, for ours, "
        "protocols, as one reads a table; the recipe is one method, chosen on other seeds of six of these cells, on "
        "augmented images and on images as they are, which the paper's methods see. Oracles are left out, and so are "
        "HWF's adjustments, which are measured on other test images. HWF and Smallest Parent are reduced, so that "
        "their rows say little of the methods."
    ]
    if len(run):
        ahead = run["ours"] - run["paper"]
        told = (
            f"**Our best is ahead of the paper's in {int((ahead > 0).sum())} of {len(run)} MAX and SUM cells, by "
            f"{signed(ahead.mean(), 2)} "
        )
        text.append(f"{told}points on average**{not_run(len(scored) - len(run), len(scored), 'cells')}.")
        alone = {
            "recipe": "The recipe alone is",
            "recipe_plain": "On images as they are it is",
            "sl": "Plain SL, which is exact inference and no mitigation, is",
        }
        for column, words in alone.items():
            apart = (run[column] - run["paper"]).dropna()
            if len(apart):
                number = f"{int((apart > 0).sum())} of {len(apart)}"
                text.append(f"{words} ahead in {number}, by {signed(apart.mean(), 2)} points on average.")
        left = (run["ceiling"] - run["ours"]).dropna()
        if len(left):
            text.append(f"To the identifiable ceiling {left.mean():.2f} points are left on average.")
    else:
        text.append("No MAX or SUM cell has been run yet.")
    return "\n\n".join([*text, markdown(lines).rstrip()]) + "\n"
