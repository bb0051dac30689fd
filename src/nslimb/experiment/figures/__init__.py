"""Figures of the grid by name; each draws what ``nslimb.experiment.gather.gather`` has read.

One's own is a function of a list of ``nslimb.experiment.gather.GridRun`` that returns a matplotlib figure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nslimb.registry import Registry

FIGURES: Registry[Callable[[list[Any]], Any]] = Registry(
    "figure",
    {
        "class_accuracy_over_epochs": "nslimb.experiment.figures.class_accuracy_over_epochs:draw",
        "marginals": "nslimb.experiment.figures.marginals:draw",
        "sl_against_ilp": "nslimb.experiment.figures.sl_against_ilp:draw",
        "accuracy_by_method": "nslimb.experiment.figures.accuracy_by_method:draw",
        "accuracy_against_rho": "nslimb.experiment.figures.accuracy_against:against_rho",
        "accuracy_against_arity": "nslimb.experiment.figures.accuracy_against:against_arity",
        "against_the_paper": "nslimb.experiment.figures.against_the_paper:draw",
        "accuracy_against_ceiling": "nslimb.experiment.figures.accuracy_against_ceiling:draw",
        "training_curves": "nslimb.experiment.figures.training_curves:draw",
        "lp_seconds_per_batch": "nslimb.experiment.figures.lp_seconds_per_batch:draw",
    },
)


def figure_name(entry: str) -> str:
    """What a figure is called in paths: its name, or the name of the user's function."""
    return entry.rpartition(":")[2]
