"""Where a result comes from: digests of code, versions, and results folders that belong to one grid."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import IO, Any

from nslimb.errors import DataError
from nslimb.experiment.config import Config
from nslimb.files import digest, read_json, take_lock, written_aside

_PACKAGE = Path(__file__).parent.parent
_JOBS = ("experiment/jobs.py", "experiment/cells.py")
_SHARED = ("checks.py", "errors.py", "files.py", "seeds.py")

# The parts of the package that each step of the workflow runs through.
PARTS: dict[str, tuple[str, ...]] = {
    "data": ("data",),
    "samples": ("data", "sigma", *_JOBS),
    "marginals": ("marginals", "sigma", *_JOBS),
    "train": ("data", "learning", "marginals", "sigma", "metrics", "networks.py", "vision.py", *_JOBS),
    "adjust": (
        "adjustment",
        "data",
        "learning",
        "marginals",
        "sigma",
        "metrics",
        "networks.py",
        "vision.py",
        *_JOBS,
    ),
    "tables": ("experiment/tables.py", "experiment/publish.py", "experiment/names.py", "experiment/gather.py"),
    "figures": (
        "style.py",
        "experiment/figures.py",
        "experiment/plotting.py",
        "experiment/names.py",
        "experiment/gather.py",
    ),
    "studies": (
        "style.py",
        "experiment/studies.py",
        "experiment/plotting.py",
        "experiment/gather.py",
        "adjustment",
        "marginals",
        "sigma",
        "studies",
        "theory",
    ),
    "track": ("experiment/tracking.py",),
}
_PACKAGES = ("nslimb", "torch", "torchvision", "numpy", "scipy", "highspy", "snakemake", "mlflow")


_HELD: list[IO[str]] = []  # locks, dropped by the kernel with the process


def code_digest(step: str) -> str:
    """A short digest of the sources that a step runs through: an edit there, and only there, changes it."""
    files: list[Path] = []
    for part in (*PARTS[step], *_SHARED):
        path = _PACKAGE / part
        files += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return digest(*(f"{file.relative_to(_PACKAGE)}\n".encode() + file.read_bytes() for file in files))[:16]


def run_mark(config: Config, benchmark: str) -> str:
    """What a run's metrics depend on: settings and code. Metrics with another mark are of another run."""
    block = config.benchmarks[benchmark]
    kept = config.model_dump(
        mode="json", include={"protocol", "validation", "hwf_path", "precedence", "hierarchy", "training"}
    )
    kept |= {"source": block.source, "network": block.network, "samples": block.samples}
    return digest(json.dumps(kept, sort_keys=True).encode(), code_digest("adjust").encode())[:16]


def versions() -> dict[str, str]:
    """Python and the packages that results may depend on."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def git_commit() -> str:
    """The commit of the working tree, with a plus sign where it has changes; empty outside a repository."""
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=_PACKAGE, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def claim_results(config: Config) -> None:
    """Mark the results folder as this grid's; one of another grid, or one not to be written, is refused."""
    marker = config.results / "grid.json"
    mine: dict[str, Any] = {"name": config.name, "protocol": config.protocol}
    if marker.exists():
        theirs = read_json(marker)
        if theirs != mine:
            raise DataError(
                f"{config.results}: holds the results of the grid {theirs}, and this one is {mine}; give another "
                "folder with --config results=FOLDER, or remove that one"
            )
        return
    try:
        with written_aside(marker) as aside:
            aside.write_text(json.dumps(mine) + "\n")
    except OSError as error:
        remedy = "give another with --config results=FOLDER"
        raise DataError(f"{config.results}: cannot be written ({error}); {remedy}") from error


def hold_results(config: Config) -> None:
    """Keep other schedulers out of the results folder until this process ends, however it ends."""
    try:
        lock = take_lock(config.results / ".lock")
    except OSError as error:  # some cluster disks have no locks; that is no reason to do nothing
        print(f"nslimb: {config.results}: cannot be locked ({error}); see to it that no other run is at work there")
        return
    if lock is None:
        remedy = "wait for it to end, or give another folder with --config results=FOLDER"
        raise DataError(f"{config.results}: another run of the workflow is at work there; {remedy}")
    _HELD.append(lock)


def redate_results(config: Config) -> None:
    """Date files of the future, left by a clock that was set back, as of now: else all that needs them is never new."""
    now = time.time()
    future = [path for path in config.results.rglob("*") if path.is_file() and path.stat().st_mtime > now + 60]
    for path in future:
        os.utime(path, (now, now))
    if future:
        what = "were dated in the future (was the clock set back?) and now are not"
        print(f"nslimb: {config.results}: {len(future)} files {what}")


def job_environment() -> dict[str, str]:
    """What of the environment a run may depend on."""
    return {key: os.environ[key] for key in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES") if key in os.environ}
