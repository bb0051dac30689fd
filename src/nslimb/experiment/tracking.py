"""MLflow as a mirror of the results folder: the one place that imports mlflow.

Files are the truth. A run in MLflow is found by a tag with its path and carries a digest of its files, so that
mirroring twice changes nothing, a changed run replaces its mirror, and a lost database is rebuilt.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nslimb.errors import DataError
from nslimb.experiment import names
from nslimb.experiment.runs.base import read_schema
from nslimb.experiment.runs.metrics import Metrics
from nslimb.experiment.runs.run import RunFile
from nslimb.files import digest
from nslimb.learning.history import read_history

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

_PATH_TAG, _DIGEST_TAG = "nslimb.path", "nslimb.digest"
# The UI then opens with the list of runs.
_KIND = {"mlflow.experimentKind": "custom_model_development"}
# What a store takes in one request: 1,000 values, parameters among them.
_BATCH = 900
_ARTIFACTS = (names.METRICS, names.HISTORY, names.RUN_FILE)
_HISTORY = ("loss", "train_weak_accuracy", "validation_weak_accuracy", "test_accuracy", "seconds", "lp_seconds")


def tracking_uri(results: Path) -> str:
    """The server named by MLFLOW_TRACKING_URI, else a SQLite file in the results folder."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{(results / 'mlflow.db').resolve()}"


def client(uri: str) -> Any:
    """A client that has reached its store; the first to open a fresh SQLite file also creates its tables."""
    from mlflow.tracking import MlflowClient

    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "10")
    found = MlflowClient(tracking_uri=uri)
    try:
        found.search_experiments(max_results=1)
    except Exception as error:
        raise DataError(
            f"MLflow: {uri} cannot be reached ({str(error).splitlines()[0]}); start that server or unset "
            "MLFLOW_TRACKING_URI, then run the workflow again: only the tracking is left to do"
        ) from error
    return found


def mirror_cell(uri: str, experiment: str, cell: Path, methods: Iterable[str], results: Path) -> dict[str, str]:
    """Mirror the runs in a cell's folder, below ``results``; what was done with each."""
    store = client(uri)
    folders = [cell / f"train={method}" for method in methods]
    paths = [str(folder.relative_to(results)) for folder in folders]
    artifacts = results / "artifacts"
    return {
        path: mirror(store, experiment, path, folder, artifacts) for path, folder in zip(paths, folders, strict=True)
    }


def mirror(store: Any, experiment: str, path: str, folder: Path, artifacts: Path) -> str:
    """Mirror a run's folder; returns "unchanged", "created" or "replaced"."""
    contents = {name: (folder / name).read_bytes() for name in _ARTIFACTS}
    content = digest(*contents.values())
    where = _experiment(store, experiment, artifacts)
    old = store.search_runs([where], filter_string=f"tags.`{_PATH_TAG}` = '{path}'", max_results=100)
    if len(old) == 1 and old[0].data.tags.get(_DIGEST_TAG) == content:
        return "unchanged"
    _write(store, where, path, content, folder)
    for run in old:
        store.delete_run(run.info.run_id)
    return "replaced" if old else "created"


def _experiment(store: Any, name: str, artifacts: Path) -> str:
    from mlflow.exceptions import MlflowException

    found = store.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    served = os.environ.get("MLFLOW_TRACKING_URI", "").startswith("http")  # then it is the server that keeps artifacts
    location = None if served else (artifacts / name).resolve().as_uri()
    try:
        return str(store.create_experiment(name, artifact_location=location, tags=_KIND))
    except MlflowException:  # another process was first
        return str(store.get_experiment_by_name(name).experiment_id)


def _write(store: Any, experiment: str, path: str, content: str, folder: Path) -> None:
    from mlflow.entities import Metric, Param

    described = read_schema(folder / names.RUN_FILE, RunFile)
    metrics = read_schema(folder / names.METRICS, Metrics)
    now = int(time.time() * 1000)
    tags = {
        _PATH_TAG: path,
        "protocol": described.protocol,
        "grid": described.grid,
        "oracle": str(described.oracle),
        "code": described.recipe["code"],
        "commit": described.commit,
        "source": described.source["name"],
        **{f"cell.{key}": value for key, value in described.cell.items()},
    }
    run = store.create_run(experiment, run_name=path, tags={key: str(value) for key, value in tags.items()})
    recipe = described.recipe
    settings = {
        **described.cell,
        "method": described.method,
        "network": recipe["network"],
        **recipe["training"],
        **recipe["method"]["settings"],
    }
    parameters = [Param(str(key), str(value)) for key, value in settings.items()]
    values = [Metric(name, value, now, 0) for name, value in _final(metrics)]
    values += [Metric(name, value, now, step) for name, value, step in _epochs(folder / names.HISTORY)]
    for start in range(0, len(values), _BATCH):
        store.log_batch(
            run.info.run_id, metrics=values[start : start + _BATCH], params=parameters if start == 0 else ()
        )
    for name in _ARTIFACTS:
        store.log_artifact(run.info.run_id, str(folder / name))
    # The digest comes last: a mirror that was cut short does not count as one.
    store.set_tag(run.info.run_id, _DIGEST_TAG, content)
    store.set_terminated(run.info.run_id)


def _final(metrics: Metrics) -> list[tuple[str, float]]:
    found = [
        (f"{adjustment}.{name}", float(value))
        for adjustment, entries in metrics.adjustments.items()
        for name, value in entries.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    ]
    return [*found, ("ratios.total_variation", metrics.ratios.total_variation)]


def _epochs(history: Path) -> list[tuple[str, float, int]]:
    return [
        (f"epoch.{name}", float(getattr(row, name)), row.epoch)
        for row in read_history(history)
        for name in _HISTORY
        if getattr(row, name) is not None
    ]
