"""Runs as the workflow leaves them, with numbers of a test's choice: nothing is trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nslimb.experiment import names
from nslimb.experiment.cells import Cell, run_path
from nslimb.experiment.config import Config
from nslimb.experiment.gather import GridRun
from nslimb.experiment.jobs.recipe import digest_of
from nslimb.experiment.recipes import adjust_recipe
from nslimb.experiment.runs.base import write_schema
from nslimb.experiment.runs.marginals import Marginals
from nslimb.experiment.runs.metrics import Ceiling, Metrics, RatioError
from nslimb.experiment.runs.run import RunFile
from nslimb.learning.history import Epoch, write_history
from nslimb.learning.methods import METHODS

ADJUSTMENTS = {"none": "none", "la": "LA", "carot": "CAROT"}
CELL = Cell("max", "3", "0", "1")


def metrics_of(
    accuracy: float,
    class_accuracy: Sequence[float] | None = None,
    adjustments: Sequence[str] = tuple(ADJUSTMENTS),
    adjusted: float = 0.01,
) -> Metrics:
    """Metrics whose every measure is ``accuracy``; each adjustment after ``none`` adds ``adjusted``, one point."""
    ratios = np.full(10, 0.1).tolist()
    entries: dict[str, dict[str, Any]] = {}
    for place, name in enumerate(adjustments):
        reached = accuracy + adjusted * place
        entry = dict.fromkeys(("accuracy", "macro_recall", "worst_class", "geometric_mean"), reached)
        each = [reached] * 10 if class_accuracy is None else list(class_accuracy)
        matrix = (100 * np.eye(10, dtype=int)).tolist()
        entries[name] = {**entry, "class_accuracy": each, "confusion_matrix": matrix, "setting": {}}
        entries[name]["validation_weak_accuracy"] = 0.9
    error = RatioError(total_variation=0.1, kullback_leibler=0.2, estimated=ratios, true=ratios)
    return Metrics(
        source="mnist5k",
        adjustments=entries,
        ratios=error,
        ceiling=Ceiling(identifiable=1.0, lost=[]),
        settings="s",
        code={"train": "c"},
        seconds=1.0,
    )


def epochs_of(number: int = 4, *, lp_seconds: float = 0.0, loss: float = 2.0, look_every: int = 1) -> list[Epoch]:
    """A history in which the loss halves with every epoch."""
    rows = []
    for epoch in range(1, number + 1):
        row = Epoch(
            epoch=epoch,
            phase="training",
            loss=loss / 2 ** (epoch - 1),
            train_weak_accuracy=0.5,
            validation_weak_accuracy=0.1 * epoch,
            validation_log_likelihood=-1.0,
            seconds=2.0,
            lp_seconds=lp_seconds,
            batches=10,
        )
        if epoch % look_every == 0 or epoch == number:
            row = replace(row, test_accuracy=0.2 * epoch, test_class_accuracy=[0.01 * epoch * j for j in range(10)])
        rows.append(row)
    return rows


def run_file(cell: Cell = CELL, method: str = "sl") -> RunFile:
    """Where such a run comes from."""
    settings = {"epochs": 2, "batch_size": 64}
    return RunFile(
        cell=vars(cell),
        method=method,
        oracle=False,
        protocol="exact",
        grid="quick",
        source={"name": "mnist5k", "origin": "here", "digest": "abc"},
        recipe={"network": "lenet", "training": settings, "method": {"settings": {"gamma": 0.5}}, "code": "abc"},
        device="cpu",
        versions={},
        environment={},
        commit="def",
        seconds={"training": 1.0, "job": 1.5},
    )


def write_run(
    config: Config,
    cell: Cell,
    method: str,
    accuracy: float,
    class_accuracy: Sequence[float] | None = None,
    adjusted: float = 0.01,
) -> Path:
    """metrics.json and history.csv of a run of this grid, as fresh as if it had just ended; its folder."""
    folder = config.results / run_path(cell, method)
    adjustments = ("none", *(entry.rpartition(":")[2] for entry in config.adjustments))
    recipe = adjust_recipe(config, cell, method)
    code = recipe.pop("code")
    content = metrics_of(accuracy, class_accuracy, adjustments, adjusted)
    write_schema(folder / names.METRICS, content.model_copy(update={"settings": digest_of(recipe), "code": code}))
    write_history(folder / names.HISTORY, epochs_of(lp_seconds=0.5 if method.startswith("ilp") else 0.0))
    return folder


def write_whole(config: Config, cell: Cell, method: str, accuracy: float) -> Path:
    """A finished run with all of its small files."""
    folder = write_run(config, cell, method, accuracy)
    write_schema(folder / names.RUN_FILE, run_file(cell, method))
    given: dict[str, Any] = {"log_likelihood": -1.0, "iterations": 3, "converged": True, "not_identified": []}
    write_schema(folder.parent / names.MARGINALS, Marginals(ratios=[0.1] * 10, seconds=1.0, **given))
    return folder


def grid_run(
    method: str, seed: str = "1", accuracy: float | None = 0.5, rho: str = "0", adjusted: float = 0.01
) -> GridRun:
    """A run as tables and figures are given it; without metrics where ``accuracy`` is None."""
    made = METHODS.get(method)
    return GridRun(
        cell=Cell("max", "3", rho, seed),
        method=method,
        printed=made.printed,
        oracle=made.oracle,
        supervised=method == "supervised",
        sigma="max",
        title="MAX",
        class_names=tuple("0123456789"),
        known_ratios=False,
        adjustments=ADJUSTMENTS,
        colour="#000000",
        mark="o",
        dash="-",
        folder=Path("nowhere"),
        metrics=None if accuracy is None else metrics_of(accuracy, adjusted=adjusted),
        epochs=None if accuracy is None else epochs_of(lp_seconds=0.5 if method.startswith("ilp") else 0.0),
    )
