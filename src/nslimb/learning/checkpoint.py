"""Checkpoints: whole files that only the same configuration takes up, read without executing anything."""

from __future__ import annotations

import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from nslimb.data.batches import Images
from nslimb.data.samples import Samples
from nslimb.errors import BrokenFile, DataError, InvalidInput
from nslimb.files import digest, written_aside
from nslimb.learning.history import Epoch, read_history, write_history
from nslimb.learning.methods.base import Method
from nslimb.sigma.component import Sigma

VERSION = 1  # of model.pt and checkpoint.pt


def run_digest(
    settings: dict[str, Any],
    samples: Samples,
    sigma: Sigma,
    method: Method,
    images: Images,
    start_from: Path | None,
) -> str:
    """What must be equal for a checkpoint to be resumed; of a data set its length alone, for it may draw at random."""
    described = json.dumps([settings, repr(sigma), type(method).__name__, method.describe()], default=int)
    start = b"" if start_from is None else start_from.read_bytes()
    return digest(
        described.encode(),
        samples.train.tobytes(),
        samples.train_weak.tobytes(),
        start,
        np.ascontiguousarray(images).data if isinstance(images, np.ndarray) else str(len(images)).encode(),
    )


def save(
    folder: Path,
    run: str,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    method: Method,
    history: list[Epoch],
) -> None:
    """The checkpoint, then the history: whole files, one after the other."""
    with written_aside(folder / "checkpoint.pt") as aside:
        state = {
            "version": VERSION,
            "run": run,
            "network": network.state_dict(),
            "optimizer": optimizer.state_dict(),
            "method": method.state_dict(),
            "history": json.dumps([asdict(row) for row in history]),
        }
        torch.save(state, aside)
    write_history(folder / "history.csv", history)


def save_model(path: Path, network: nn.Module, method: Method, run: str = "") -> None:
    """A trained model: weights of the network and state of the method, and the digest of the run."""
    state = {"version": VERSION, "run": run, "network": network.state_dict(), "method": method.state_dict()}
    with written_aside(path) as aside:
        torch.save(state, aside)


def take_finished(folder: Path, run: str, network: nn.Module, method: Method) -> list[Epoch]:
    """Give network and method the weights of the finished run in ``folder``, if it is this one; its history."""
    state = load_weights(folder / "model.pt")
    if state.get("run") != run:
        given = f"{folder}, which has a model of another configuration: remove it, or train into another folder"
        raise InvalidInput("folder", "a folder to train into", given)
    network.load_state_dict(state["network"])
    method.load_state_dict(state["method"])
    return read_history(folder / "history.csv")


def resume(folder: Path, run: str, network: nn.Module, optimizer: torch.optim.Optimizer, method: Method) -> list[Epoch]:
    """Take up a checkpoint in ``folder``; the history so far, empty where there is none."""
    path = folder / "checkpoint.pt"
    for stale in folder.glob(".*.pt.*"):  # written aside by a process that was killed
        stale.unlink()
    if not path.exists():
        return []
    state = load_weights(path)
    if state["run"] != run:
        reason = "expected a checkpoint of this configuration, got one of another (settings, samples, sigma or method)"
        raise BrokenFile(path, reason, "remove it to start anew, or train into another folder")
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    method.load_state_dict(state["method"])
    history = [Epoch(**row) for row in json.loads(state["history"])]
    write_history(folder / "history.csv", history)
    return history


def load_weights(path: Path, version: int = VERSION) -> dict[str, Any]:
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
    found = state.get("version") if isinstance(state, dict) else None
    if found != version:
        reason = f"is of format version {found or 'none'}, and this nslimb reads {version}"
        raise BrokenFile(path, reason, "remove it and train again, or read it with the nslimb that wrote it")
    return state
