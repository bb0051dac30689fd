"""Small grids for the tests of the workflow: a configuration, Snakemake on it, and what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
RUN = "benchmark=max/M=3/rho=0/seed=1/train=sl"


def tiny(folder: Path, **changes: Any) -> Path:
    """A grid of three cells and five runs that takes half a minute; ``changes`` replace whole entries."""
    config = yaml.safe_load((ROOT / "config" / "quick.yaml").read_text())
    config.update(name="tiny", results=str(folder / "results"), data=str(folder / "data"), tables=["max", "sum"])
    config["studies"] = ["counterexample", "order"]
    config["training"].update(epochs=2, pre_epochs=1)
    small = {"samples": 100, "methods": ["sl", "ilp-alg1"]}
    config["benchmarks"] = {
        "max": {**config["benchmarks"]["max"], **small},
        "sum": {**config["benchmarks"]["sum"], **small, "methods": ["sl"]},
    }
    config.update(changes)
    path = folder / "tiny.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(config))
    return path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]


def snakemake(*arguments: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command(*arguments),
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=540,
    )
    assert not check or done.returncode == 0, said(done)
    return done


def said(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr


def planned(*arguments: str, **environment: str) -> dict[str, int]:
    """The counts of a dry run's job table."""
    output = said(snakemake("-n", "--quiet", "rules", *arguments, **environment))
    rows = (line.split() for line in output.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def tables(results: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((results / "tables").iterdir())}
