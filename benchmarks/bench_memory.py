"""A training step of LeNet in a process that keeps freed memory against one that gives it back."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import torch
from measure import Claim, report

import nslimb
from nslimb.data.pixels import prepare
from nslimb.memory import keep_freed_memory
from nslimb.networks import build

STEPS, TURNS = 60, 3


def step_seconds(arity: int) -> float:
    """CPU seconds of a step of SL on 64 samples of MAX, random images with affine maps."""
    images = torch.randint(256, (6000, 28, 28), dtype=torch.uint8)
    sigma, network, generator = nslimb.sigma.maximum(arity), build("lenet", 10, 1), torch.Generator().manual_seed(1)
    optimizer = torch.optim.Adam(network.parameters())

    def step() -> None:
        chosen = prepare(images[torch.randint(6000, (64 * arity,))], "affine", generator)
        scores = network(chosen).view(64, arity, 10).log_softmax(-1)
        optimizer.zero_grad()
        nslimb.semantic_loss(scores, torch.randint(10, (64,)), sigma).mean().backward()
        optimizer.step()

    for _ in range(10):
        step()
    began = time.process_time()
    for _ in range(STEPS):
        step()
    return (time.process_time() - began) / STEPS


def measured(how: str, arity: int) -> float:
    command = [sys.executable, __file__, how, str(arity)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    claims = []
    for arity, limit in ((3, 1.0), (5, 0.95)):
        turns = [(measured("keep", arity), measured("default", arity)) for _ in range(TURNS)]
        kept, usual = (statistics.median(times) for times in zip(*turns, strict=True))
        told = f"{1000 * kept:.1f} ms / {1000 * usual:.1f} ms"
        claims.append(Claim(f"MAX-{arity}: a step with memory kept / given back", kept / usual, limit, told))
    report("memory, LeNet, 64 samples, one thread", claims)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        if sys.argv[1] == "keep":
            keep_freed_memory()
        print(step_seconds(int(sys.argv[2])))
    else:
        main()
