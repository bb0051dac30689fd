"""Which figures have something to show in a grid: the others are left out."""

from __future__ import annotations

import csv
from collections.abc import Callable

from nslimb.experiment import places
from nslimb.experiment.config import BenchmarkBlock, Config
from nslimb.experiment.figures import FIGURES

# The paper's names of what its figures show, and the method that each is of; a curve after an epoch is SL's.
PAPER_METHODS = {"SL": "sl", "ILP(ALG1)": "ilp-alg1"}


def figure_entries(config: Config) -> list[str]:
    """The figures that a configuration asks for; where it names none, those of ours that are not empty."""
    if config.figures is not None:
        return list(config.figures)
    return [name for name in FIGURES if name not in _SHOWN or _SHOWN[name](config)]


def _methods(block: BenchmarkBlock) -> set[str]:
    return {variant.name for variant in block.methods}


def _beside_the_paper(config: Config) -> bool:
    """Whether a curve of the paper is of a cell, a method and an epoch of the grid."""
    with (places.REFERENCE / "class_accuracy.csv").open(newline="") as stream:
        curves = {
            (row["figure"], row["benchmark"], row["M"], row["rho"], row["series"]) for row in csv.DictReader(stream)
        }
    return any(
        block.problem(name).sigma.upper() == benchmark
        and arity in block.M
        and rho in block.rho
        and PAPER_METHODS.get(series, "sl") in _methods(block)
        and (figure != "class_specific" or series in PAPER_METHODS)
        and _looked_at(config, name, series)
        for name, block in config.benchmarks.items()
        for figure, benchmark, arity, rho, series in curves
    )


def _looked_at(config: Config, benchmark: str, series: str) -> bool:
    if not series.startswith("epoch "):
        return True
    epoch = int(series.removeprefix("epoch "))
    first = next(variant for variant in config.benchmarks[benchmark].methods if variant.name == "sl")
    training = config.training_of(benchmark, first)
    return epoch == training.epochs or (epoch < training.epochs and epoch % training.look_every == 0)


_SHOWN: dict[str, Callable[[Config], bool]] = {
    "class_accuracy_over_epochs": lambda config: any("sl" in _methods(block) for block in config.benchmarks.values()),
    "sl_against_ilp": lambda config: any(
        len({"sl", "ilp-alg1", "ilp-gold"} & _methods(block)) > 1 for block in config.benchmarks.values()
    ),
    "accuracy_against_rho": lambda config: any(len(block.rho) > 1 for block in config.benchmarks.values()),
    "accuracy_against_arity": lambda config: any(len(block.M) > 1 for block in config.benchmarks.values()),
    "against_the_paper": _beside_the_paper,
    "lp_seconds_per_batch": lambda config: any(
        variant.method.startswith("ilp") for block in config.benchmarks.values() for variant in block.methods
    ),
}
