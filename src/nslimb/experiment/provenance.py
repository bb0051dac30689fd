"""Where a result comes from: versions, the commit, and what of the environment it may depend on."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

_PACKAGE = Path(__file__).parent.parent
_PACKAGES = ("nslimb", "torch", "torchvision", "numpy", "scipy", "highspy", "snakemake", "mlflow")


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


def job_environment() -> dict[str, str]:
    """What of the environment a run may depend on."""
    return {key: os.environ[key] for key in ("OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES") if key in os.environ}
