"""The exact loss of a batch, forward and backward: ours and KLay's in turns, checked to give the same values."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from circuits import Fold, compiled, from_diagram, make_step
from common import BATCH, in_turns, tell

import nslimb
from nslimb import Sigma

CLOSE = 1e-5
OURS, ON_OURS, ON_SDD = "nslimb", "KLay on our diagram", "KLay on PySDD's circuit"


def _sum(state: int, _position: int, label: int) -> int:
    return state + label


def _maximum(state: int, _position: int, label: int) -> int:
    return max(state, label)


def _numbers(digits: int) -> Callable[[int, int, int], int]:
    """The sum of two numbers, most significant digits first."""
    return lambda state, position, label: state + label * 10 ** (digits - 1 - position % digits)


TASKS: dict[str, tuple[Callable[[], Sigma], Fold]] = {
    "MAX-3": (lambda: nslimb.sigma.maximum(3), (0, _maximum)),
    "MAX-5": (lambda: nslimb.sigma.maximum(5), (0, _maximum)),
    "SUM-5": (lambda: nslimb.sigma.total(5), (0, _sum)),
    "SUM-7": (lambda: nslimb.sigma.total(7), (0, _sum)),
    "MNIST-Add, N = 1": (lambda: nslimb.sigma.addition(1), (0, _numbers(1))),
    "MNIST-Add, N = 2": (lambda: nslimb.sigma.addition(2), (0, _numbers(2))),
    "MNIST-Add, N = 3": (lambda: nslimb.sigma.addition(3), (0, _numbers(3))),
}


def ours(sigma: Sigma, logits: torch.Tensor, weak: torch.Tensor) -> Callable[[], torch.Tensor]:
    def run() -> torch.Tensor:
        logits.grad = None
        losses = nslimb.semantic_loss(logits.log_softmax(-1), weak, sigma)
        losses.mean().backward()
        return losses.detach()

    return run


def value_of(label: Any) -> int:
    """A weak label as a number: sums come as digits, least significant first."""
    return sum(digit * 10**k for k, digit in enumerate(label)) if isinstance(label, tuple) else label


def measure(task: str) -> None:
    build, fold = TASKS[task]
    began = time.process_time()
    sigma = build()
    seconds = time.process_time() - began
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(BATCH, sigma.arity, 10, generator=generator).requires_grad_()
    weak = sigma.apply(torch.randint(10, (BATCH, sigma.arity), generator=generator))
    listed = sigma.listed()
    indices = weak if sigma.is_listed else listed.encode(sigma.decode(weak))
    own = ours(sigma, logits, weak)
    expected = own()
    tell(task, OURS, "compilation, s", seconds)
    results = [value_of(label) for label in listed.weak_labels]
    circuits = {
        ON_OURS: lambda: from_diagram(listed),
        ON_SDD: lambda: compiled(fold, results, 10, sigma.arity),
    }
    for place, (name, make) in enumerate(circuits.items()):
        began = time.process_time()
        circuit = make()
        tell(task, name, "compilation, s", time.process_time() - began, package="klaycircuits")
        theirs = make_step(circuit, logits, indices)
        difference = float((theirs() - expected).abs().max())
        if difference > CLOSE:
            raise SystemExit(f"{task}: {name} differs from ours by {difference}")
        taken = in_turns({OURS: own, name: theirs})
        if place == 0:
            tell(task, OURS, "loss of a batch, ms", taken[OURS], ratio=1.0)
        tell(task, name, "loss of a batch, ms", taken[name], package="klaycircuits", ratio=taken[name] / taken[OURS])


if __name__ == "__main__":
    measure(sys.argv[1])
