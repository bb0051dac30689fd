"""``python -m nslimb.experiment.results.predictions``: which classes are hard, as known before training.

For every cell of marginals.csv the risk bound of each class at a partial risk of 0.01, and how many of 1,000 samples
speak against reading it as another one: predictions.csv. Bounds may take a minute a cell; what is there is not computed
again.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from nslimb.arrays import FloatArray
from nslimb.errors import NslimbError, TooLarge
from nslimb.experiment.benchmarks import BENCHMARKS
from nslimb.experiment.results.data import FOLDER, Place, load
from nslimb.experiment.tables import write_csv
from nslimb.sigma.component import Sigma

_RISK = 0.01
SAMPLES = 1000
_NEAR = 0.02  # total variation of ratios that counts as the same cell: two protocols draw from nearly the same images


def true_ratios(marginals: pd.DataFrame) -> dict[Place, FloatArray]:
    """The hidden ratios of each cell, [c] or [M, c] where positions differ, of the first seed of the first protocol."""
    found: dict[Place, FloatArray] = {}
    ordered = marginals.sort_values(["protocol", "seed"], ascending=[False, True], kind="stable")
    for keys, part in ordered.groupby(["benchmark", "M", "rho"], sort=False):
        first = part[(part["protocol"] == part["protocol"].iloc[0]) & (part["seed"] == part["seed"].iloc[0])]
        rows = [group["true"].to_numpy() for _, group in first.groupby("position", sort=False)]
        found[Place(*map(str, keys))] = rows[0] if len(rows) == 1 else np.array(rows)
    return found


def predict(sigma: Sigma, ratios: FloatArray) -> pd.DataFrame:
    """By class the bound on its risk, and the samples of 1,000 that speak against the likeliest confusion."""
    from nslimb.theory.bounds import class_risk_bounds
    from nslimb.theory.confusions import confusions

    shares = np.atleast_2d(ratios).mean(axis=0)
    bound, evidence = np.full((2, len(shares)), np.nan)
    try:
        bound = class_risk_bounds(sigma, shares, _RISK, certify=False).upper
    except TooLarge as error:
        print(f"  no bound: {error}")
    try:
        against = confusions(sigma, ratios, SAMPLES).evidence
        evidence = np.where(np.eye(len(shares), dtype=bool), np.inf, against).min(axis=1)
    except TooLarge as error:
        print(f"  no evidence: {error}")
    return pd.DataFrame({"class": range(len(shares)), "ratio": shares, "bound": bound, "evidence": evidence})


def write_predictions(folder: Path) -> int:
    """Complete predictions.csv of a folder; the number of cells that were computed."""
    results = load(folder)
    parts, computed = [], 0
    for place, ratios in sorted(true_ratios(results.marginals).items(), key=lambda item: item[0].order):
        known = results.at(results.predictions, place)
        shares = np.atleast_2d(ratios).mean(axis=0)
        fits = len(known) == len(shares) and np.abs(known["ratio"].to_numpy(float) - shares).sum() / 2 < _NEAR
        if not fits and place.benchmark in BENCHMARKS:
            print(f"{place.title}", flush=True)
            sigma = BENCHMARKS.get(place.benchmark).sigma(int(place.M))
            known = predict(sigma, ratios).assign(**place._asdict())
            computed += 1
        parts.append(known)
        if computed and not fits:  # as it goes: each may take minutes
            _write(folder, [*parts, _rest(results.predictions, parts)])
    if not computed and parts:
        _write(folder, [*parts, _rest(results.predictions, parts)])
    return computed


def _rest(before: pd.DataFrame, parts: list[pd.DataFrame]) -> pd.DataFrame:
    keys = ["benchmark", "M", "rho"]
    there = {tuple(row) for part in parts for row in part[keys].drop_duplicates().to_numpy()}
    return before[[tuple(row) not in there for row in before[keys].to_numpy()]]


def _write(folder: Path, parts: list[pd.DataFrame]) -> None:
    joined = pd.concat([part for part in parts if len(part)])
    write_csv(folder / "predictions.csv", joined[["benchmark", "M", "rho", "class", "ratio", "bound", "evidence"]])


def main() -> None:
    from nslimb.experiment.studies.risk_bounds import compute

    try:
        if not (FOLDER / "figure_2.csv").exists():
            write_csv(FOLDER / "figure_2.csv", compute())
        print(f"{FOLDER / 'predictions.csv'}: {write_predictions(FOLDER)} cells computed")
    except NslimbError as error:
        sys.exit(f"nslimb: {error}")


if __name__ == "__main__":
    main()
