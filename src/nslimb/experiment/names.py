"""The names that the grid is made of, without importing what they stand for."""

from __future__ import annotations

from collections.abc import Callable

BENCHMARKS = ("max", "sum", "hwf", "smallest_parent")
SOURCES = ("mnist5k", "mnist", "cifar10", "hwf", "hwf-embedded")
NETWORKS = ("lenet", "lenet45", "symbolnet", "resnet18", "resnet-narrow")
METHODS = ("sl", "records", "ilp-emp", "ilp-alg1", "ilp-gold", "supervised")
ADJUSTMENTS = ("none", "la", "carot")
TABLES = ("max", "max_full", "sum", "hwf", "smallest_parent", "runtime")

FIGURES = (
    "class_accuracy_over_epochs",
    "marginals",
    "sl_against_ilp",
    "accuracy_by_method",
    "accuracy_against_rho",
    "accuracy_against_arity",
    "training_curves",
    "lp_seconds_per_batch",
)

STUDIES = ("risk_bounds", "counterexample", "sensitivity", "carot_robustness", "order")

# As the paper prints them.
PRINTED = {
    "sl": "SL",
    "records": "RECORDS",
    "ilp-emp": "ILP(EMP)",
    "ilp-alg1": "ILP(ALG1)",
    "ilp-gold": "ILP(GOLD)",
    "supervised": "supervised (oracle)",
    "none": "none",
    "la": "LA",
    "carot": "CAROT",
}

# The benchmark of each table, and the long tails that it shows (None: all).
TABLE_CELLS: dict[str, tuple[str, tuple[str, ...] | None]] = {
    "max": ("max", ("0", "5", "50")),
    "max_full": ("max", None),
    "sum": ("sum", None),
    "hwf": ("hwf", None),
    "smallest_parent": ("smallest_parent", None),
}


def _at_least_one(arity: int) -> bool:
    """integers of at least 1"""
    return arity >= 1


def _at_least_two(arity: int) -> bool:
    """integers of at least 2"""
    return arity >= 2


def _odd(arity: int) -> bool:
    """odd integers (digits and operators alternate)"""
    return arity % 2 == 1


ARITIES: dict[str, Callable[[int], bool]] = {
    "max": _at_least_one,
    "sum": _at_least_one,
    "hwf": _odd,
    "smallest_parent": _at_least_two,
}
