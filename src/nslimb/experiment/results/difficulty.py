"""Class difficulty: what was predicted before training against the class errors that were measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from nslimb.experiment.results.data import Place, Results, printed
from nslimb.experiment.results.layout import markdown

PREDICTORS = {"bound": "risk bound", "evidence": "evidence of `confusions`", "rarity": "rarity of the class"}
_GOAL = 0.8
METHODS = (("paper", "sl"), ("exact", "sl"), ("exact", "recipe"))


class Agreement(NamedTuple):
    """Rank correlations of one method on one cell with each predictor; NaN where either side is constant.

    Rarity, the ratio of the class itself, is what a predictor has to beat. The last two are with the order in a single
    seed, mean over seeds: of the evidence, and of the mean of the other seeds, which is what training itself tells.
    """

    protocol: str
    method: str
    place: Place
    bound: float
    evidence: float
    rarity: float
    evidence_of_one: float
    others_of_one: float


def errors(results: Results, place: Place, protocol: str, method: str) -> pd.DataFrame:
    """The error of each class of a cell in per cent, a column a seed."""
    classes = results.at(results.classes, place, protocol)
    own = classes[classes["method"] == method]
    return 100 - own.pivot_table(index="class", columns="seed", values="accuracy")


def measured(results: Results, place: Place, protocol: str, method: str) -> pd.DataFrame:
    """The classes of a cell: predictors, and the error in per cent, mean over seeds."""
    error = errors(results, place, protocol, method).mean(axis="columns")
    predicted = results.at(results.predictions, place).set_index("class")[["bound", "evidence", "ratio"]].astype(float)
    return predicted.join(error.rename("error"), how="inner").dropna(subset="error")


def agreements(results: Results) -> list[Agreement]:
    """Every cell on which a method has run and classes have been predicted."""
    found = []
    for protocol, method in METHODS:
        for place in results.cells():
            frame = measured(results, place, protocol, method)
            if len(frame) > 2:
                scores = (frame["bound"], -frame["evidence"], -frame["ratio"])  # little of these makes a class hard
                bound, evidence, rarity = (_correlation(score, frame["error"]) for score in scores)
                by_seed = errors(results, place, protocol, method).loc[frame.index]
                of_one = _of_one(by_seed, scores[1])
                found.append(Agreement(protocol, method, place, bound, evidence, rarity, *of_one))
    return found


def _of_one(by_seed: pd.DataFrame, score: pd.Series) -> tuple[float, float]:
    """Mean rank correlation of a score, and of the mean of the other seeds, with each seed's errors."""
    if len(by_seed.columns) < 2:
        return float("nan"), float("nan")
    pairs = [(by_seed[seed], by_seed.drop(columns=seed).mean(axis="columns")) for seed in by_seed]
    evidence = [_correlation(score, error) for error, _ in pairs]
    others = [_correlation(other, error) for error, other in pairs]
    return float(np.mean(evidence)), float(np.mean(others))


def _correlation(score: pd.Series, error: pd.Series) -> float:
    if score.isna().any() or score.nunique() < 2 or error.nunique() < 2:
        return float("nan")
    return float(spearmanr(score, error).statistic)


def _beside_seeds(found: list[Agreement]) -> list[list[str]]:
    """By method, how well the evidence and the other seeds tell the order of the classes in one seed."""
    lines = [["against a single seed", "evidence of `confusions`", "the other seeds"]]
    for protocol, method in METHODS:
        own = [row for row in found if (row.protocol, row.method) == (protocol, method)]
        if own:
            numbers = [[getattr(row, key) for row in own] for key in ("evidence_of_one", "others_of_one")]
            lines.append([f"{printed(method)}, `{protocol}`", *map(_mean, numbers)])
    return lines


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
        "no adjustment), mean over cells (how many, in brackets; cells where all classes tie, and those whose bounds "
        "are too large to compute, are left out). All three predictors are given the true ratios. The risk bound is at "
        "a partial risk of 0.01; the evidence is how many of 1,000 samples are expected to contradict taking the class "
        "for its likeliest rival (`confusions`): few make a class hard. Rarity is what both have to beat. MAX has "
        "MAX-2 too in `paper`.",
        markdown(lines).rstrip(),
    ]
    if both:
        bound, evidence, rarity = (float(np.mean([getattr(row, key) for row in both])) for key in PREDICTORS)
        better = "the evidence" if evidence > bound else "the risk bound" if bound > evidence else "neither"
        text.append(
            f"**The better predictor is {better}**: {bound:.2f} for the risk bound and {evidence:.2f} for the "
            f"evidence on average over the {len(both)} pairs of cell and method where both are known, and {rarity:.2f} "
            f"for rarity alone; the goal of {_GOAL} is {'met' if max(bound, evidence) >= _GOAL else 'not met'}."
        )
    several = [row for row in found if not np.isnan(row.evidence_of_one + row.others_of_one)]
    if several:
        evidence, others = (
            float(np.mean([getattr(row, key) for row in several])) for key in ("evidence_of_one", "others_of_one")
        )
        text.append(
            "How much is there to predict? The order of the classes depends on the seed. Against the order in a single "
            "seed, the mean error of the method's other seeds has a rank correlation of "
            f"{others:.2f}, and the evidence, given the true ratios, {evidence:.2f} (the {len(several)} pairs of "
            f"cell and method with several seeds):\n\n{markdown(_beside_seeds(several)).rstrip()}"
        )
    return "\n\n".join(text) + "\n"
