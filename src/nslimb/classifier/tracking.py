"""A fit as a run in MLflow: its settings, its epochs, and the classifier itself. mlflow is imported when asked for."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from nslimb.errors import MissingEngine
from nslimb.learning.history import Epoch

_LEFT_OUT = ("epoch", "phase", "version", "ratios", "test_accuracy", "test_class_accuracy")
_NUMBERS = tuple(field.name for field in fields(Epoch) if field.name not in _LEFT_OUT)
# What a store takes in one request.
_BATCH = 900


def check_mlflow() -> None:
    """Refuse to log without mlflow, before anything long begins."""
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    try:
        import mlflow  # noqa: F401
    except ImportError as error:
        raise MissingEngine("experiment needs mlflow: pip install mlflow") from error


def log_fit(
    experiment: str,
    parameters: Mapping[str, Any],
    history: Sequence[Epoch],
    results: Mapping[str, float],
    save: Callable[[Path], object],
) -> str:
    """Log a finished fit to the store that MLflow itself is set to (``MLFLOW_TRACKING_URI``); the run's id.

    ``save`` writes the classifier into a folder, for the run to keep.
    """
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    store = MlflowClient()
    found = store.get_experiment_by_name(experiment)
    where = store.create_experiment(experiment) if found is None else found.experiment_id
    end = int(1000 * time.time())
    begin = end - int(1000 * sum(row.seconds for row in history))
    run = store.create_run(
        where, start_time=begin, run_name=f"{parameters['sigma']} {parameters['method']}"
    ).info.run_id
    times = accumulate(int(1000 * row.seconds) for row in history)
    values = [Metric(name, value, end, len(history)) for name, value in results.items()]
    values += [
        Metric(name, float(getattr(row, name)), begin + passed, row.epoch)
        for row, passed in zip(history, times, strict=True)
        for name in _NUMBERS
        if getattr(row, name) is not None
    ]
    shown = [Param(key, str(value)) for key, value in parameters.items()]
    for start in range(0, len(values), _BATCH):
        store.log_batch(run, metrics=values[start : start + _BATCH], params=shown if start == 0 else ())
    with TemporaryDirectory() as folder:
        save(Path(folder))
        store.log_artifacts(run, folder)
    store.set_terminated(run, end_time=end)
    return str(run)
