"""The paper's counterexample: a marginal that weak labels cannot tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from nslimb import sigma as components
from nslimb.experiment.config import Config
from nslimb.experiment.studies.base import Study
from nslimb.plotting import COLOURS, styled, subplots


def compute(_config: Config | None = None) -> pd.DataFrame:
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
    joined: pd.DataFrame = pd.concat([frame, *marked])
    return joined


@styled
def draw(frame: pd.DataFrame) -> Any:
    figure, ((axis,),) = subplots(size=(3.8, 2.9))
    curve = frame[frame["kind"] == "curve"]
    axis.plot(curve["t"], curve["weak_ratio"], color=COLOURS[0])
    for _, pair in frame[frame["kind"] != "curve"].groupby("kind"):
        axis.plot(pair["t"], pair["weak_ratio"], "o--", color=COLOURS[1], markersize=3, linewidth=0.8)
    axis.set(xlabel="hidden ratio t", ylabel="weak ratio", title=r"$t^4 + 6t^2(1-t)^2 + 4t(1-t)^3$")
    return figure


STUDY = Study(compute, draw)
