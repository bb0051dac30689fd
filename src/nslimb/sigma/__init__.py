"""The symbolic component sigma: compiled once, then every question is one pass over its diagram."""

from nslimb.sigma.component import Best, Sigma
from nslimb.sigma.library import (
    CIFAR10_CLASSES,
    CIFAR10_HIERARCHY,
    FORMULA_CLASSES,
    counterexample,
    formula,
    maximum,
    smallest_parent,
    total,
)
from nslimb.sigma.product import combine

__all__ = [
    "CIFAR10_CLASSES",
    "CIFAR10_HIERARCHY",
    "FORMULA_CLASSES",
    "Best",
    "Sigma",
    "combine",
    "counterexample",
    "formula",
    "maximum",
    "smallest_parent",
    "total",
]
