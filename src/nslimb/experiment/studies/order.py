"""Whether classes that the bound calls hard are learned worse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations as all_permutations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import kendalltau, rankdata, spearmanr

from nslimb.arrays import FloatArray
from nslimb.checks import check_count
from nslimb.errors import DataError, InvalidInput, TooLarge
from nslimb.experiment.cells import Run, runs, variant_of
from nslimb.experiment.config import Config
from nslimb.experiment.gather import GridRun, gather
from nslimb.experiment.studies.base import Study
from nslimb.plotting import legend_above, panels, styled
from nslimb.seeds import numpy_generator


@dataclass(frozen=True)
class OrderAgreement:
    """Rank correlation of bounds and error rates: 1 for the same order, NaN where either is constant."""

    spearman: float
    kendall: float  # tau-b, which allows for ties
    spearman_p: float  # probability of at least this correlation in a random order
    kendall_p: float
    classes: int  # how many were compared


def order_agreement(bounds: Any, accuracy: Any, *, permutations: int = 10_000, seed: int = 1) -> OrderAgreement:
    """Compare risk bounds Phi_j [c] at a partial risk with measured accuracies [c] of the same classes.

    A class with a high bound should have a low accuracy, so bounds are compared with 1 - accuracy. Classes without an
    accuracy (NaN or None: they do not occur in the test set) are left out. Ties get mean ranks. The one-sided p-values
    are over random orders of the classes, or over all of them where there are no more than ``permutations``.

    Examples
    --------
    >>> order_agreement([1.0, 0.4, 0.3, 0.3], [0.5, 0.9, 0.95, 0.97])
    OrderAgreement(spearman=0.9486..., kendall=0.9128..., spearman_p=0.0833..., kendall_p=0.0833..., classes=4)
    """
    predicted, measured = _array("bounds", bounds), _array("accuracy", accuracy)
    if predicted.shape != measured.shape:
        raise InvalidInput("accuracy", f"{len(predicted)} numbers, one for each bound", f"{len(measured)}")
    known = ~np.isnan(measured)
    if np.isnan(predicted[known]).any():
        raise InvalidInput("bounds", "a number for each class that has an accuracy", "NaN")
    predicted, wrong = predicted[known], 1 - measured[known]
    size = len(predicted)
    if size < 2 or np.ptp(predicted) == 0 or np.ptp(wrong) == 0:
        return OrderAgreement(math.nan, math.nan, math.nan, math.nan, size)
    orders = _orders(size, check_count("permutations", permutations), seed)
    ranks = rankdata(wrong)
    above = np.sign(wrong[:, None] - wrong)
    # Up to a positive factor and a shift that no order changes, these are the two correlations.
    rho = ranks[orders] @ rankdata(predicted)
    tau = np.einsum("nij,ij->n", above[orders[:, :, None], orders[:, None, :]], np.sign(predicted[:, None] - predicted))
    return OrderAgreement(
        spearman=float(spearmanr(predicted, wrong).statistic),
        kendall=float(kendalltau(predicted, wrong).statistic),
        spearman_p=float(np.mean(rho >= rho[0] - 1e-9)),
        kendall_p=float(np.mean(tau >= tau[0] - 1e-9)),
        classes=size,
    )


def _orders(size: int, permutations: int, seed: int) -> NDArray[np.int64]:
    """The given order first, then all others or as many random ones, [n, size]."""
    if math.factorial(size) <= permutations:
        return np.array(list(all_permutations(range(size))))
    rng = numpy_generator(seed, "order")
    drawn = rng.permuted(np.tile(np.arange(size), (permutations, 1)), axis=1)
    return np.concatenate([np.arange(size)[None], drawn])


def _array(argument: str, values: Any) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError) as error:
        raise InvalidInput(argument, "one number for each class", f"values that are no numbers ({error})") from error
    if array.ndim != 1 or not array.size or np.isinf(array).any():
        raise InvalidInput(argument, "one finite number for each class", f"shape {list(array.shape)}")
    return array


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
