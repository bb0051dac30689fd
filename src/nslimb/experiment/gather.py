"""Read what a grid has left on disk: for tables, figures, studies and tracking alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from nslimb.errors import DataError
from nslimb.experiment import names
from nslimb.experiment.cells import Cell, Run, run_path, runs, variant_of
from nslimb.experiment.config import Config
from nslimb.experiment.finished import finished_metrics
from nslimb.experiment.recipes import marginals_recipe
from nslimb.experiment.runs.metrics import Metrics
from nslimb.experiment.titles import benchmark_title, class_names, printed_adjustments, printed_name
from nslimb.learning.history import Epoch, read_history
from nslimb.learning.methods import method_class
from nslimb.plotting import COLOURS

MARKS = "osD^v*PX<>hp"
DASHES = ("-", "--", ":")


@dataclass(frozen=True)
class GridRun:
    """A run of the grid: which it is, how it is printed and drawn, and what it has left on disk."""

    cell: Cell
    method: str
    printed: str
    oracle: bool
    supervised: bool  # trained on gold labels: what the network can do at all
    sigma: str  # its benchmark's, as the configuration names it
    title: str  # of its benchmark
    class_names: tuple[str, ...]  # as figures print them
    known_ratios: bool  # those of its cell are known, not estimated: label vectors are listed
    adjustments: dict[str, str]  # names, ``none`` first, and how they are printed
    colour: str
    mark: str
    dash: str  # with the colour, a line's own
    folder: Path
    metrics: Metrics | None  # None where missing
    epochs: list[Epoch] | None

    @property
    def scenario(self) -> str:
        """Benchmark, M and rho, as figures print them."""
        return f"{self.title}-{self.cell.M}, rho={self.cell.rho}"

    @cached_property
    def history(self) -> pd.DataFrame:
        """One row an epoch."""
        frame: pd.DataFrame = pd.DataFrame([asdict(row) for row in self.epochs or ()])
        return frame

    @property
    def finished(self) -> bool:
        return self.metrics is not None and self.epochs is not None

    @property
    def done(self) -> Metrics:
        """The metrics of a finished run."""
        if self.metrics is None:
            raise DataError(f"{self.folder}: has no metrics yet")
        return self.metrics

    @property
    def look(self) -> dict[str, Any]:
        """How a line of this method is drawn."""
        return {"color": self.colour, "label": self.printed}


def gather(config: Config, chosen: Iterable[Run], *, any_code: bool = False) -> list[GridRun]:
    """For each run its metrics and history; None for what is missing, an error for what is broken.

    Metrics of other settings, or of other code unless ``any_code`` or restored, which a failed run may have left in
    place, count as missing.
    """
    order = list(dict.fromkeys(method for _, method in runs(config)))
    classes = {name: class_names(config, name) for name in config.benchmarks}
    return [
        _open(config, cell, method, order.index(method), classes[cell.benchmark], any_code) for cell, method in chosen
    ]


def _open(config: Config, cell: Cell, method: str, place: int, classes: tuple[str, ...], any_code: bool) -> GridRun:
    folder = config.results / run_path(cell, method)
    metrics = finished_metrics(config, cell, method, any_code=any_code)
    history = folder / names.HISTORY
    variant = variant_of(config, cell.benchmark, method)
    return GridRun(
        cell=cell,
        method=method,
        printed=printed_name(config, cell.benchmark, method),
        oracle=method_class(variant.method, config.base).oracle,
        supervised=variant.method == "supervised",
        sigma=config.benchmarks[cell.benchmark].problem(cell.benchmark).sigma,
        title=benchmark_title(config, cell.benchmark),
        class_names=classes,
        known_ratios="ratios" in marginals_recipe(config, cell),
        adjustments=printed_adjustments(config),
        colour=COLOURS[place % len(COLOURS)],
        mark=MARKS[place % len(MARKS)],
        dash=DASHES[place // len(COLOURS) % len(DASHES)],
        folder=folder,
        metrics=metrics,
        epochs=read_history(history) if metrics is not None and history.exists() else None,
    )
