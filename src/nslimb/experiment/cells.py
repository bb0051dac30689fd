"""From a configuration to cells and runs; what is in a path can be read back out of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nslimb.errors import InvalidInput
from nslimb.experiment import paths
from nslimb.experiment.config import BenchmarkBlock, Config
from nslimb.experiment.variants import Variant


@dataclass(frozen=True, order=True)
class Cell:
    """One setting of the grid, for one seed."""

    benchmark: str
    M: str
    rho: str
    seed: str

    @property
    def path(self) -> str:
        return paths.CELL.format(**vars(self))

    @classmethod
    def from_wildcards(cls, wildcards: Any) -> Cell:
        return cls(wildcards.benchmark, wildcards.M, wildcards.rho, wildcards.seed)


Run = tuple[Cell, str]  # a cell and the name of a variant


def cells(config: Config) -> Iterator[Cell]:
    """Every cell of the grid."""
    for name, block in config.benchmarks.items():
        for arity in block.M:
            for rho in block.rho:
                for seed in config.seeds_of(name):
                    yield Cell(name, arity, rho, seed)


def runs(config: Config) -> Iterator[Run]:
    """Every run of the grid."""
    for cell in cells(config):
        for variant in config.benchmarks[cell.benchmark].methods:
            yield cell, variant.name


def run_path(cell: Cell, method: str) -> str:
    """The folder of a run, below the results folder."""
    return paths.RUN.format(**vars(cell), method=method)


def block_of(config: Config, benchmark: str) -> BenchmarkBlock:
    """A benchmark's settings, or an error that lists those in the configuration."""
    if benchmark not in config.benchmarks:
        raise InvalidInput("benchmark", f"one of the configuration's: {', '.join(config.benchmarks)}", repr(benchmark))
    return config.benchmarks[benchmark]


def variant_of(config: Config, benchmark: str, method: str) -> Variant:
    """A method of a benchmark by its name, or an error that lists those that it has."""
    variants = {variant.name: variant for variant in block_of(config, benchmark).methods}
    if method not in variants:
        raise InvalidInput("method", f"one of {benchmark}'s: {', '.join(variants)}", repr(method))
    return variants[method]


def source_name(config: Config, benchmark: str) -> str:
    """A source as part of a path: its own name, or the benchmark's where it is a file or a folder of the user's."""
    from nslimb.data import SOURCES

    spec = block_of(config, benchmark).source
    return spec if spec in SOURCES else f"own-{benchmark}"


def experiment_of(config: Config, benchmark: str) -> str:
    """The MLflow experiment of a benchmark's runs."""
    own = block_of(config, benchmark).problem(benchmark).benchmark(config.base)
    return own.experiment if own.name == benchmark and own.experiment else benchmark


def timings(config: Config) -> list[tuple[str, str, int]]:
    """The measurements of the runtime table: benchmark, M, batch size."""
    if "runtime" not in table_names(config):
        return []
    return [
        (name, arity, batch)
        for name, block in config.runtime.cells.items()
        if name in config.benchmarks
        for arity in block.M
        for batch in config.runtime.batch_sizes
    ]


def timing_path(benchmark: str, arity: str, batch: int) -> str:
    """The folder of a measurement, below the results folder."""
    return paths.TIMING.format(benchmark=benchmark, M=arity, batch=batch)


def tables_of(config: Config) -> dict[str, tuple[str, tuple[str, ...] | None]]:
    """Every table that the benchmarks can show: the entry of the configuration, and the long tails (None: all)."""
    found: dict[str, tuple[str, tuple[str, ...] | None]] = {}
    for name, block in config.benchmarks.items():
        problem = block.problem(name)
        own = problem.benchmark(config.base)
        # The paper's tables are those of its own entries; another entry with the same sigma has one of its own name.
        shown = own.tables if own.name == name else {name: None}
        found |= {table: (name, tails) for table, tails in shown.items()}
    return found


def table_names(config: Config) -> tuple[str, ...]:
    """The tables to make: those asked for that have something to show, else one for every benchmark and its kinds."""
    known = tables_of(config)
    if config.tables is None:
        return tuple(known)
    return tuple(name for name in config.tables if name == "runtime" or (name in known and table_runs(config, name)))


def table_runs(config: Config, table: str) -> list[Run]:
    """The runs that a table shows."""
    name, tails = tables_of(config)[table]
    return [
        (cell, method)
        for cell, method in runs(config)
        if cell.benchmark == name and (tails is None or cell.rho in tails)
    ]
