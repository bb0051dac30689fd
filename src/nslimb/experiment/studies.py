"""Studies of the theory and of the algorithms: each a table of numbers, and a figure of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from nslimb import sigma as components
from nslimb.errors import DataError
from nslimb.experiment.cells import Cell, run_path, runs, sigma_of
from nslimb.experiment.config import Config
from nslimb.experiment.gather import gather
from nslimb.experiment.names import PRINTED
from nslimb.experiment.plotting import COLOURS, legend_above, panels, plt, styled

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
    return pd.concat(parts)


@styled
def draw_risk_bounds(frame: Frame) -> Any:
    figure, axes = panels(2, height=2.8, columns=2)
    colours = plt.get_cmap("viridis")(np.linspace(0, 0.95, 10))
    for axis, (case, part) in zip(axes, frame.groupby("case", sort=False), strict=True):
        for label, rows in part.groupby("class"):
            axis.plot(rows["partial_risk"], rows["certified"], color=colours[label], linewidth=1.2, label=f"class {label}")
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
    return pd.concat([frame, *marked])


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
    """Algorithm 1 with Adam on MAX-3 by learning rate and temperature, 20 starts each; Newton's method beside it."""
    from nslimb.studies.sensitivity import sensitivity as study

    true = np.arange(10, 0, -1) / 55
    found = study(components.maximum(3), true)
    index = pd.MultiIndex.from_product(
        [found.learning_rates, found.temperatures], names=["learning_rate", "temperature"]
    )
    values = {"mean": found.mean.ravel(), "variance": found.variance.ravel(), "newton": found.newton}
    return pd.DataFrame(values, index=index).reset_index()


@styled
def draw_sensitivity(frame: Frame) -> Any:
    figure, axes = panels(2, height=2.4, columns=2)
    for axis, measure in zip(axes, ("mean", "variance"), strict=True):
        for colour, (rate, rows) in zip(COLOURS, frame.groupby("learning_rate", sort=False), strict=False):
            values = rows[measure].clip(lower=1e-16)
            axis.plot(range(len(rows)), values, "o-", color=colour, markersize=3, linewidth=1, label=f"Adam, rate {rate:g}")
        axis.set_xticks(range(len(rows)), [f"{value:g}" for value in rows["temperature"]])
        axis.set(xlabel="temperature", ylabel=f"{measure} of the total variation", yscale="log")
    axes[0].axhline(max(frame["newton"].iloc[0], 1e-16), color="black", linestyle=":", label="Newton (no settings)")
    legend_above(figure)
    return figure


def robustness_run(config: Config) -> tuple[Cell, str] | None:
    """The trained model that CAROT's robustness is shown on: SL on MAX-3, the first of the grid."""
    found = (run for run in runs(config) if run[1] == "sl" and (run[0].benchmark, run[0].M) == ("max", "3"))
    return next(found, None)


def carot_robustness(config: Config | None) -> Frame:
    """CAROT's accuracy on a trained MAX-3 model against KL(r, r-hat) for 500 random ratios."""
    from nslimb.experiment.jobs import open_run
    from nslimb.studies.carot_robustness import carot_robustness as study

    run = None if config is None else robustness_run(config)
    if config is None or run is None:
        raise DataError("carot_robustness: needs a grid with SL on MAX-3; see config/quick.yaml")
    opened = open_run(config, run[0], run[1], config.results / run[0].path)
    (entry,) = gather(config, [run])
    chosen = entry["metrics"]["adjustments"]["carot"] if entry["metrics"] else {"eta": None, "tau": None}
    # Where the validation samples chose no adjustment, a setting of middling strength shows what CAROT would do.
    eta, tau = chosen["eta"] or 1.0, chosen["tau"] or 1.0
    found = study(opened.test_scores(), opened.gold.test, np.asarray(opened.gold.ratios), eta, tau)
    constant = {"unadjusted": found.unadjusted, "with_truth": found.with_truth, "eta": eta, "tau": tau}
    return pd.DataFrame({"divergence": found.divergence, "accuracy": found.accuracy, **constant, "run": run_path(*run)})


@styled
def draw_carot_robustness(frame: Frame) -> Any:
    figure, axis = plt.subplots(figsize=(4.2, 3.0))
    axis.plot(frame["divergence"], 100 * frame["accuracy"], ".", color=COLOURS[0], markersize=3, label="CAROT, random ratios")
    for column, style, label in (("unadjusted", "--", "unadjusted"), ("with_truth", ":", "CAROT, true ratios")):
        axis.axhline(100 * frame[column].iloc[0], color="black", linewidth=0.9, linestyle=style, label=label)
    axis.set(xscale="log", xlabel=r"KL(r || $\hat{r}$)", ylabel="test accuracy (%)")
    axis.set_title(f"SL on MAX-3, eta {frame['eta'].iloc[0]:.3g}, tau {frame['tau'].iloc[0]:.3g}")
    legend_above(figure)
    return figure


def order(config: Config | None) -> Frame:
    """Whether classes that the bound calls hard are learned worse: by scenario, method and seed, a row for each class.

    The bound is taken at the weak error that the trained model shows on its validation samples, with the hidden ratios.
    """
    from nslimb.studies.order import order_agreement
    from nslimb.theory import class_risk_bounds

    if config is None:
        raise DataError("order: needs the trained models of a grid; see config/quick.yaml")
    chosen = [(cell, method) for cell, method in runs(config) if method in ("sl", "ilp-alg1", "ilp-gold")]
    rows = []
    for run in gather(config, chosen):
        if run["metrics"] is None or run["history"] is None:
            continue
        ratios = np.asarray(run["metrics"]["ratios"]["true"])
        ratios = ratios if ratios.ndim == 1 else ratios.mean(axis=0)
        risk = 1 - float(run["history"]["validation_weak_accuracy"].iloc[-1])
        sigma = sigma_of(config, run["benchmark"], run["M"])
        bound = class_risk_bounds(sigma, ratios, risk, certify=False).upper
        accuracy = np.array(run["metrics"]["adjustments"]["none"]["class_accuracy"], dtype=float)
        agreement = order_agreement(bound, accuracy)
        keys = {key: run[key] for key in ("benchmark", "M", "rho", "seed", "method")}
        rows += [
            {**keys, "partial_risk": risk, "class": label, "bound": bound[label], "accuracy": accuracy[label],
             "spearman": agreement.spearman, "p": agreement.spearman_p}
            for label in range(len(bound))
        ]  # fmt: skip
    return pd.DataFrame(rows)


@styled
def draw_order(frame: Frame) -> Any:
    scenarios = list(frame.groupby(["benchmark", "M", "rho"], sort=False))
    figure, axes = panels(len(scenarios), height=2.4)
    for axis, ((benchmark, arity, rho), part) in zip(axes, scenarios, strict=False):
        told = []
        for colour, (method, group) in zip(COLOURS, part.groupby("method", sort=False), strict=False):
            axis.plot(group["bound"], 100 * (1 - group["accuracy"]), "o", color=colour, markersize=3, label=PRINTED[method])
            told.append(f"{PRINTED[method]} {group.drop_duplicates('seed')['spearman'].mean():.2f}")
        title = f"{benchmark.upper().replace('_', ' ')}-{arity}, rho={rho}\nrank correlation: {', '.join(told)}"
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
