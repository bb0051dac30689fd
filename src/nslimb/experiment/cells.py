"""From a configuration to cells, paths and targets; what is in a path can be read back out of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nslimb.errors import InvalidInput
from nslimb.experiment.config import Benchmark, Config
from nslimb.experiment.names import BENCHMARKS, METHODS, TABLE_CELLS

if TYPE_CHECKING:
    from nslimb.sigma.component import Sigma

# Digits, then operators among the first, as in the paper's released code.
HWF_ORDER = (0, 1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9)

CELL = "benchmark={benchmark}/M={M}/rho={rho}/seed={seed}"
RUN = CELL + "/train={method}"
TIMING = "runtime/benchmark={benchmark}/M={M}/batch={batch}"
CONSTRAINTS = {
    "benchmark": "|".join(BENCHMARKS),
    "M": r"\d+",
    "rho": r"\d+(\.\d+)?",
    "seed": r"\d+",
    "method": "|".join(map(re.escape, METHODS)),
    "batch": r"\d+",
    "table": r"\w+",
    "figure": r"\w+",
}


@dataclass(frozen=True, order=True)
class Cell:
    """One setting of the grid, for one seed."""

    benchmark: str
    M: str
    rho: str
    seed: str

    @property
    def path(self) -> str:
        return CELL.format(**vars(self))

    @classmethod
    def from_wildcards(cls, wildcards: Any) -> Cell:
        return cls(wildcards.benchmark, wildcards.M, wildcards.rho, wildcards.seed)


def cells(config: Config) -> Iterator[Cell]:
    """Every cell of the grid."""
    for name, benchmark in config.benchmarks.items():
        for arity in benchmark.M:
            for rho in benchmark.rho:
                for seed in config.seeds:
                    yield Cell(name, arity, rho, seed)


def runs(config: Config) -> Iterator[tuple[Cell, str]]:
    """Every (cell, method)."""
    for cell in cells(config):
        for method in config.benchmarks[cell.benchmark].methods:
            yield cell, method


def run_path(cell: Cell, method: str) -> str:
    """The folder of a run, below the results folder."""
    return f"{cell.path}/train={method}"


def timings(config: Config) -> list[str]:
    """The folders of the runtime table's measurements."""
    if "runtime" not in config.tables:
        return []
    return [
        TIMING.format(benchmark=name, M=arity, batch=batch)
        for name, arities in (("max", config.runtime.max_M), ("sum", config.runtime.sum_M))
        for arity in arities
        for batch in config.runtime.batch_sizes
    ]


def table_runs(config: Config, table: str) -> list[tuple[Cell, str]]:
    """The runs that a table shows."""
    name, tails = TABLE_CELLS[table]
    return [
        (cell, method)
        for cell, method in runs(config)
        if cell.benchmark == name and (tails is None or cell.rho in tails)
    ]


def robustness_runs(config: Config) -> list[tuple[Cell, str]]:
    """The trained model that CAROT's robustness is shown on: SL on MAX-3, the first of the grid."""
    return [run for run in runs(config) if run[1] == "sl" and (run[0].benchmark, run[0].M) == ("max", "3")][:1]


def order_runs(config: Config) -> list[tuple[Cell, str]]:
    """The runs whose classes are put in the order of their bounds."""
    return [run for run in runs(config) if run[1] in ("sl", "ilp-alg1", "ilp-gold")]


def tables(config: Config) -> list[str]:
    """The tables of the configuration that have something to show."""
    return [table for table in config.tables if table == "runtime" or table_runs(config, table)]


def settings_of(config: Config, benchmark: str) -> Benchmark:
    """A benchmark's settings, or an error that lists those in the configuration."""
    if benchmark not in config.benchmarks:
        raise InvalidInput("benchmark", f"one of the configuration's: {', '.join(config.benchmarks)}", repr(benchmark))
    return config.benchmarks[benchmark]


def sigma_of(config: Config, benchmark: str, arity: str) -> Sigma:
    """The symbolic component of a cell."""
    from nslimb import sigma

    if benchmark == "max":
        return sigma.maximum(int(arity))
    if benchmark == "sum":
        return sigma.total(int(arity))
    if benchmark == "hwf":
        return sigma.formula(int(arity), precedence=config.precedence)
    if config.hierarchy is None:
        return sigma.smallest_parent(arity=int(arity))
    leaves = [child for children in config.hierarchy.values() for child in children if child not in config.hierarchy]
    return sigma.smallest_parent(config.hierarchy, int(arity), classes=sorted(leaves))


def groups_of(benchmark: str, arity: str) -> list[int] | None:
    """Positions whose labels share a marginal: digits and operators apart in formulas."""
    return [i % 2 for i in range(int(arity))] if benchmark == "hwf" else None


def tail_of(benchmark: str) -> dict[str, Any]:
    """How a benchmark's long tail runs."""
    return {"reverse": benchmark == "max", "order": HWF_ORDER if benchmark == "hwf" else None}


def method_options(config: Config, benchmark: str) -> dict[str, Any]:
    """How the protocol computes losses: as the paper does, or exactly."""
    common = {
        "epsilon": config.training.epsilon,
        "pre_epochs": config.training.pre_epochs,
        "warm_up": config.training.warm_up,
    }
    if config.protocol == "exact":
        return {"proofs": None, "form": "nll", "encoding": "hull", **common}
    proofs = None if benchmark == "smallest_parent" else 1
    return {"proofs": proofs, "form": "bce", "encoding": "paper", **common}
