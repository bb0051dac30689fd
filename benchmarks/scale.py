"""Core hours of the paper's grid with ten seeds, from the runs of the quick grid and the networks' own times.

python benchmarks/scale.py results/quick docs/scale.csv

A run's seconds an image and epoch are split into the network's part and the rest (the loss, the linear program). The
network's part is scaled to the paper's network, timed here; the rest is taken as it is for the same method, from the
benchmark's own runs where the quick grid has them, else the slowest of any benchmark.
"""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import yaml

from nslimb.experiment.cells import runs
from nslimb.experiment.config import Config, read_config
from nslimb.experiment.names import METHODS
from nslimb.files import write_text
from nslimb.networks import build

torch.set_num_threads(1)
SEEDS = 10
SHAPES = {"lenet": (1, 28, 28), "lenet45": (1, 45, 45), "symbolnet": (1, 45, 45), "resnet18": (3, 32, 32)}
CLASSES = {"lenet45": 13, "symbolnet": 13}


def network_seconds(name: str) -> float:
    """Forward and backward of a network, seconds an image, one core."""
    network = build(name, CLASSES.get(name, 10), 1)
    batch = 32 if name == "resnet18" else 192
    images = torch.randn(batch, *SHAPES[name])
    times = []
    for _ in range(4):
        began = time.perf_counter()
        network(images).logsumexp(-1).mean().backward()
        times.append((time.perf_counter() - began) / batch)
    return float(np.median(times))


def measured(results: Path) -> dict[tuple[str, str], list[tuple[str, float]]]:
    """Seconds an image and epoch of every run, by benchmark and method, with the network."""
    found = defaultdict(list)
    for path in results.glob("benchmark=*/**/run.yaml"):
        described = yaml.safe_load(path.read_text())
        history = pd.read_csv(path.parent / "history.csv")
        images = described["settings"]["samples"] * int(described["cell"]["M"])
        seconds = float(history["seconds"].median()) / images
        found[described["cell"]["benchmark"], described["method"]].append((described["settings"]["network"], seconds))
    return found


def estimate(config: Config, found: dict[tuple[str, str], list[tuple[str, float]]]) -> pd.DataFrame:
    """Core hours by benchmark, M and method over all rho and seeds."""
    networks = {name: network_seconds(name) for name in SHAPES}

    def rest(entries: list[tuple[str, float]]) -> float:
        return max(0.0, max(seconds - networks[name] for name, seconds in entries))

    slowest = {
        method: max([rest(entries) for (_, other), entries in found.items() if other == method] or [0.0])
        for method in METHODS
    }
    rows: dict[tuple[str, str, str], dict[str, float]] = {}
    for cell, method in runs(config):
        block = config.benchmarks[cell.benchmark]
        epochs = config.training.epochs + (config.training.pre_epochs if method == "ilp-emp" else 0)
        images = block.samples * int(cell.M) * epochs
        own = found.get((cell.benchmark, method))
        other = rest(own) if own else slowest[method]
        row = rows.setdefault((cell.benchmark, cell.M, method), {"runs": 0, "network_hours": 0, "other_hours": 0})
        row["runs"] += 1
        row["network_hours"] += images * networks[block.network] / 3600
        row["other_hours"] += images * other / 3600
    index = pd.MultiIndex.from_tuples(list(rows), names=["benchmark", "M", "method"])
    return pd.DataFrame(list(rows.values()), index=index).reset_index()


def main(results: str, out: str) -> None:
    root = Path(__file__).resolve().parents[1]
    values = yaml.safe_load((root / "config" / "exact.yaml").read_text())
    values["seeds"] = list(range(1, SEEDS + 1))
    frame = estimate(read_config(values), measured(Path(results)))
    write_text(Path(out), frame.to_csv(index=False, float_format="%.2f"))
    network, other = frame["network_hours"].sum(), frame["other_hours"].sum()
    print(f"{int(frame['runs'].sum())} runs: network {network:.0f} core hours, the rest {other:.0f}")
    print(frame.groupby("benchmark")[["runs", "network_hours", "other_hours"]].sum().round(1))


if __name__ == "__main__":
    main(*sys.argv[1:])
