"""The DAG without running a job, and a small grid from end to end."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

pytest.importorskip("snakemake", reason="Snakemake needs Python 3.11")

ROOT = Path(__file__).resolve().parents[2]
SNAKEMAKE = [sys.executable, "-m", "snakemake", "--cores", "2"]


def snakemake(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [*SNAKEMAKE, *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=540)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def jobs(output: str) -> dict[str, int]:
    """The counts of a dry run's job table."""
    rows = (line.split() for line in output.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def test_the_papers_grid_is_planned_in_seconds(tmp_path: Path) -> None:
    began = time.perf_counter()
    done = snakemake("-n", "--quiet", "rules", "--config", f"results={tmp_path}")
    planned = jobs(done.stdout + done.stderr)
    runs = 3 * (12 * 4 + 6 * 2 + 3 * 3 + 4 * 4)
    assert planned["train"] == planned["adjust"] == planned["track"] == runs
    assert planned["samples"] == planned["marginals"] == 3 * (12 + 6 + 3 + 4)
    assert planned["timing"] == 12
    assert planned["table"] == 5
    assert time.perf_counter() - began < 30  # a bound on gross blunders, not a measure of speed


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--config", "epochs=3"], "epochs: unknown key; the keys here are"),
        (["--config", "protocol=fast"], "protocol: Input should be 'paper' or 'exact'"),
        (["--config", "seeds=[1,1]"], "seeds: expected distinct values, got 1 twice"),
    ],
)
def test_bad_configurations_stop_before_any_job(tmp_path: Path, change: list[str], message: str) -> None:
    done = snakemake("-n", *change, f"results={tmp_path}", check=False)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []


def tiny(folder: Path) -> Path:
    """A grid of two cells that takes seconds."""
    config = yaml.safe_load((ROOT / "config" / "quick.yaml").read_text())
    config.update(name="tiny", results=str(folder / "results"), data=str(folder / "data"), tables=["max"])
    config["training"]["epochs"] = 1
    config["benchmarks"]["max"].update(samples=100, methods=["sl", "ilp-alg1"])
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.mark.slow
def test_a_small_grid_from_end_to_end(tmp_path: Path) -> None:
    path = tiny(tmp_path)
    only = "benchmark=max/M=3/rho=0/seed=1/train=sl"
    results = tmp_path / "results"
    targets = [
        str(results / only / "metrics.json"),
        str(results / "tables" / "max.md"),
        str(results / only / "tracked.json"),
        str(results / "figures" / "marginals.png"),
    ]
    base = ["--quiet", "rules", "--configfile", str(path), "--"]
    for name in ("sum", "hwf", "smallest_parent"):  # the figures are of the whole grid, so keep it small
        config = yaml.safe_load(path.read_text())
        config["benchmarks"][name].update(samples=60, methods=["sl"])
        path.write_text(yaml.safe_dump(config))
    snakemake(*base, *targets)
    table = (results / "tables" / "max.md").read_text()
    assert "ILP(ALG1) + CAROT" in table
    assert "missing" not in table
    described = yaml.safe_load((results / only / "run.yaml").read_text())
    assert described["source"]["name"] == "mnist5k"
    assert described["protocol"] == "exact"
    assert json.loads((results / only / "metrics.json").read_text())["adjustments"]["none"]["accuracy"] > 0
    # A second run does nothing; a lost file is made again, and what depends on it.
    again = snakemake("-n", *base, *targets)
    assert "Nothing to be done" in again.stdout + again.stderr
    (results / only / "metrics.json").unlink()
    planned = jobs((lambda done: done.stdout + done.stderr)(snakemake("-n", *base, *targets)))
    assert planned["adjust"] == planned["table"] == planned["track"] == 1
    assert not {"train", "samples", "marginals"} & set(planned)
