"""history.csv: one row an epoch, written and read through one typed schema."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from nslimb.errors import BrokenFile
from nslimb.files import written_aside

VERSION = 1


@dataclass(frozen=True)
class Epoch:
    """What is known after an epoch; shares from 0 to 1. Test columns are None where the test set was not looked at."""

    epoch: int
    phase: str  # "pre-estimation" or "training"
    loss: float
    train_weak_accuracy: float
    validation_weak_accuracy: float | None  # None where there are no validation samples
    validation_log_likelihood: float | None  # mean over the validation samples
    test_accuracy: float | None = None
    test_class_accuracy: list[float] | None = None
    ratios: list[Any] | None = None  # the label ratios in use, [c] or [M, c]
    seconds: float = 0.0
    lp_seconds: float = 0.0
    batches: int = 0
    version: int = VERSION


_LISTS = ("test_class_accuracy", "ratios")
_COLUMNS = [field.name for field in fields(Epoch)]


def write_history(path: Path, history: Iterable[Epoch]) -> None:
    """Write all epochs, whole or not at all."""
    with written_aside(path) as aside, aside.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, fieldnames=_COLUMNS)
        writer.writeheader()
        for row in history:
            cells = asdict(row)
            for name in _LISTS:
                cells[name] = "" if cells[name] is None else json.dumps(cells[name])
            writer.writerow(cells)


def read_history(path: Path) -> list[Epoch]:
    """What ``write_history`` wrote; a file of another version is refused with what to do."""
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream))
        other = [row.get("version") for row in rows if row.get("version") != str(VERSION)]
        if other:
            raise BrokenFile(path, f"is of version {other[0] or 'none'}, and this nslimb reads {VERSION}")
        if not rows:
            raise BrokenFile(path, "cannot be read (it has no rows)")
        return [_epoch(row) for row in rows]
    except (KeyError, TypeError, ValueError, csv.Error) as error:
        raise BrokenFile(path, f"cannot be read ({error!r})") from error


def _epoch(row: dict[str, str]) -> Epoch:
    values: dict[str, Any] = {}
    for name in _COLUMNS:
        text = row[name]
        if name in _LISTS:
            values[name] = json.loads(text) if text else None
        elif name in ("epoch", "batches", "version"):
            values[name] = int(text)
        elif name == "phase":
            values[name] = text
        else:
            values[name] = float(text) if text else None
    return Epoch(**values)
