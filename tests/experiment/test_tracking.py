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
from pathlib import Path

import pytest
from fabricated import epochs_of, metrics_of, run_file

from nslimb.errors import DataError
from nslimb.experiment.runs.base import write_schema
from nslimb.experiment.tracking import client, mirror, mirror_cell, tracking_uri
from nslimb.learning.history import write_history

pytestmark = pytest.mark.filterwarnings("ignore")
PATH = "benchmark=max/M=3/rho=0/seed=1/train=sl"


def make_run(folder: Path, accuracy: float = 0.5) -> None:
    """A run's folder as the workflow leaves it."""
    write_schema(folder / "run.yaml", run_file())
    write_schema(folder / "metrics.json", metrics_of(accuracy, adjustments=("none", "la")))
    write_history(folder / "history.csv", epochs_of(2, look_every=2))


CODE = """
import json, sys
from pathlib import Path
from nslimb.experiment.tracking import mirror_cell
results, path = Path(sys.argv[2]), sys.argv[3]
what = mirror_cell(sys.argv[1], "max_full", (results / path).parent, ["sl"], results)
(results / "last.json").write_text(json.dumps(what))
"""


def in_a_process_of_its_own(uri: str, results: Path, path: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", CODE, uri, str(results), path])


def runs_of(uri: str) -> list:
    store = client(uri)
    experiment = store.get_experiment_by_name("max_full")
    return store.search_runs([experiment.experiment_id])


def test_a_run_is_mirrored_once_and_replaced_when_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    uri, folder = tracking_uri(tmp_path), tmp_path / PATH
    make_run(folder)
    arguments = (client(uri), "max_full", PATH, folder, tmp_path / "artifacts")
    assert mirror(*arguments) == "created"
    assert mirror(*arguments) == "unchanged"
    (found,) = runs_of(uri)
    assert found.info.run_name == PATH
    assert found.data.metrics["none.accuracy"] == 0.5
    assert found.data.metrics["epoch.loss"] == 1.0
    assert found.data.params["network"] == "lenet"
    assert (found.data.params["epochs"], found.data.params["gamma"]) == ("2", "0.5")  # of training, of the method
    assert found.data.tags["cell.rho"] == "0"
    history = client(uri).get_metric_history(found.info.run_id, "epoch.loss")
    assert [(point.step, point.value) for point in history] == [(1, 2.0), (2, 1.0)]
    looks = client(uri).get_metric_history(found.info.run_id, "epoch.test_accuracy")
    assert [(point.step, point.value) for point in looks] == [(2, 0.4)]  # not looked at in epoch 1
    assert sorted(item.path for item in client(uri).list_artifacts(found.info.run_id)) == [
        "history.csv",
        "metrics.json",
        "run.yaml",
    ]
    make_run(folder, accuracy=0.75)
    assert mirror(*arguments) == "replaced"
    (found,) = runs_of(uri)
    assert found.data.metrics["none.accuracy"] == 0.75
    (tmp_path / "mlflow.db").unlink()
    assert in_a_process_of_its_own(uri, tmp_path, PATH).wait(timeout=120) == 0
    assert (tmp_path / "mlflow.db").stat().st_size > 0
    assert json.loads((tmp_path / "last.json").read_text()) == {PATH: "created"}


def test_four_workers_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    uri = tracking_uri(tmp_path)
    client(uri)  # the store is created once, before anything parallel
    paths = [PATH.replace("seed=1", f"seed={seed}") for seed in range(1, 5)]
    for path in paths:
        make_run(tmp_path / path)
    workers = [in_a_process_of_its_own(uri, tmp_path, path) for path in paths]
    assert [worker.wait(timeout=120) for worker in workers] == [0, 0, 0, 0]
    assert sorted(run.info.run_name for run in runs_of(uri)) == paths


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
    dies = (
        "import os\nfrom mlflow.tracking import MlflowClient\n"
        "MlflowClient.log_artifact = lambda *_: os.kill(os.getpid(), 9)\n"
    )
    killed = subprocess.run([sys.executable, "-c", dies + CODE, uri, str(tmp_path), PATH], check=False, timeout=120)
    assert killed.returncode == -9
    (half,) = runs_of(uri)
    assert "nslimb.digest" not in half.data.tags
    assert in_a_process_of_its_own(uri, tmp_path, PATH).wait(timeout=120) == 0
    (whole,) = runs_of(uri)
    assert whole.info.run_id != half.info.run_id
    assert "nslimb.digest" in whole.data.tags


@contextlib.contextmanager
def serving(folder: Path, port: int) -> Iterator[str]:
    """A real MLflow server on loopback, with a database and artifacts of its own."""
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    stores = ["--backend-store-uri", f"sqlite:///{folder}/server.db", "--artifacts-destination", f"{folder}/kept"]
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
    with serving(tmp_path, port) as address:
        assert tracking_uri(tmp_path) == address
        assert mirror_cell(uri, "max_full", cell, ["sl"], tmp_path) == {PATH: "created"}
        with urllib.request.urlopen(address, timeout=10) as page:  # the UI is served too
            assert b"MLflow" in page.read()
    with pytest.raises(DataError, match=r"cannot be reached .* only the tracking is left to do"):
        mirror_cell(uri, "max_full", cell, ["sl", "records"], tmp_path)
    with serving(tmp_path, port):
        done = mirror_cell(uri, "max_full", cell, ["sl", "records"], tmp_path)
        assert done == {PATH: "unchanged", other: "created"}
        found = {run.info.run_name: run for run in runs_of(uri)}
        assert {name: run.data.metrics["la.accuracy"] for name, run in found.items()} == {
            PATH: pytest.approx(0.51),
            other: pytest.approx(0.26),
        }
        listed = client(uri).list_artifacts(found[PATH].info.run_id)
        assert [item.path for item in listed] == ["history.csv", "metrics.json", "run.yaml"]
