"""The results folder: it belongs to one grid, and one scheduler at a time is at work in it."""

from __future__ import annotations

import json
import os
import re
import time
from typing import IO, Any

from nslimb.errors import DataError
from nslimb.experiment.config import Config
from nslimb.files import read_json, take_lock, write_text

_MARKER = "grid.json"
_ASIDE = re.compile(r"^\..+\.[a-z0-9_]{8}(\.\w+)?$")  # as `files.written_aside` names them
_STALE = 10  # seconds; a job that outlived its scheduler may still be writing
_HELD: list[IO[str]] = []  # locks, dropped by the kernel with the process


def check_results(config: Config) -> None:
    """Refuse a results folder of another grid, or one that cannot be written; writes nothing."""
    marker = config.results / _MARKER
    if marker.exists():
        theirs, mine = read_json(marker), _mine(config)
        if theirs != mine:
            raise DataError(
                f"{config.results}: holds the results of the grid {theirs}, and this one is {mine}; give another "
                "folder with --config results=FOLDER, or remove that one"
            )
        return
    there = next(folder for folder in (config.results, *config.results.absolute().parents) if folder.exists())
    if not (there.is_dir() and os.access(there, os.W_OK)):
        remedy = "give another with --config results=FOLDER"
        raise DataError(f"{config.results}: cannot be written (see {there}); {remedy}")


def claim_results(config: Config) -> None:
    """Mark the results folder as this grid's; what ``check_results`` refuses is refused."""
    check_results(config)
    marker = config.results / _MARKER
    if not marker.exists():
        write_text(marker, json.dumps(_mine(config)) + "\n")


def _mine(config: Config) -> dict[str, Any]:
    return {"name": config.name, "protocol": config.protocol}


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
    """Give files whose date lies in the future the date of now.

    A clock that was set back leaves such files. Whatever is made from them would look older than they are, so that
    Snakemake would make it again with every run.
    """
    now = time.time()
    future = [path for path in config.results.rglob("*") if path.is_file() and path.stat().st_mtime > now + 60]
    for path in future:
        os.utime(path, (now, now))
    if future:
        what = "were dated in the future (was the clock set back?) and now are not"
        print(f"nslimb: {config.results}: {len(future)} files {what}")
