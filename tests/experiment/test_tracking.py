"""MLflow as a mirror: a real SQLite store, several workers, a real server, and one out of reach."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fabricated import epochs_of, metrics_of, run_file

from nslimb.errors import DataError
from nslimb.experiment import tracking
from nslimb.experiment.runs.base import write_schema
from nslimb.experiment.tracked import Tracked, class_label, draw
from nslimb.experiment.tracking import client, create_store, mirror, mirror_cell, tracking_uri
from nslimb.learning.history import write_history

pytestmark = pytest.mark.filterwarnings("ignore")
PATH = "benchmark=max/M=3/rho=0/seed=1/train=sl"
TITLE = "MAX-3 rho=0 SL seed 1"
ENDED = 1_700_000_000.0
DIGITS = tuple("0123456789")


def make_run(folder: Path, accuracy: float = 0.5, *, grid: str = "quick", settings: str = "s") -> None:
    """A run's folder as the workflow leaves it."""
    described = run_file().model_copy(update={"grid": grid, "ended": ENDED, "seconds": {"training": 60.0}})
    write_schema(folder / "run.yaml", described)
    metrics = metrics_of(accuracy, adjustments=("none", "la"))
    write_schema(folder / "metrics.json", metrics.model_copy(update={"settings": settings}))
    write_history(folder / "history.csv", epochs_of(2, look_every=2))
    (folder / "model.pt").write_bytes(b"weights")


CODE = """
import json, sys
from pathlib import Path
from nslimb.experiment.tracking import mirror_cell
results, path = Path(sys.argv[2]), sys.argv[3]
what = mirror_cell(sys.argv[1], "max", (results / path).parent, {"sl": path}, "0123456789", results)
(results / "last.json").write_text(json.dumps(what))
"""
FILES = ["classes.png", "history.csv", "metrics.json", "model.pt", "run.yaml"]


def test_the_benchmark_mirrors_runs_as_the_workflow_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import bench_load

    monkeypatch.setattr(bench_load, "RUNS", 2)
    assert bench_load.tracking(tmp_path).value > 0
    store = client(tracking_uri(tmp_path))
    experiment = store.get_experiment_by_name("max_full (load, exact)")
    assert len(store.search_runs([experiment.experiment_id])) == 2


