"""Scallop's loss and ours in turns, where the user has built scallopy."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from common import BATCH, in_turns, is_there, tell
from words import LOSS, NOT_INSTALLED, OURS

import nslimb
from nslimb import Sigma

TASKS = {
    "MAX-3": nslimb.sigma.maximum(3),
    "SUM-5": nslimb.sigma.total(5),
    "MNIST-Add, N = 1": nslimb.sigma.total(2),
}
# Measured on a build of scallopy 0.2.5 of its sources (commit 668bfb6), one core, both engines in one run: the binary
# cross-entropy over all weak labels, forward and backward, ours against Scallop's.
ONCE = {"MAX-3": (1.5, 192.0), "SUM-5": (2.1, 290.0)}


def main() -> None:
    if not is_there("scallopy"):
        for task, (ours, theirs) in ONCE.items():
            quoted = f"{NOT_INSTALLED}; measured once on a build of 0.2.5, where ours took {ours} ms"
            tell(task, "Scallop, top-1", LOSS, None, f"{quoted} and Scallop {theirs:.0f}")
        tell("MNIST-Add, N = 1", "Scallop, top-1", LOSS, None, NOT_INSTALLED)
        return
    for task, sigma in TASKS.items():
        generator = torch.Generator().manual_seed(0)
        logits = torch.randn(BATCH, sigma.arity, 10, generator=generator).requires_grad_()
        weak = sigma.apply(torch.randint(10, (BATCH, sigma.arity), generator=generator))
        for proofs in (1, 3):
            engines = {OURS: "native", "Scallop": "scallop"}
            runs = {name: partial(step, sigma, logits, weak, proofs, engine) for name, engine in engines.items()}
            taken = in_turns(runs)
            for name, taking in taken.items():
                # Of the same loss: our rows without "top" are of another one.
                ratio = taking / taken[OURS]
                tell(task, f"{name}, top-{proofs}", LOSS, taking, "binary cross-entropy", ratio=ratio)


def step(sigma: Sigma, logits: torch.Tensor, weak: torch.Tensor, proofs: int, engine: Any) -> None:
    logits.grad = None
    nslimb.semantic_loss(logits.log_softmax(-1), weak, sigma, proofs, "bce", engine).mean().backward()


if __name__ == "__main__":
    main()
