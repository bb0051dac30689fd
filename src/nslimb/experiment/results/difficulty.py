"""Class difficulty: what was predicted before training against the class errors that were measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from nslimb.experiment.results.data import Place, Results, printed
from nslimb.experiment.results.layout import markdown

PREDICTORS = {"bound": "risk bound", "evidence": "evidence of `confusions`"}
METHODS = (("paper", "sl"), ("exact", "sl"), ("exact", "recipe"))


class Agreement(NamedTuple):
    """Rank correlations of one method on one cell with each predictor; NaN where either side is constant."""

    protocol: str
    method: str
    place: Place
    bound: float
    evidence: float


def measured(results: Results, place: Place, protocol: str, method: str) -> pd.DataFrame:
    """The classes of a cell: predictors, and the error in per cent, mean over seeds."""
    classes = results.at(results.classes, place, protocol)
    error = 100 - classes[classes["method"] == method].groupby("class")["accuracy"].mean()
    predicted = results.at(results.predictions, place).set_index("class")[["bound", "evidence"]].astype(float)
    return predicted.join(error.rename("error"), how="inner").dropna(subset="error")


def agreements(results: Results) -> list[Agreement]:
    """Every cell on which a method has run and classes have been predicted."""
    found = []
    for protocol, method in METHODS:
        for place in results.cells():
            frame = measured(results, place, protocol, method)
            if len(frame) > 2:
                scores = (frame["bound"], -frame["evidence"])  # little evidence makes a class hard
                bound, evidence = (_correlation(score, frame["error"]) for score in scores)
                found.append(Agreement(protocol, method, place, bound, evidence))
    return found


def _correlation(score: pd.Series, error: pd.Series) -> float:
    if score.isna().any() or score.nunique() < 2 or error.nunique() < 2:
        return float("nan")
    return float(spearmanr(score, error).statistic)


def _mean(values: list[float]) -> str:
    known = [value for value in values if not np.isnan(value)]
    return f"{np.mean(known):.2f} ({len(known)})" if known else "-"


def section(results: Results) -> str:
    """Mean rank correlations by method and benchmark, and which predictor is better."""
    found = agreements(results)
    if not found:
        return "No cell with predictions has been run yet.\n"
    benchmarks = list(dict.fromkeys(row.place.benchmark for row in found))
    lines = [["", *(Place(name, "2", "0").title.split(",")[0].split("-")[0] for name in benchmarks), "all cells"]]
    for protocol, method in METHODS:
        own = [row for row in found if (row.protocol, row.method) == (protocol, method)]
        for key, name in PREDICTORS.items():
            groups = [[row for row in own if row.place.benchmark == benchmark] for benchmark in benchmarks]
            numbers = [_mean([getattr(row, key) for row in group]) for group in [*groups, own]]
            if own:
                lines.append([f"{printed(method)}, `{protocol}`: {name}", *numbers])
    both = [row for row in found if not np.isnan(row.bound) and not np.isnan(row.evidence)]
    text = [
        "Spearman's rank correlation of the classes' predicted difficulty and their measured error (mean over seeds, "
        "no "
        "adjustment), mean over cells (how many, in brackets; cells where all classes tie are left out). The risk "
        "bound is at a "
        "partial risk of 0.01; the evidence is the number of samples that speak against the likeliest confusion.",
        markdown(lines).rstrip(),
    ]
    if both:
        bound, evidence = (float(np.mean([getattr(row, key) for row in both])) for key in PREDICTORS)
        better = "the evidence" if evidence > bound else "the risk bound" if bound > evidence else "neither"
        text.append(
            f"**The better predictor is {better}**: {bound:.2f} for the risk bound and {evidence:.2f} for the "
            "evidence on average "
            f"over the {len(both)} pairs of cell and method where both are known; the goal of 0.8 is "
            f"{'met' if max(bound, evidence) >= 0.8 else 'not met'}."
        )
    return "\n\n".join(text) + "\n"
