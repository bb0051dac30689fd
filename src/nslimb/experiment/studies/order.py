"""Whether classes that the bound calls hard are learned worse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nslimb.errors import DataError, TooLarge
from nslimb.experiment.cells import Run, runs, variant_of
from nslimb.experiment.config import Config
from nslimb.experiment.gather import GridRun, gather
from nslimb.experiment.studies.base import Study
from nslimb.plotting import legend_above, panels, styled

_METHODS = ("sl", "ilp-alg1", "ilp-gold")
_RISK = 0.01


def needs(config: Config) -> list[Run]:
    """The runs of SL and of the ILP with given ratios; M = 1 hides nothing."""
    return [
        (cell, method)
        for cell, method in runs(config)
        if int(cell.M) > 1 and variant_of(config, cell.benchmark, method).name in _METHODS
    ]


def compute(config: Config | None) -> pd.DataFrame:
    """By scenario, method and seed a row for each class: its bound, its accuracy, and their rank correlation.

    The bound is the one a user would ask for before training: at a partial risk of 0.01, where few bounds are 1 and so
    tie, with the hidden ratios. Where sigma has too many states for it, it is NaN and so is the correlation.
    """
    from nslimb.studies.order import order_agreement

    if config is None:
        raise DataError("order: needs the trained models of a grid; see config/quick.yaml")
    bounds: dict[tuple[Any, ...], Any] = {}
    parts: list[pd.DataFrame] = []
    for run in gather(config, needs(config)):
        if run.metrics is None:
            continue
        hidden = tuple(np.atleast_2d(run.metrics.ratios.true).mean(axis=0))
        scenario = (run.cell.benchmark, run.cell.M, hidden)
        if scenario not in bounds:
            bounds[scenario] = _bound(config, run, hidden)
        bound = bounds[scenario]
        known = not np.isnan(bound).any()
        accuracy = np.array(run.metrics.adjustments["none"]["class_accuracy"], dtype=float)
        agreement = order_agreement(bound if known else np.zeros(len(bound)), accuracy)
        frame = pd.DataFrame({"class": range(len(bound)), "bound": bound, "accuracy": accuracy})
        look = {"title": run.title, "printed": run.printed, "colour": run.colour, "mark": run.mark}
        keys = {**vars(run.cell), "method": run.method, **look}
        parts.append(frame.assign(**keys, spearman=agreement.spearman, p=agreement.spearman_p))
    if not parts:
        raise DataError("order: no run of SL or of the ILP with given ratios has finished yet; train some first")
    joined: pd.DataFrame = pd.concat(parts)
    return joined


def _bound(config: Config, run: GridRun, hidden: tuple[float, ...]) -> Any:
    from nslimb.theory.bounds import class_risk_bounds

    block = config.benchmarks[run.cell.benchmark]
    sigma = block.problem(run.cell.benchmark).build(int(run.cell.M), config.base)
    try:
        return class_risk_bounds(sigma, hidden, _RISK, certify=False).upper
    except TooLarge:
        return np.full(len(hidden), np.nan)


@styled
def draw(frame: pd.DataFrame) -> Any:
    """Class errors against their bounds, by scenario and method."""
    names = frame["title"] + "-" + frame["M"].astype(str) + ", rho=" + frame["rho"].astype(str)
    scenarios = list(frame.groupby(names, sort=False))
    figure, axes = panels(len(scenarios), height=2.4)
    for axis, (name, part) in zip(axes, scenarios, strict=False):
        told = []
        for _, group in part.groupby("method", sort=False):
            first = group.iloc[0]
            look = {"color": first["colour"], "label": first["printed"], "markersize": 3}
            axis.plot(group["bound"], 100 * (1 - group["accuracy"]), first["mark"], **look)
            agreement = group.drop_duplicates("seed")["spearman"].mean()
            told.append("-" if np.isnan(agreement) else f"{agreement:.2f}")
        title = f"{name}\nrank correlation {', '.join(told)}"
        axis.set(title=title, xlabel="bound on the class risk", ylabel="class error (%)", xlim=(-0.05, 1.05))
    legend_above(figure)
    return figure


STUDY = Study(compute, draw, needs)
