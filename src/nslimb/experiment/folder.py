"""The results folder: it belongs to one grid, and one scheduler at a time is at work in it."""

from __future__ import annotations

import json
import os
import re
import time
from typing import IO, Any

from nslimb.errors import DataError
from nslimb.experiment.config import Config
from nslimb.files import read_json, take_lock, written_aside

_ASIDE = re.compile(r"^\..+\.[a-z0-9_]{8}(\.\w+)?$")  # as `files.written_aside` names them
_STALE = 10  # seconds; a job that outlived its scheduler may still be writing
_HELD: list[IO[str]] = []  # locks, dropped by the kernel with the process


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


def sweep_results(config: Config) -> None:
    """Remove what killed jobs left half written: files aside, which nobody has written to for a while."""
    before = time.time() - _STALE
    for path in config.results.rglob(".*"):
        if _ASIDE.match(path.name) and path.is_file() and path.stat().st_mtime < before:
            path.unlink(missing_ok=True)


def redate_results(config: Config) -> None:
    """Date files of the future, left by a clock that was set back, as of now: else all that needs them is never new."""
    now = time.time()
    future = [path for path in config.results.rglob("*") if path.is_file() and path.stat().st_mtime > now + 60]
    for path in future:
        os.utime(path, (now, now))
    if future:
        what = "were dated in the future (was the clock set back?) and now are not"
        print(f"nslimb: {config.results}: {len(future)} files {what}")
