"""Checkpoints: whole files that only the same configuration takes up, read without executing anything."""

from __future__ import annotations

import csv
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from nslimb.data.samples import Samples
from nslimb.errors import BrokenFile, DataError
from nslimb.files import digest, written_aside
from nslimb.learning.methods import Method
from nslimb.sigma.component import Sigma


def fingerprint(
    settings: dict[str, Any],
    samples: Samples,
    sigma: Sigma,
    method: Method,
    images: np.ndarray[Any, np.dtype[np.uint8]],
    start_from: Path | None,
) -> str:
    """What must be equal for a checkpoint to be resumed."""
    described = json.dumps([settings, repr(sigma), type(method).__name__, method.describe()], default=int)
    start = b"" if start_from is None else start_from.read_bytes()
    return digest(
        described.encode(),
        samples.train.tobytes(),
        samples.train_weak.tobytes(),
        start,
        np.ascontiguousarray(images).data,
    )


def save(
    folder: Path,
    fingerprint: str,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    method: Method,
    history: list[dict[str, Any]],
) -> None:
    """The checkpoint, then the history: whole files, one after the other."""
    with written_aside(folder / "checkpoint.pt") as aside:
        state = {
            "fingerprint": fingerprint,
            "network": network.state_dict(),
            "optimizer": optimizer.state_dict(),
            "method": method.state_dict(),
            "history": json.dumps(history),
        }
        torch.save(state, aside)
    write_history(folder / "history.csv", history)


def write_history(path: Path, history: Iterable[dict[str, Any]]) -> None:
    """One row an epoch."""
    rows = list(history)
    with written_aside(path) as aside, aside.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def resume(
    folder: Path, fingerprint: str, network: nn.Module, optimizer: torch.optim.Optimizer, method: Method
) -> list[dict[str, Any]]:
    """Take up a checkpoint in ``folder``; the history so far, empty where there is none."""
    path = folder / "checkpoint.pt"
    for stale in folder.glob(".*.pt.*"):  # written aside by a process that was killed
        stale.unlink()
    method.reset()
    if not path.exists():
        (folder / "model.pt").unlink(missing_ok=True)
        return []
    state = load_weights(path)
    if state.get("fingerprint") != fingerprint:
        reason = "expected a checkpoint of this configuration, got one of another (settings, samples, sigma or method)"
        raise BrokenFile(path, reason, "remove it to start anew, or train into another folder")
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    method.load_state_dict(state["method"])
    history: list[dict[str, Any]] = json.loads(state["history"])
    write_history(folder / "history.csv", history)
    return history


def load_weights(path: Path) -> dict[str, Any]:
    """A .pt file of tensors and plain values; anything else in it is refused, not executed."""
    try:
        with zipfile.ZipFile(path) as archive:  # torch does not look at the checksums in its files
            broken = archive.testzip()
        if broken is not None:
            raise zipfile.BadZipFile(f"bad checksum of {broken}")
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (OSError, MemoryError) as error:  # of the machine, not of the file
        raise DataError(f"{path}: cannot be opened ({error})") from error
    except Exception as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise BrokenFile(path, f"cannot be read as weights ({first})", "remove it and train again") from error
    return state
