"""How CAROT fares with wrong ratios."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nslimb.errors import DataError
from nslimb.experiment.cells import Run, run_path, runs
from nslimb.experiment.config import Config
from nslimb.experiment.gather import gather
from nslimb.experiment.recipes import train_recipe
from nslimb.experiment.studies.base import Study
from nslimb.plotting import COLOURS, legend_above, styled, subplots


def needs(config: Config) -> list[Run]:
    """SL on MAX-3, the first of the grid."""
    return [run for run in runs(config) if run[1] == "sl" and (run[0].benchmark, run[0].M) == ("max", "3")][:1]


def compute(config: Config | None) -> pd.DataFrame:
    """CAROT's accuracy on a trained MAX-3 model against KL(r, r-hat) for 500 random ratios."""
    from nslimb.experiment.jobs.adjust import open_run
    from nslimb.experiment.jobs.recipe import Host
    from nslimb.studies.carot_robustness import carot_robustness as study

    chosen_runs = [] if config is None else needs(config)
    if config is None or not chosen_runs:
        raise DataError("carot_robustness: needs a grid with SL on MAX-3; see config/quick.yaml")
    (run,) = chosen_runs
    host = Host.from_config(config.model_dump(mode="json"))
    opened = open_run(train_recipe(config, *run), host, "", config.results / run_path(*run))
    (entry,) = gather(config, [run])
    chosen = {} if entry.metrics is None else entry.metrics.adjustments["carot"]["setting"]
    # Where the validation samples chose no adjustment, a setting of middling strength shows what CAROT would do.
    eta, tau = chosen.get("eta", 1.0), chosen.get("tau", 1.0)
    found = study(opened.scores(opened.samples.test), opened.gold.test, np.asarray(opened.gold.ratios), eta, tau)
    constant = {"unadjusted": found.unadjusted, "with_truth": found.with_truth, "eta": eta, "tau": tau}
    columns = {"divergence": found.divergence, "accuracy": found.accuracy, **constant, "run": run_path(*run)}
    frame: pd.DataFrame = pd.DataFrame(columns)
    return frame


@styled
def draw(frame: pd.DataFrame) -> Any:
    figure, ((axis,),) = subplots(size=(4.2, 3.0))
    percent = 100 * frame["accuracy"]
    axis.plot(frame["divergence"], percent, ".", color=COLOURS[0], markersize=3, label="CAROT, random ratios")
    for column, style, label in (("unadjusted", "--", "unadjusted"), ("with_truth", ":", "CAROT, true ratios")):
        axis.axhline(100 * frame[column].iloc[0], color="black", linewidth=0.9, linestyle=style, label=label)
    axis.set(xscale="log", xlabel=r"KL(r || $\hat{r}$)", ylabel="test accuracy (%)")
    axis.set_title(f"SL on MAX-3, eta {frame['eta'].iloc[0]:.3g}, tau {frame['tau'].iloc[0]:.3g}")
    legend_above(figure)
    return figure


STUDY = Study(compute, draw, needs)
