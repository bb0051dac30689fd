"""Circuits for KLay: our own decision diagram as one with many roots, and what PySDD compiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import klay
import torch
from pysdd.sdd import SddManager, Vtree
from torch import Tensor

from nslimb.sigma import Sigma
from nslimb.sigma.diagram import DEAD

Fold = tuple[Any, Callable[[Any, int, int], Any]]  # a first state, and step(state, position, label)


def from_diagram(sigma: Sigma) -> klay.Circuit:
    """Our diagram node by node, a root for each weak label in their order: KLay's best case."""
    circuit, diagram = klay.Circuit(), sigma.diagram
    states: list[Any] = [None]  # the first state is certain
    for position, targets, width in zip(diagram.positions, diagram.targets, diagram.widths[1:], strict=True):
        literals = [circuit.literal_node(1 + position * sigma.num_classes + y) for y in range(sigma.num_classes)]
        incoming: list[list[Any]] = [[] for _ in range(width)]
        for state, row in zip(states, targets.tolist(), strict=True):
            for label, target in enumerate(row):
                if target != DEAD:
                    edge = literals[label] if state is None else circuit.and_node([state, literals[label]])
                    incoming[target].append(edge)
        states = [edges[0] if len(edges) == 1 else circuit.or_node(edges) for edges in incoming]
    for state in states:
        circuit.set_root(state)
    return circuit


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


def make_step(circuit: klay.Circuit, logits: Tensor, weak: Tensor) -> Callable[[], Tensor]:
    """Forward and backward of the loss on whole batches [B, literals]; a label that is not taken has weight 1."""
    module = circuit.to_torch_module(semiring="log", compile=False)
    ones = torch.zeros(len(logits), logits[0].numel())
    rows = torch.arange(len(weak))

    def run() -> Tensor:
        logits.grad = None
        losses = -module(logits.log_softmax(-1).flatten(1), ones)[rows, weak]
        losses.mean().backward()
        return losses.detach()

    return run
