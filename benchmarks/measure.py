"""Measure claims of speed: each is a ratio between two things timed in turns in one run, on one thread."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from rich.console import Console
from rich.table import Table

from nslimb.experiment.tables import write_csv

SPEED = Path(__file__).parents[1] / "docs" / "speed.csv"
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
    """Print a table of the claims and keep it in docs/speed.csv; the exit code says whether all hold."""
    table = Table(title=title)
    for column in ("claim", "measured", "at most", "detail", ""):
        table.add_column(column, justify="left" if column in ("claim", "detail") else "right")
    for claim in claims:
        verdict = "[green]holds[/]" if claim.holds else "[red]fails[/]"
        table.add_row(claim.text, f"{claim.value:.3g}", f"{claim.limit:.3g}", claim.detail, verdict)
    Console(width=150).print(table)
    _keep(Path(sys.argv[0]).stem, claims)
    sys.exit(not all(claim.holds for claim in claims))


def _keep(name: str, claims: list[Claim]) -> None:
    """Write the claims in place of the last ones of the same file."""
    rows = [
        {"file": name, "claim": claim.text, "measured": claim.value, "at_most": claim.limit, "detail": claim.detail}
        for claim in claims
    ]
    frame = pd.DataFrame(rows)
    if SPEED.exists():
        there = pd.read_csv(SPEED)
        frame = pd.concat([there[there["file"] != name], frame])
    write_csv(SPEED, frame.sort_values("file", kind="stable").round({"measured": 4}))
