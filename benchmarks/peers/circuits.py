"""Our own decision diagram as a circuit with many roots for KLay, and the loss on any of its circuits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import klay
import torch
from torch import Tensor

from nslimb.sigma import Sigma
from nslimb.sigma.diagram import DEAD


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
