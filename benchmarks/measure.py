"""Measure claims of speed: each is a ratio between two things timed in turns in one run, on one thread."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from rich.console import Console
from rich.table import Table

torch.set_num_threads(1)


@dataclass(frozen=True)
class Claim:
    """``value`` must not exceed ``limit``."""

    text: str
    value: float
    limit: float
    detail: str

    @property
    def holds(self) -> bool:
        return self.value <= self.limit


def seconds(*runs: Callable[[], object], budget: float = 3.0) -> list[float]:
    """Median seconds of each run. They take turns of 20 ms or more, so a slow moment of the machine hits all."""
    repeats = [max(1, round(0.02 / min(_time(run, 1) for _ in range(3)))) for run in runs]
    times: list[list[float]] = [[] for _ in runs]
    stop = time.perf_counter() + budget
    while time.perf_counter() < stop or len(times[0]) < 3:
        for run, repeat, taken in zip(runs, repeats, times, strict=True):
            taken.append(_time(run, repeat))
    return [statistics.median(taken) for taken in times]


def _time(run: Callable[[], object], repeat: int) -> float:
    start = time.perf_counter()
    for _ in range(repeat):
        run()
    return (time.perf_counter() - start) / repeat


def report(title: str, claims: list[Claim]) -> None:
    """Print a table of the claims; the exit code says whether all hold."""
    table = Table(title=title)
    for column in ("claim", "measured", "at most", "detail", ""):
        table.add_column(column, justify="left" if column in ("claim", "detail") else "right")
    for claim in claims:
        verdict = "[green]holds[/]" if claim.holds else "[red]fails[/]"
        table.add_row(claim.text, f"{claim.value:.3g}", f"{claim.limit:.3g}", claim.detail, verdict)
    Console(width=150).print(table)
    sys.exit(not all(claim.holds for claim in claims))
