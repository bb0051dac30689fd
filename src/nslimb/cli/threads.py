"""How many threads a command computes with: one, for its operations are small, and others may be at work."""

from __future__ import annotations

import os
import sys

import typer

_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def compute_with_few_threads() -> None:
    """Let this process compute with one thread, and say so; whoever has set OMP_NUM_THREADS has chosen already.

    To be called before torch is imported: its threads, and those of numpy and scipy, are chosen by the environment.
    """
    cores = available_cores()
    if cores == 1 or os.environ.get("OMP_NUM_THREADS"):
        return
    for name in _VARIABLES:
        os.environ.setdefault(name, "1")
    if "torch" in sys.modules:
        import torch

        torch.set_num_threads(1)
    typer.echo(
        f"computing with 1 thread of {cores}, as its operations are small (OMP_NUM_THREADS changes it)", err=True
    )


def available_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
