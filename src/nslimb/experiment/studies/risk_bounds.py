"""The paper's Figure 2: bounds on the class risks of MAX-2."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pandas as pd

from nslimb import sigma as components
from nslimb.experiment.config import Config
from nslimb.experiment.studies.base import Study
from nslimb.plotting import legend_above, panels, styled

_RISKS = np.linspace(0.0, 0.2, 20)


def compute(_config: Config | None = None) -> pd.DataFrame:
    """The paper's Figure 2: Phi_j(R_P) of MAX-2 for uniform hidden labels and for uniform weak labels, certified."""
    from nslimb.theory.bounds import class_risk_bounds
    from nslimb.theory.identify import uniform_weak_ratios

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
    joined: pd.DataFrame = pd.concat(parts)
    return joined


@styled
def draw(frame: pd.DataFrame) -> Any:
    figure, axes = panels(2, height=2.8, columns=2)
    colours = matplotlib.colormaps["viridis"](np.linspace(0, 0.95, 10))
    for axis, (case, part) in zip(axes, frame.groupby("case", sort=False), strict=True):
        for label, rows in part.groupby("class"):
            colour = colours[int(str(label))]
            axis.plot(rows["partial_risk"], rows["certified"], color=colour, linewidth=1.2, label=f"class {label}")
        axis.set(title=f"MAX-2, {case}", xlabel="partial risk", ylabel="bound on the class risk", ylim=(0, 1.02))
    legend_above(figure)
    return figure


STUDY = Study(compute, draw)
