"""How sensitive Algorithm 1 is to its settings."""

from __future__ import annotations

from typing import Any

import pandas as pd

from nslimb import sigma as components
from nslimb.experiment.config import Config
from nslimb.experiment.studies.base import Study
from nslimb.plotting import COLOURS, legend_above, panels, styled


def compute(_config: Config | None = None) -> pd.DataFrame:
    """Algorithm 1 with Adam on MAX-3 by learning rate and temperature, for random true ratios from 20 starts each."""
    from nslimb.studies.sensitivity import sensitivity as study

    found = study(components.maximum(3))
    index = pd.MultiIndex.from_product(
        [found.learning_rates, found.temperatures], names=["learning_rate", "temperature"]
    )
    values = {"mean": found.mean.ravel(), "variance": found.variance.ravel(), "newton": found.newton}
    frame: pd.DataFrame = pd.DataFrame(values, index=index).reset_index()
    return frame


@styled
def draw(frame: pd.DataFrame) -> Any:
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


STUDY = Study(compute, draw)
