"""What the published runs took, beside what `nslimb.experiment.demands` foretells, and the costs that fit them best.

python benchmarks/costs.py writes docs/costs.csv from docs/results/runs.csv and prints the costs by network and method,
then those of a few batches of each network on an idle core: these are to stand in `COSTS` and in the methods'
`milliseconds_per_label`, and docs/scale.csv follows from them (python benchmarks/scale.py). What a method takes beside
its network is what is left of the seconds; a linear program's own are in the runs' history.csv (`lp_seconds`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from scipy.optimize import nnls

from nslimb.experiment.cells import block_of, runs, variant_of
from nslimb.experiment.config import Config, read_file
from nslimb.experiment.demands import training_seconds
from nslimb.files import write_text
from nslimb.learning.methods import method_class
from nslimb.networks import NETWORKS

ROOT = Path(__file__).resolve().parents[1]
GRIDS = ("cpu_paper", "cpu_exact")
KEYS = ["protocol", "benchmark", "M", "rho", "seed", "method"]
TEST_IMAGES = 10_000
SHAPES = {
    "lenet": (1, 28, 28),
    "lenet45": (1, 45, 45),
    "symbolnet": (1, 45, 45),
    "resnet-narrow": (3, 32, 32),
    "resnet18": (3, 32, 32),
}


def planned(config: Config) -> pd.DataFrame:
    """Every run of a grid: labels and images that it trains on and evaluates, and what is foretold for it."""
    rows = []
    for cell, method in runs(config):
        block, variant = block_of(config, cell.benchmark), variant_of(config, cell.benchmark, method)
        training = config.training_of(cell.benchmark, variant)
        epochs = training.epochs + config.method_settings(cell.benchmark, variant).get("pre_epochs", 0)
        network, program = training_seconds(config, cell.benchmark, cell.M, method, gpu=False)
        sigma = block.problem(cell.benchmark).sigma
        rows.append(
            {
                **dict(zip(KEYS, (config.protocol, sigma, cell.M, cell.rho, cell.seed, method), strict=True)),
                "network": block.network,
                "kind": variant.method,
                "labels": epochs * block.samples * int(cell.M),
                "looked_at": epochs * (TEST_IMAGES / training.look_every + config.validation * int(cell.M)),
                "foretold": network + program,
            }
        )
    return pd.DataFrame(rows)


def measured(published: pd.DataFrame, plan: pd.DataFrame) -> pd.DataFrame:
    """The planned runs that have been published, with the seconds that each took."""
    taken = published[published["adjustment"] == "none"][[*KEYS, "seconds"]]
    return plan.merge(taken, on=KEYS)


def quietest(frame: pd.DataFrame) -> pd.DataFrame:
    """Of runs that differ in seed and long tail alone the shortest: other work on the machine only adds to them."""
    least = frame.groupby(["protocol", "benchmark", "M", "method"], sort=False)["seconds"].idxmin()
    return frame.loc[least]


def by_network(frame: pd.DataFrame) -> pd.DataFrame:
    """Milliseconds a label trained and an image evaluated that fit the runs of SL best, both at least 0."""
    rows = []
    for network, part in frame[frame["kind"] == "sl"].groupby("network", sort=False):
        cost, _ = nnls(part[["labels", "looked_at"]].to_numpy(float), 1000 * part["seconds"].to_numpy(float))
        rows.append({"network": network, "training": cost[0], "evaluation": cost[1], "runs": len(part)})
    return pd.DataFrame(rows, columns=["network", "training", "evaluation", "runs"])


def by_method(frame: pd.DataFrame, networks: pd.DataFrame) -> pd.DataFrame:
    """Milliseconds a label that a method takes beside its network, median and largest over its runs."""
    joined = frame.merge(networks[["network", "training", "evaluation"]], on="network")
    rest = 1000 * joined["seconds"] - joined["labels"] * joined["training"] - joined["looked_at"] * joined["evaluation"]
    beside = (rest / joined["labels"]).clip(lower=0).groupby(joined["kind"], sort=False)
    known = pd.DataFrame({"median": beside.median(), "largest": beside.max(), "runs": beside.size()})
    return known.assign(assumed=[method_class(str(name)).milliseconds_per_label for name in known.index])


def by_batch(name: str, repeats: int = 4) -> tuple[float, float]:
    """Milliseconds an image on one core: of a training step on 64 and of an evaluation of 1,024, the least of a few."""
    network = NETWORKS.get(name)(10)
    optimizer = torch.optim.Adam(network.parameters())
    images, labels = torch.randn(1024, *SHAPES[name]), torch.randint(0, 10, (64,))

    def train() -> None:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(images[:64]), labels).backward()
        optimizer.step()

    def evaluate() -> None:
        with torch.inference_mode():
            network.eval()(images)

    def least(work: Callable[[], None]) -> float:
        taken = []
        for _ in range(repeats):
            began = time.perf_counter()
            work()
            taken.append(time.perf_counter() - began)
        return 1000 * min(taken)

    return least(train) / 64, least(evaluate) / 1024


def main() -> None:
    path = ROOT / "docs" / "results" / "runs.csv"
    if not path.exists():
        raise SystemExit(f"{path}: there is none yet; publish the runs of the CPU grids first")
    plan = pd.concat([planned(read_file(ROOT / "config" / f"{name}.yaml")) for name in GRIDS])
    frame = measured(pd.read_csv(path, dtype=dict.fromkeys(KEYS, str)), plan)
    grouped = frame.groupby(["protocol", "benchmark", "M", "method"], sort=False)
    table = grouped.agg(
        runs=("seconds", "size"),
        shortest=("seconds", "min"),
        seconds=("seconds", "mean"),
        foretold=("foretold", "mean"),
    ).reset_index()
    table["overstated"] = table["foretold"] / table["shortest"]
    write_text(ROOT / "docs" / "costs.csv", table.to_csv(index=False, float_format="%.2f"))
    quiet = quietest(frame)
    networks = by_network(quiet)
    print(networks.round(3).to_string(index=False))
    print(by_method(quiet, networks).round(3).to_string())
    hours, foretold = (frame[key].sum() / 3600 for key in ("seconds", "foretold"))
    told = np.nan if hours == 0 else foretold / hours
    torch.set_num_threads(1)
    batches = pd.DataFrame({name: by_batch(name) for name in SHAPES}, index=["training", "evaluation"])
    print(batches.T.round(3).to_string())
    print(f"{len(frame)} runs took {hours:.2f} core hours; foretold are {foretold:.2f}, {told:.1f} times that")


if __name__ == "__main__":
    main()