def in_a_process_of_its_own(uri: str, results: Path, path: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", CODE, uri, str(results), path])


def runs_of(uri: str, grid: str = "quick") -> list:
    store = client(uri)
    experiment = store.get_experiment_by_name(f"max ({grid}, exact)")
    return store.search_runs([experiment.experiment_id])


def mirrored(uri: str, results: Path, path: str = PATH) -> str:
    return mirror(
        client(uri), "max", Tracked.read(path, results / path, DIGITS), TITLE, results / "artifacts", "make it"
    )


def test_a_run_is_mirrored_once_and_replaced_when_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    uri, folder = tracking_uri(tmp_path), tmp_path / PATH
    make_run(folder)
    assert mirrored(uri, tmp_path) == "created"
    assert mirrored(uri, tmp_path) == "unchanged"
    (found,) = runs_of(uri)
    assert found.info.run_name == TITLE
    assert (found.info.start_time, found.info.end_time) == (1000 * (ENDED - 60), 1000 * ENDED)  # of the training
    assert "make it" in found.data.tags["mlflow.note.content"]
    assert found.data.metrics["none.accuracy"] == found.data.metrics["none.class_accuracy.09"] == 0.5
    assert found.data.metrics["epoch.loss"] == 1.0
    assert found.data.params["network"] == "lenet"
    assert (found.data.params["epochs"], found.data.params["gamma"]) == ("2", "0.5")  # of training, of the method
    assert found.data.tags["cell.rho"] == "0"
    assert (found.data.tags["grid"], found.data.tags["protocol"]) == ("quick", "exact")
    history = client(uri).get_metric_history(found.info.run_id, "epoch.loss")
    assert [(point.step, point.value) for point in history] == [(1, 2.0), (2, 1.0)]
    assert [point.timestamp - found.info.start_time for point in history] == [2000, 4000]  # as long as epochs took
    for name, value in (("test_accuracy", 0.4), ("class_accuracy.09", 0.18), ("macro_recall", 0.09)):
        looks = client(uri).get_metric_history(found.info.run_id, f"epoch.{name}")
        assert [(point.step, point.value) for point in looks] == [(2, pytest.approx(value))]  # none in epoch 1
    make_run(folder, accuracy=0.75)
    assert mirrored(uri, tmp_path) == "replaced"
    (found,) = runs_of(uri)
    assert found.data.metrics["none.accuracy"] == 0.75
    (kept,) = (tmp_path / "artifacts" / "quick" / "exact" / "max").iterdir()  # not of the one that was replaced
    assert kept.name == found.info.run_id
    assert sorted(path.name for path in (kept / "artifacts").iterdir()) == FILES
    (tmp_path / "mlflow.db").unlink()
    assert in_a_process_of_its_own(uri, tmp_path, PATH).wait(timeout=900) == 0
    assert (tmp_path / "mlflow.db").stat().st_size > 0
    assert json.loads((tmp_path / "last.json").read_text()) == {PATH: "created"}


def test_other_settings_are_another_run_and_the_older_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    uri = tracking_uri(tmp_path)
    said = []
    for settings, accuracy in (("a", 0.5), ("b", 0.75), ("a", 0.5), ("b", 0.8)):
        make_run(tmp_path / PATH, accuracy, settings=settings)
        said.append(mirrored(uri, tmp_path))
        found = {run.data.tags["nslimb.settings"]: run.data.tags["superseded"] for run in runs_of(uri)}
        assert found == {"a": "yes", "b": "yes"} | {settings: "no"} if len(said) > 1 else found == {"a": "no"}
    assert said == ["created", "added", "unchanged", "replaced"]
    assert sorted(run.data.metrics["none.accuracy"] for run in runs_of(uri)) == [0.5, 0.8]


def test_a_run_without_a_recorded_end_or_a_model(tmp_path: Path) -> None:
    make_run(tmp_path)
    write_schema(tmp_path / "run.yaml", run_file())
    (tmp_path / "model.pt").unlink()  # restored
    os.utime(tmp_path / "run.yaml", (ENDED, ENDED))
    run = Tracked.read(PATH, tmp_path, DIGITS)
    assert (run.began, run.ended) == (1000 * (ENDED - 1), 1000 * ENDED)
    assert [path.name for path in run.files] == ["metrics.json", "history.csv", "run.yaml"]


def test_four_workers_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    uri = tracking_uri(tmp_path)
    client(uri)  # the store is created once, before anything parallel
    paths = [PATH.replace("seed=1", f"seed={seed}") for seed in range(1, 5)]
    for path in paths:
        make_run(tmp_path / path)
    workers = [in_a_process_of_its_own(uri, tmp_path, path) for path in paths]
    assert [worker.wait(timeout=900) for worker in workers] == [0, 0, 0, 0]
    assert sorted(run.data.tags["nslimb.path"] for run in runs_of(uri)) == paths


def test_a_server_out_of_reach_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    assert tracking_uri(Path("results")) == "http://127.0.0.1:9"
    with pytest.raises(DataError, match=r"MLflow: http://127.0.0.1:9 cannot be reached .*unset MLFLOW_TRACKING_URI"):
        client("http://127.0.0.1:9")


def test_a_mirror_that_was_killed_midway_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    uri = tracking_uri(tmp_path)
    make_run(tmp_path / PATH)
    client(uri)
    dies = "import os\nfrom nslimb.experiment import tracking\ntracking._link = lambda *_: os.kill(os.getpid(), 9)\n"
    killed = subprocess.run([sys.executable, "-c", dies + CODE, uri, str(tmp_path), PATH], check=False, timeout=900)
    assert killed.returncode == -9
    (half,) = runs_of(uri)
    assert "nslimb.digest" not in half.data.tags
    assert in_a_process_of_its_own(uri, tmp_path, PATH).wait(timeout=900) == 0
    (whole,) = runs_of(uri)
    assert whole.info.run_id != half.info.run_id
    assert "nslimb.digest" in whole.data.tags


@contextlib.contextmanager
def serving(folder: Path, port: int, database: Path | None = None, kept: Path | None = None) -> Iterator[str]:
    """A real MLflow server on loopback, with a database and artifacts of its own unless they are given."""
    database, kept = database or folder / "server.db", kept or folder / "kept"
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    stores = ["--backend-store-uri", f"sqlite:///{database}", "--artifacts-destination", str(kept)]
    address = f"http://127.0.0.1:{port}"
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen([*command, *stores], stdout=log, stderr=log, start_new_session=True)
        try:
            for _ in range(900):
                assert process.poll() is None, (folder / "server.log").read_text()
                with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/health", timeout=1):
                    break
                time.sleep(0.1)
            yield address
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.mark.slow
def test_a_real_server_that_goes_away_and_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    port = free_port()
    uri = f"http://127.0.0.1:{port}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    make_run(tmp_path / PATH)
    other = PATH.replace("train=sl", "train=records")
    make_run(tmp_path / other, accuracy=0.25)
    cell = (tmp_path / PATH).parent
    titles = {"sl": "SL", "records": "RECORDS"}
    with serving(tmp_path, port) as address:
        assert tracking_uri(tmp_path) == address
        assert mirror_cell(uri, "max", cell, {"sl": "SL"}, DIGITS, tmp_path) == {PATH: "created"}
        with urllib.request.urlopen(address, timeout=10) as page:  # the UI is served too
            assert b"MLflow" in page.read()
    with pytest.raises(DataError, match=r"cannot be reached .* only the tracking is left to do"):
        mirror_cell(uri, "max", cell, titles, DIGITS, tmp_path)
    with serving(tmp_path, port):
        done = mirror_cell(uri, "max", cell, titles, DIGITS, tmp_path)
        assert done == {PATH: "unchanged", other: "created"}
        found = {run.info.run_name: run for run in runs_of(uri)}
        assert {name: run.data.metrics["la.accuracy"] for name, run in found.items()} == {
            "SL": pytest.approx(0.51),
            "RECORDS": pytest.approx(0.26),
        }
        listed = client(uri).list_artifacts(found["SL"].info.run_id)
        assert [item.path for item in listed] == FILES
        # Another grid with the same cell, and then other settings of the first: nothing is lost.
        (tmp_path / "other").mkdir()
        make_run(tmp_path / "other" / PATH, accuracy=0.125, grid="full")
        elsewhere = (tmp_path / "other" / PATH).parent
        assert mirror_cell(uri, "max", elsewhere, {"sl": "SL"}, DIGITS, tmp_path / "other") == {PATH: "created"}
        make_run(tmp_path / PATH, accuracy=0.75, settings="t")
        assert mirror_cell(uri, "max", cell, titles, DIGITS, tmp_path) == {PATH: "added", other: "unchanged"}
        assert [run.data.metrics["none.accuracy"] for run in runs_of(uri, "full")] == [0.125]
        older, newer = sorted(
            (run for run in runs_of(uri) if run.info.run_name == "SL"),
            key=lambda run: run.data.metrics["none.accuracy"],
        )
        assert (older.data.metrics["none.accuracy"], older.data.tags["superseded"]) == (0.5, "yes")
        assert (newer.data.metrics["none.accuracy"], newer.data.tags["superseded"]) == (0.75, "no")


@pytest.mark.slow
def test_a_copied_results_folder_still_opens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    results, copy = tmp_path / "results", tmp_path / "elsewhere" / "copy"
    make_run(results / PATH)
    mirrored(tracking_uri(results), results)
    results.parent.joinpath("elsewhere").mkdir()
    results.rename(copy)
    with serving(tmp_path, free_port(), copy / "mlflow.db", copy / "artifacts") as address:
        (found,) = runs_of(address)
        assert [item.path for item in client(address).list_artifacts(found.info.run_id)] == FILES
        got = client(address).download_artifacts(found.info.run_id, "model.pt", str(tmp_path))
        assert Path(got).read_bytes() == b"weights"


def test_a_store_is_there_as_a_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    opened = tracking.client

    def cut(uri: str) -> None:
        opened(uri)
        raise KeyboardInterrupt

    monkeypatch.setattr(tracking, "client", cut)
    with pytest.raises(KeyboardInterrupt):
        create_store(tmp_path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(tracking, "client", opened)
    for _ in range(2):  # one that is there stays
        create_store(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["mlflow.db"]
    assert client(tracking_uri(tmp_path)).search_experiments()


def test_classes_go_by_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    uri, names = tracking_uri(tmp_path), (*"01234567", "-", "*")
    make_run(tmp_path / PATH)
    run = Tracked.read(PATH, tmp_path / PATH, names)
    assert mirror(client(uri), "max", run, TITLE, tmp_path / "artifacts") == "created"
    kept = runs_of(uri)[0].data.metrics
    for name in ("none.class_accuracy", "epoch.class_accuracy"):
        assert [key for key in sorted(kept) if key.startswith(name)][-3:] == [
            f"{name}.07",
            f"{name}.08 minus",
            f"{name}.09 times",
        ]
    left, right, *_ = draw(run, TITLE).axes
    assert [text.get_text() for text in left.get_legend().get_texts()] == list(names)
    for ticks in (right.get_xticklabels(), right.get_yticklabels()):
        assert [text.get_text() for text in ticks] == list(names)
    assert class_label(0, "50 $ (new)") == "00 50 _ _new_"  # what MLflow takes
    never, *_ = draw(replace(run, history=[replace(row, test_class_accuracy=None) for row in run.history]), TITLE).axes
    assert never.get_legend() is None
    assert not never.lines
