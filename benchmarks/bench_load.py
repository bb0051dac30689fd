"""The workflow under load: planning over 1,000 trainings, and mirroring 1,000 runs of 100 epochs into MLflow."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml
from measure import Claim, report

from nslimb.experiment.tracking import client, mirror, tracking_uri
from nslimb.files import write_sealed, write_text

ROOT = Path(__file__).resolve().parents[1]
RUNS, EPOCHS = 1000, 100


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
    entry = dict.fromkeys(("accuracy", "macro_recall", "worst_class", "geometric_mean"), 0.5)
    metrics = {"adjustments": dict.fromkeys(("none", "la", "carot"), entry), "ratios": {"total_variation": 0.1}}
    columns = ("loss", "train_weak_accuracy", "validation_weak_accuracy", "test_accuracy", "seconds", "lp_seconds")
    history = ",".join(["epoch", *columns]) + "\n"
    history += "".join(f"{epoch}," + ",".join(["0.5"] * len(columns)) + "\n" for epoch in range(1, EPOCHS + 1))
    described = {"method": "sl", "oracle": False, "protocol": "exact", "grid": "load", "code": "a", "commit": "b"}
    described |= {"source": {"name": "mnist5k"}, "settings": {"epochs": EPOCHS, "network": "lenet"}}
    for seed, path in enumerate(paths):
        cell = {"benchmark": "max", "M": "3", "rho": "0", "seed": str(seed)}
        write_text(folder / path / "run.yaml", yaml.safe_dump({**described, "cell": cell}))
        write_text(folder / path / "history.csv", history)
        write_sealed(folder / path / "metrics.json", metrics)
    store = client(tracking_uri(folder))
    began = time.perf_counter()
    for path in paths:
        mirror(store, "max_full", path, folder / path, folder / "artifacts")
    taken = time.perf_counter() - began
    detail = f"{RUNS} runs of {EPOCHS} epochs, one process, SQLite"
    return Claim("seconds to mirror into MLflow", taken, 120.0, detail)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        report("load", [planning(Path(folder) / "grid"), tracking(Path(folder) / "runs")])


if __name__ == "__main__":
    main()
