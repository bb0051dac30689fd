"""The symbolic component sigma: compiled once, then every question is one pass over its diagram."""

from nslimb.sigma.component import Best, Sigma
from nslimb.sigma.families import Family
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
from nslimb.sigma.product import combine, family
from nslimb.sigma.sequences import addition, automaton, comparison
from nslimb.sigma.transducer import Transducer

__all__ = [
    "CIFAR10_CLASSES",
    "CIFAR10_HIERARCHY",
    "FORMULA_CLASSES",
    "Best",
    "Family",
    "Sigma",
    "Transducer",
    "addition",
    "automaton",
    "combine",
    "comparison",
    "counterexample",
    "family",
    "formula",
    "maximum",
    "smallest_parent",
    "total",
]
