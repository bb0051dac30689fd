"""Studies of the theory and of the algorithms: each a table of numbers, and a figure of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from nslimb import sigma as components
from nslimb.errors import DataError, TooLarge
from nslimb.experiment.cells import order_runs, robustness_runs, run_path, sigma_of
from nslimb.experiment.config import Config
from nslimb.experiment.gather import gather
from nslimb.experiment.names import PRINTED
from nslimb.experiment.plotting import METHOD_COLOURS, METHOD_MARKS, legend_above, panels, styled
from nslimb.style import COLOURS

Frame = pd.DataFrame
_RISKS = np.linspace(0.0, 0.2, 20)


def risk_bounds(_config: Config | None = None) -> Frame:
    """The paper's Figure 2: Phi_j(R_P) of MAX-2 for uniform hidden labels and for uniform weak labels, certified."""
    from nslimb.theory import class_risk_bounds, uniform_weak_ratios

    sigma = components.maximum(2)
    parts = []
    for case, ratios in (
        ("uniform hidden labels", np.full(10, 0.1)),
        ("uniform weak labels", uniform_weak_ratios(sigma)),
    ):
        found = class_risk_bounds(sigma, ratios, _RISKS)
        index = pd.MultiIndex.from_product([_RISKS, range(10)], names=["partial_risk", "class"])
        values = {"local": found.local.ravel(), "certified": found.upper.ravel(), "ratio": np.tile(ratios, len(_RISKS))}
        parts.append(pd.DataFrame(values, index=index).reset_index().assign(case=case))
    joined: Frame = pd.concat(parts)
    return joined


@styled
def draw_risk_bounds(frame: Frame) -> Any:
    figure, axes = panels(2, height=2.8, columns=2)
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.95, 10))
    for axis, (case, part) in zip(axes, frame.groupby("case", sort=False), strict=True):
        for label, rows in part.groupby("class"):
            colour = colours[int(str(label))]
            axis.plot(rows["partial_risk"], rows["certified"], color=colour, linewidth=1.2, label=f"class {label}")
        axis.set(title=f"MAX-2, {case}", xlabel="partial risk", ylabel="bound on the class risk", ylim=(0, 1.02))
    legend_above(figure)
    return figure


def counterexample(_config: Config | None = None) -> Frame:
    """The weak ratio of the paper's counterexample as a function of the hidden one, and pairs that it cannot tell."""
    from nslimb.studies.counterexample import twins, weak_ratio_curve

    sigma = components.counterexample()
    curve = weak_ratio_curve(sigma)
    frame = pd.DataFrame({"t": curve.t, "weak_ratio": curve.ratios[:, -1], "kind": "curve"})
    pairs = twins(sigma)
    places = np.interp(pairs, curve.t, curve.ratios[:, -1])
    marked = [
        pd.DataFrame({"t": pair, "weak_ratio": place, "kind": f"twins {number}"})
        for number, (pair, place) in enumerate(zip(pairs, places, strict=True), start=1)
    ]
    joined: Frame = pd.concat([frame, *marked])
    return joined


@styled
def draw_counterexample(frame: Frame) -> Any:
    figure, axis = plt.subplots(figsize=(3.8, 2.9))
    curve = frame[frame["kind"] == "curve"]
    axis.plot(curve["t"], curve["weak_ratio"], color=COLOURS[0])
    for _, pair in frame[frame["kind"] != "curve"].groupby("kind"):
        axis.plot(pair["t"], pair["weak_ratio"], "o--", color=COLOURS[1], markersize=3, linewidth=0.8)
    axis.set(xlabel="hidden ratio t", ylabel="weak ratio", title=r"$t^4 + 6t^2(1-t)^2 + 4t(1-t)^3$")
    return figure


def sensitivity(_config: Config | None = None) -> Frame:
    """Algorithm 1 with Adam on MAX-3 by learning rate and temperature, for random true ratios from 20 starts each."""
    from nslimb.studies.sensitivity import sensitivity as study

    found = study(components.maximum(3))
    index = pd.MultiIndex.from_product(
        [found.learning_rates, found.temperatures], names=["learning_rate", "temperature"]
    )
    values = {"mean": found.mean.ravel(), "variance": found.variance.ravel(), "newton": found.newton}
    frame: Frame = pd.DataFrame(values, index=index).reset_index()
    return frame


@styled
def draw_sensitivity(frame: Frame) -> Any:
    figure, axes = panels(2, height=2.4, columns=2)
    for axis, measure in zip(axes, ("mean", "variance"), strict=True):
        for colour, (rate, rows) in zip(COLOURS, frame.groupby("learning_rate", sort=False), strict=False):
            values = rows[measure].clip(lower=1e-16)
            axis.plot(
                range(len(rows)), values, "o-", color=colour, markersize=3, linewidth=1, label=f"Adam, rate {rate}"
            )
        axis.set_xticks(range(len(rows)), [f"{value:g}" for value in rows["temperature"]])
        axis.set(xlabel="temperature", ylabel=f"{measure} of the total variation", yscale="log")
    axes[0].axhline(max(frame["newton"].iloc[0], 1e-16), color="black", linestyle=":", label="Newton (no settings)")
    legend_above(figure)
    return figure


