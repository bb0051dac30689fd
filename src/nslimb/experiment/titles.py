"""How benchmarks, methods and adjustments of a grid are printed: in tables, figures and MLflow alike."""

from __future__ import annotations

from nslimb.adjustment.base import as_adjustment
from nslimb.experiment.cells import Cell, block_of, variant_of
from nslimb.experiment.config import Config
from nslimb.learning.methods import method_class


def benchmark_title(config: Config, benchmark: str) -> str:
    """A benchmark as figures print it; another entry with the same sigma goes by its own name."""
    own = block_of(config, benchmark).problem(benchmark).benchmark(config.base)
    return own.title if own.name == benchmark else benchmark.replace("_", " ")


def class_names(config: Config, benchmark: str) -> tuple[str, ...]:
    """The classes of a benchmark as figures print them: digits and + - * for HWF."""
    block = block_of(config, benchmark)
    return tuple(map(str, block.problem(benchmark).build(int(block.M[0]), config.base).class_names))


def printed_name(config: Config, benchmark: str, method: str) -> str:
    """A method as tables print it; a variant by the name that it was given."""
    variant = variant_of(config, benchmark, method)
    own = method_class(variant.method, config.base).printed
    return own if own and variant.name == variant.method.rpartition(":")[2] else variant.name


def printed_adjustments(config: Config) -> dict[str, str]:
    """The adjustments of the grid, ``none`` first, and how they are printed."""
    found = {"none": "none"}
    for entry in config.adjustments:
        adjustment = as_adjustment(entry, config.base)
        found[adjustment.name] = adjustment.printed
    return found


def run_title(config: Config, cell: Cell, method: str) -> str:
    """A run by a short name, ``MAX-3 rho=50 SL seed 1``."""
    title, printed = benchmark_title(config, cell.benchmark), printed_name(config, cell.benchmark, method)
    return f"{title}-{cell.M} rho={cell.rho} {printed} seed {cell.seed}"
