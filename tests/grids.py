"""Small grids for the tests of the workflow: a configuration, Snakemake on it, and what it says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
RUN = "benchmark=max/M=3/rho=0/seed=1/train=sl"


def tiny_values(folder: Path, **changes: Any) -> dict[str, Any]:
    """A grid of three cells and five runs that takes half a minute; ``changes`` replace whole entries."""
    config = yaml.safe_load((ROOT / "config" / "quick.yaml").read_text())
    config.update(name="tiny", results=str(folder / "results"), data=str(folder / "data"), tables=["max", "sum"])
    config["studies"] = ["counterexample", "order"]
    config["training"].update(epochs=2)
    config["methods"] = {"ilp-emp": {"pre_epochs": 1}}
    small = {"samples": 100, "methods": ["sl", "ilp-alg1"]}
    config["benchmarks"] = {
        "max": {**config["benchmarks"]["max"], **small},
        "sum": {**config["benchmarks"]["sum"], **small, "methods": ["sl"]},
    }
    config.update(changes)
    return config


def tiny(folder: Path, **changes: Any) -> Path:
    """The same as a file, ``folder/tiny.yaml``."""
    path = folder / "tiny.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(tiny_values(folder, **changes)))
    return path


def smaller(folder: Path, **changes: Any) -> Path:
    """One cell with one run of the tiny grid, in a file of the same name."""
    sums = {"sum": tiny_values(folder)["benchmarks"]["sum"]}
    kept = {"benchmarks": sums, "tables": ["sum"], "figures": ["training_curves"], "studies": []}
    return tiny(folder, **{**kept, **changes})


def checkout(folder: Path) -> Path:
    """A copy of the package and of the workflow that a test may edit; the copy finds its own files."""
    for name in ("src", "workflow", "profiles", "reference", "config"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "environment.yml"):
        shutil.copy(ROOT / name, folder)
    return folder


def command(*arguments: str, root: Path = ROOT) -> list[str]:
    """Snakemake on the workflow of a checkout."""
    return [sys.executable, "-m", "snakemake", "--snakefile", str(root / "Snakefile"), "--cores", "2", *arguments]


def surroundings(root: Path = ROOT, **environment: str) -> dict[str, str]:
    """The environment in which a checkout's own package is imported."""
    inherited = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    path = os.pathsep.join([str(root / "src"), *filter(None, inherited)])
    return {**os.environ, "PYTHONPATH": path, **environment}


def snakemake(
    *arguments: str, folder: Path = ROOT, root: Path = ROOT, check: bool = True, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run Snakemake in ``folder``, where its logs and its own notes go, on the workflow of the checkout ``root``."""
    done = subprocess.run(
        command(*arguments, root=root),
        cwd=folder,
        env=surroundings(root, **environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,  # no measure of speed: the machine may be busy
    )
    assert not check or done.returncode == 0, said(done)
    return done


def said(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr


def planned(*arguments: str, folder: Path = ROOT, root: Path = ROOT, **environment: str) -> dict[str, int]:
    """The counts of a dry run's job table."""
    output = said(snakemake("-n", "--quiet", "rules", *arguments, folder=folder, root=root, **environment))
    rows = (line.split() for line in output.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def tables(results: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted((results / "tables").iterdir())}