def carot_robustness(config: Config | None) -> Frame:
    """CAROT's accuracy on a trained MAX-3 model against KL(r, r-hat) for 500 random ratios."""
    from nslimb.experiment.jobs import open_run
    from nslimb.studies.carot_robustness import carot_robustness as study

    chosen_runs = [] if config is None else robustness_runs(config)
    if config is None or not chosen_runs:
        raise DataError("carot_robustness: needs a grid with SL on MAX-3; see config/quick.yaml")
    (run,) = chosen_runs
    opened = open_run(config, run[0], run[1], config.results / run[0].path)
    (entry,) = gather(config, [run])
    chosen = entry["metrics"]["adjustments"]["carot"] if entry["metrics"] else {"eta": None, "tau": None}
    # Where the validation samples chose no adjustment, a setting of middling strength shows what CAROT would do.
    eta, tau = chosen["eta"] or 1.0, chosen["tau"] or 1.0
    found = study(opened.scores(opened.samples.test), opened.gold.test, np.asarray(opened.gold.ratios), eta, tau)
    constant = {"unadjusted": found.unadjusted, "with_truth": found.with_truth, "eta": eta, "tau": tau}
    columns = {"divergence": found.divergence, "accuracy": found.accuracy, **constant, "run": run_path(*run)}
    frame: Frame = pd.DataFrame(columns)
    return frame


@styled
def draw_carot_robustness(frame: Frame) -> Any:
    figure, axis = plt.subplots(figsize=(4.2, 3.0))
    percent = 100 * frame["accuracy"]
    axis.plot(frame["divergence"], percent, ".", color=COLOURS[0], markersize=3, label="CAROT, random ratios")
    for column, style, label in (("unadjusted", "--", "unadjusted"), ("with_truth", ":", "CAROT, true ratios")):
        axis.axhline(100 * frame[column].iloc[0], color="black", linewidth=0.9, linestyle=style, label=label)
    axis.set(xscale="log", xlabel=r"KL(r || $\hat{r}$)", ylabel="test accuracy (%)")
    axis.set_title(f"SL on MAX-3, eta {frame['eta'].iloc[0]:.3g}, tau {frame['tau'].iloc[0]:.3g}")
    legend_above(figure)
    return figure


def order(config: Config | None) -> Frame:
    """Whether classes that the bound calls hard are learned worse: by scenario, method and seed, a row for each class.

    The bound is the one a user would ask for before training: at a partial risk of 0.01, where few bounds are 1 and so
    tie, with the hidden ratios. Where sigma has too many states for it, it is NaN and so is the correlation.
    """
    from nslimb.studies.order import order_agreement
    from nslimb.theory import class_risk_bounds

    if config is None:
        raise DataError("order: needs the trained models of a grid; see config/quick.yaml")
    bounds: dict[tuple[Any, ...], Any] = {}
    parts: list[Frame] = []
    for run in gather(config, order_runs(config)):
        if run["metrics"] is None:
            continue
        hidden = tuple(np.atleast_2d(run["metrics"]["ratios"]["true"]).mean(axis=0))
        scenario = (run["benchmark"], run["M"], hidden)
        if scenario not in bounds:
            sigma = sigma_of(config, run["benchmark"], run["M"])
            try:
                bounds[scenario] = class_risk_bounds(sigma, hidden, 0.01, certify=False).upper
            except TooLarge:
                bounds[scenario] = np.full(sigma.num_classes, np.nan)
        bound = bounds[scenario]
        accuracy = np.array(run["metrics"]["adjustments"]["none"]["class_accuracy"], dtype=float)
        known = not np.isnan(bound).any()
        agreement = order_agreement(bound if known else np.zeros(len(bound)), accuracy)
        frame = pd.DataFrame({"class": range(len(bound)), "bound": bound, "accuracy": accuracy})
        keys = {key: run[key] for key in ("benchmark", "M", "rho", "seed", "method")}
        parts.append(frame.assign(**keys, spearman=agreement.spearman, p=agreement.spearman_p))
    if not parts:
        raise DataError("order: no run of SL or of the ILP with given ratios has finished yet; train some first")
    joined: Frame = pd.concat(parts)
    return joined


@styled
def draw_order(frame: Frame) -> Any:
    names = frame["benchmark"].str.upper().str.replace("_", " ") + "-" + frame["M"] + ", rho=" + frame["rho"]
    scenarios = list(frame.groupby(names, sort=False))
    figure, axes = panels(len(scenarios), height=2.4)
    for axis, (name, part) in zip(axes, scenarios, strict=False):
        told = []
        for method, group in part.groupby("method", sort=False):
            look = {"color": METHOD_COLOURS[str(method)], "label": PRINTED[str(method)], "markersize": 3}
            axis.plot(group["bound"], 100 * (1 - group["accuracy"]), METHOD_MARKS[str(method)], **look)
            agreement = group.drop_duplicates("seed")["spearman"].mean()
            told.append("-" if np.isnan(agreement) else f"{agreement:.2f}")
        title = f"{name}\nrank correlation {', '.join(told)}"
        axis.set(title=title, xlabel="bound on the class risk", ylabel="class error (%)", xlim=(-0.05, 1.05))
    legend_above(figure)
    return figure


class Study(NamedTuple):
    """How to compute a study's numbers, and how to draw them."""

    compute: Callable[[Config | None], Frame]
    draw: Callable[[Frame], Any]


STUDIES = {
    "risk_bounds": Study(risk_bounds, draw_risk_bounds),
    "counterexample": Study(counterexample, draw_counterexample),
    "sensitivity": Study(sensitivity, draw_sensitivity),
    "carot_robustness": Study(carot_robustness, draw_carot_robustness),
    "order": Study(order, draw_order),
}
