"""The exact loss of a batch, forward and backward: ours and KLay's in turns, checked to give the same values."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from common import BATCH, in_turns, is_there, tell
from words import COMPILATION, LOSS, NOT_INSTALLED, ON_OURS, ON_SDD, OURS

import nslimb
from nslimb import Sigma

if TYPE_CHECKING:
    from sdd import Fold

CLOSE = 1e-5


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


def circuits_for(sigma: Sigma, fold: Fold) -> dict[str, Callable[[], Any] | None]:
    """How KLay gets its circuit for a listed sigma; None where what that takes is not installed."""
    makers: dict[str, Callable[[], Any] | None] = dict.fromkeys((ON_OURS, ON_SDD))
    if is_there("klay"):
        from circuits import from_diagram

        makers[ON_OURS] = partial(from_diagram, sigma)
    if is_there("klay") and is_there("pysdd"):
        from sdd import compiled

        results = [value_of(label) for label in sigma.weak_labels]
        makers[ON_SDD] = partial(compiled, fold, results, sigma.num_classes, sigma.arity)
    return makers


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
    tell(task, OURS, COMPILATION, seconds)
    tell(task, OURS, LOSS, in_turns({OURS: own})[OURS], ratio=1.0)
    for name, make in circuits_for(listed, fold).items():
        if make is None:
            tell(task, name, LOSS, None, NOT_INSTALLED)
            continue
        from circuits import make_step

        began = time.process_time()
        circuit = make()
        tell(task, name, COMPILATION, time.process_time() - began, package="klaycircuits")
        theirs = make_step(circuit, logits, indices)
        difference = float((theirs() - expected).abs().max())
        if difference > CLOSE:
            raise SystemExit(f"{task}: {name} differs from ours by {difference}")
        taken = in_turns({OURS: own, name: theirs})
        tell(task, name, LOSS, taken[name], package="klaycircuits", ratio=taken[name] / taken[OURS])


if __name__ == "__main__":
    measure(sys.argv[1])
