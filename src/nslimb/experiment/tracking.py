"""MLflow as a mirror of the results folder: the one place that imports mlflow.

Files are the truth. A run is looked up by grid, protocol, path and settings, and carries a digest of its files:
mirroring twice changes nothing, the same run with the same settings is replaced, and one with other settings is another
run, beside which the older stays, tagged as superseded. Those older ones are MLflow's own: a lost store is rebuilt from
the files, which have the newest alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nslimb.errors import DataError
from nslimb.experiment.tracked import Tracked, draw
from nslimb.files import written_aside
from nslimb.plotting import save

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

_PATH, _DIGEST, _SETTINGS, _SUPERSEDED = "nslimb.path", "nslimb.digest", "nslimb.settings", "superseded"
# The UI then opens with the list of runs.
_KIND = {"mlflow.experimentKind": "custom_model_development"}
# What a store takes in one request: 1,000 values, parameters among them.
_BATCH = 900
_FIGURE = "classes.png"
# A place below the folder that `mlflow ui --artifacts-destination` names: it may be copied elsewhere.
_ROOT = "mlflow-artifacts:/"
_SQLITE = "sqlite:///"


def tracking_uri(results: Path) -> str:
    """The server named by MLFLOW_TRACKING_URI, else a SQLite file in the results folder."""
    return os.environ.get("MLFLOW_TRACKING_URI") or f"{_SQLITE}{(results / 'mlflow.db').resolve()}"


def create_store(results: Path) -> None:
    """Make sure that there is a store. A SQLite file is made aside: half of its tables would be worse than none."""
    uri = tracking_uri(results)
    file = Path(uri.removeprefix(_SQLITE))
    if not uri.startswith(_SQLITE) or file.exists():
        client(uri)
        return
    with written_aside(file) as aside:
        client(f"{_SQLITE}{aside}")


def client(uri: str) -> Any:
    """A client that has reached its store."""
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


def mirror_cell(
    uri: str,
    experiment: str,
    cell: Path,
    methods: Mapping[str, str],
    classes: Sequence[str],
    results: Path,
    command: str = "",
) -> dict[str, str]:
    """Mirror the runs in a cell's folder, below ``results``; what was done with each.

    ``methods`` are their names in paths and the short names that MLflow shows; ``classes`` are the names of the
    classes; ``command`` makes the cell.
    """
    store = client(uri)
    done = {}
    for method, title in methods.items():
        folder = cell / f"train={method}"
        path = str(folder.relative_to(results))
        run = Tracked.read(path, folder, classes)
        done[path] = mirror(store, experiment, run, title, results / "artifacts", command)
    return done


def experiment_name(run: Tracked, experiment: str) -> str:
    """The experiment of a run, ``max (quick, exact)``: grids and protocols keep apart."""
    return f"{experiment} ({run.described.grid}, {run.described.protocol})"


def _place(run: Tracked, experiment: str) -> str:
    """Where the artifacts of such an experiment are, below the folder of all."""
    return f"{run.described.grid}/{run.described.protocol}/{experiment}"


def mirror(store: Any, experiment: str, run: Tracked, title: str, artifacts: Path, command: str = "") -> str:
    """Mirror a run; returns "unchanged", "created", "replaced" or, where one of other settings was there, "added"."""
    place = _place(run, experiment)
    where = _experiment(store, experiment_name(run, experiment), place)
    same = _search(store, where, {_PATH: run.path, _SETTINGS: run.metrics.settings})
    others = [
        old
        for old in _search(store, where, {_PATH: run.path, _SUPERSEDED: "no"})
        if old.data.tags[_SETTINGS] != run.metrics.settings
    ]
    if len(same) == 1 and same[0].data.tags.get(_DIGEST) == run.content:
        result, replaced = "unchanged", []
        store.set_tag(same[0].info.run_id, _SUPERSEDED, "no")  # the settings may have been others in between
    else:
        result, replaced = "replaced" if same else "added" if others else "created", same
        _write(store, where, run, title, artifacts, command)
    for old in others:
        if _DIGEST in old.data.tags:
            store.set_tag(old.info.run_id, _SUPERSEDED, "yes")
        else:  # it was cut short, and is no run
            replaced.append(old)
    for old in replaced:
        store.delete_run(old.info.run_id)
        shutil.rmtree(artifacts / place / old.info.run_id, ignore_errors=True)
    return result


def _search(store: Any, experiment: str, tags: Mapping[str, str]) -> Any:
    wanted = " and ".join(f"tags.`{key}` = '{value}'" for key, value in tags.items())
    return store.search_runs([experiment], filter_string=wanted, max_results=100)


def _experiment(store: Any, name: str, place: str) -> str:
    from mlflow.exceptions import MlflowException

    found = store.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    try:
        if _served(store):  # then it is the server that keeps artifacts, where it likes
            return str(store.create_experiment(name, tags=_KIND))
        return str(store.create_experiment(name, artifact_location=f"{_ROOT}{place}", tags=_KIND))
    except MlflowException:  # another process was first
        return str(store.get_experiment_by_name(name).experiment_id)


def _served(store: Any) -> bool:
    return str(store.tracking_uri).startswith("http")


def _write(store: Any, experiment: str, run: Tracked, title: str, artifacts: Path, command: str) -> None:
    from mlflow.entities import Metric, Param

    tags = {
        **run.tags(),
        _PATH: run.path,
        _SETTINGS: run.metrics.settings,
        _SUPERSEDED: "no",
        "mlflow.note.content": run.note(command),
    }
    made = store.create_run(experiment, start_time=run.began, run_name=title, tags=tags).info
    parameters = [Param(key, value) for key, value in run.parameters().items()]
    values = [Metric(*value) for value in run.values()]
    for start in range(0, len(values), _BATCH):
        store.log_batch(made.run_id, metrics=values[start : start + _BATCH], params=parameters if start == 0 else ())
    with tempfile.TemporaryDirectory() as folder:
        figure = Path(folder, _FIGURE)
        save(draw(run, title), figure)
        _keep(store, made, artifacts, [*run.files, figure])
    # The digest comes last: a mirror that was cut short does not count as one.
    store.set_tag(made.run_id, _DIGEST, run.content)
    store.set_terminated(made.run_id, end_time=run.ended)


def _keep(store: Any, made: Any, artifacts: Path, files: Iterable[Path]) -> None:
    """Give files to the server; without one, put them where one that is told of ``artifacts`` will look."""
    place = made.artifact_uri.removeprefix(_ROOT)
    for path in files:
        if _served(store) or place == made.artifact_uri:
            store.log_artifact(made.run_id, str(path))
        else:
            target = artifacts / place / path.name
            target.parent.mkdir(parents=True, exist_ok=True)
            _link(path, target)


def _link(path: Path, target: Path) -> None:
    """A second name of the file, which takes no space; its content stays, since files here are replaced, not edited."""
    try:
        os.link(path, target)
    except OSError:  # another disk, or one without links
        shutil.copyfile(path, target)
