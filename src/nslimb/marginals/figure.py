"""Estimated ratios of the hidden labels with their intervals, as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nslimb.plotting import BLUE, name_classes, styled, subplots
from nslimb.sigma.component import Sigma

if TYPE_CHECKING:
    from nslimb.marginals.bootstrap import Bootstrap


def named_groups(sigma: Sigma) -> list[tuple[str, int]]:
    """What to call each group of positions that share ratios, and one position of it; no name where all share them.

    Examples
    --------
    >>> from nslimb.sigma import formula
    >>> named_groups(formula(3))
    [('position 1, 3', 0), ('position 2', 1)]
    """
    groups = sigma.groups
    if groups is None:
        return [("", 0)]
    members = [[i for i, group in enumerate(groups) if group == g] for g in range(max(groups) + 1)]
    return [(f"position {', '.join(str(i + 1) for i in inside)}", inside[0]) for inside in members]


@styled
def draw_ratios(found: Bootstrap, sigma: Sigma, samples: int) -> Any:
    """The figure of an estimate from ``samples`` weak labels; save it with ``nslimb.plotting.save``."""
    groups = named_groups(sigma)
    figure, axes = subplots(rows=len(groups), size=(5.0, 2.6 * len(groups)))
    for axis, (title, position) in zip(axes[:, 0], groups, strict=True):
        _draw_group(axis, found, sigma, position)
        about = f"{samples:,} weak labels, {found.level:.0%} intervals"
        axis.set(xlabel="class", ylabel="estimated ratio", title=about if not title else f"{title}: {about}")
    return figure


def _draw_group(axis: Any, found: Bootstrap, sigma: Sigma, position: int) -> None:
    shown = np.flatnonzero(sigma.accepted[position])
    parts = (np.atleast_2d(part) for part in (found.estimate.ratios, found.lower, found.upper))
    value, low, high = (part[position, shown] for part in parts)
    known = found.identified[shown]
    place = np.arange(len(shown))
    axis.bar(place[known], value[known], color=BLUE, width=0.7)
    # A percentile interval need not hold the estimate itself.
    spread = np.maximum(0, [value - low, high - value])
    axis.errorbar(place, value, spread, fmt="none", color="black", capsize=2.5, linewidth=0.9)
    if not known.all():
        bars = {"color": "white", "edgecolor": BLUE, "hatch": "////", "width": 0.7}
        axis.bar(place[~known], value[~known], label="open: not told apart", **bars)
        axis.set_ylim(top=1.25 * high.max())
        axis.legend(loc="upper right")
    name_classes(axis, [sigma.class_names[label] for label in shown])
