"""MLflow as a mirror: a real SQLite store, several workers, and a server out of reach."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from nslimb.errors import DataError
from nslimb.experiment.tracking import client, mirror, tracking_uri

pytestmark = pytest.mark.filterwarnings("ignore")
PATH = "benchmark=max/M=3/rho=0/seed=1/train=sl"


def make_run(folder: Path, accuracy: float = 0.5) -> None:
    """A run's folder as the workflow leaves it."""
    folder.mkdir(parents=True, exist_ok=True)
    described = {
        "cell": {"benchmark": "max", "M": "3", "rho": "0", "seed": "1"},
        "method": "sl",
        "oracle": False,
        "protocol": "exact",
        "grid": "quick",
        "source": {"name": "mnist5k"},
        "settings": {"epochs": 2, "network": "lenet"},
        "code": "abc",
        "commit": "def",
    }
    (folder / "run.yaml").write_text(yaml.safe_dump(described))
    entry = {"accuracy": accuracy, "class_accuracy": [1.0, 0.0], "tau": None}
    content = {"adjustments": {"none": entry, "la": entry}, "ratios": {"total_variation": 0.1}}
    (folder / "metrics.json").write_text(json.dumps(content))
    (folder / "history.csv").write_text("epoch,loss,test_accuracy\n1,2.0,\n2,1.0,0.5\n")


CODE = """
import json, sys
from pathlib import Path
from nslimb.experiment.tracking import mirror
results, path = Path(sys.argv[2]), sys.argv[3]
what = mirror(sys.argv[1], "max_full", path, results / path, results / "artifacts")
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
    arguments = (uri, "max_full", PATH, folder, tmp_path / "artifacts")
    assert mirror(*arguments) == "created"
    assert mirror(*arguments) == "unchanged"
    (found,) = runs_of(uri)
    assert found.info.run_name == PATH
    assert found.data.metrics["none.accuracy"] == 0.5
    assert found.data.metrics["epoch.loss"] == 1.0
    assert found.data.params["network"] == "lenet"
    assert found.data.tags["cell.rho"] == "0"
    history = client(uri).get_metric_history(found.info.run_id, "epoch.loss")
    assert [(point.step, point.value) for point in history] == [(1, 2.0), (2, 1.0)]
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
    assert json.loads((tmp_path / "last.json").read_text()) == "created"


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
