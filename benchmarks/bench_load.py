"""The workflow under load: planning over 1,000 trainings, and mirroring 1,000 runs of 100 epochs into MLflow."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import Claim, report

from nslimb.experiment.runs.base import write_schema
from nslimb.experiment.runs.metrics import Metrics, RatioError
from nslimb.experiment.runs.run import RunFile
from nslimb.experiment.tracked import Tracked
from nslimb.experiment.tracking import client, mirror, tracking_uri
from nslimb.learning.history import Epoch, write_history

ROOT = Path(__file__).resolve().parents[1]
RUNS, EPOCHS, LOOK_EVERY = 1000, 100, 5


def planning(folder: Path) -> Claim:
    """A dry run of the paper's grid with ten seeds."""
    seeds = "seeds=[1,2,3,4,5,6,7,8,9,10]"
    command = [sys.executable, "-m", "snakemake", "-n", "--quiet", "rules", "--config", f"results={folder}", seeds]
    began = time.perf_counter()
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    taken = time.perf_counter() - began
    trainings = next(line for line in output.splitlines() if line.startswith("train ")).split()[1]
    return Claim("the paper's grid with ten seeds: seconds to plan", taken, 20.0, f"{trainings} trainings")


def tracking(folder: Path) -> Claim:
    """Runs as the workflow leaves them, into a fresh SQLite store, one after the other."""
    os.environ.pop("MLFLOW_TRACKING_URI", None)
    paths = [f"benchmark=max/M=3/rho=0/seed={seed}/train=sl" for seed in range(RUNS)]
    for seed, path in enumerate(paths):
        _write(folder / path, {"benchmark": "max", "M": "3", "rho": "0", "seed": str(seed)})
    store = client(tracking_uri(folder))
    began = time.perf_counter()
    for path in paths:
        run = Tracked.read(path, folder / path, tuple("0123456789"))
        mirror(store, "max_full", run, "MAX", folder / "artifacts")
    taken = time.perf_counter() - began
    detail = f"{RUNS} runs of {EPOCHS} epochs, one process, SQLite; more than half is the figure of each run"
    return Claim("seconds to mirror into MLflow", taken, 360.0, detail)


def _write(folder: Path, cell: dict[str, str]) -> None:
    """A run as the workflow leaves it."""
    entry: dict[str, Any] = dict.fromkeys(("accuracy", "macro_recall", "worst_class", "geometric_mean"), 0.5)
    entry |= {"class_accuracy": [0.5] * 10, "confusion_matrix": [[10] * 10] * 10, "validation_weak_accuracy": 0.5}
    ratios = RatioError(total_variation=0.1, kullback_leibler=0.1, estimated=[0.1] * 10, true=[0.1] * 10)
    adjusted = dict.fromkeys(("none", "la", "carot"), entry)
    rest = {"ceiling": None, "settings": "a", "code": {}, "seconds": 1.0}
    metrics = Metrics(source="mnist5k", adjustments=adjusted, ratios=ratios, **rest)
    recipe = {"network": "lenet", "training": {"epochs": EPOCHS}, "method": {"settings": {}}, "code": "a"}
    run = RunFile(
        cell=cell,
        method="sl",
        oracle=False,
        protocol="exact",
        grid="load",
        source={"name": "mnist5k"},
        recipe=recipe,
        device="cpu",
        versions={},
        environment={},
        commit="b",
        seconds={"training": 1.0, "job": 1.0},
    )
    seen = {"loss": 0.5, "validation_log_likelihood": -1.0, "train_weak_accuracy": 0.5, "validation_weak_accuracy": 0.5}
    looked = {"test_accuracy": 0.5, "test_class_accuracy": [0.5] * 10}
    epochs = [
        Epoch(epoch, "training", **seen, **({} if epoch % LOOK_EVERY else looked)) for epoch in range(1, EPOCHS + 1)
    ]
    write_schema(folder / "run.yaml", run)
    write_schema(folder / "metrics.json", metrics)
    write_history(folder / "history.csv", epochs)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        report("load", [planning(Path(folder) / "grid"), tracking(Path(folder) / "runs")])


if __name__ == "__main__":
    main()
