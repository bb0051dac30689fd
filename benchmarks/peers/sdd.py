"""Circuits for KLay that PySDD compiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import klay
from pysdd.sdd import SddManager, Vtree

Fold = tuple[Any, Callable[[Any, int, int], Any]]  # a first state, and step(state, position, label)


def compiled(fold: Fold, results: list[Any], classes: int, arity: int) -> klay.Circuit:
    """A sentential decision diagram for each result: one Boolean variable for each label of a position.

    Positions are folded one after another, each result so far with the formula of the labels that lead to it. The vtree
    is balanced over the variables in their order.
    """
    count = classes * arity
    manager = SddManager.from_vtree(Vtree(count, list(range(1, count + 1)), "balanced"))
    first, step = fold
    formulas = {first: manager.true()}
    for position in range(arity):
        chosen = [_only(manager, position, y, classes) for y in range(classes)]
        following: dict[Any, Any] = {}
        for state, formula in formulas.items():
            for label, cube in enumerate(chosen):
                after = step(state, position, label)
                term = manager.conjoin(formula, cube)
                following[after] = manager.disjoin(following[after], term) if after in following else term
        formulas = following
    circuit = klay.Circuit()
    for result in results:
        circuit.add_sdd(formulas[result])
    return circuit


def _only(manager: SddManager, position: int, label: int, classes: int) -> Any:
    """This label at this position and no other."""
    literals = [manager.literal((1 if y == label else -1) * (1 + position * classes + y)) for y in range(classes)]
    return reduce(manager.conjoin, literals)
