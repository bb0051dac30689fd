"""Random SIGKILLs on a small grid, with a fixed seed: ``python tests/soak.py --kills 20``.

Schedulers, jobs, tracking jobs and whole machines are killed at random moments. The grid is then run to its end, and
must be what an undisturbed one is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from grids import checkout, command, said, snakemake, surroundings, tables, tiny

from nslimb.data.samples import load_gold, load_samples
from nslimb.experiment.folder import _ASIDE
from nslimb.files import read_json, read_sealed
from nslimb.learning.checkpoint import load_weights
from nslimb.learning.history import read_history

ARGUMENTS = ("--configfile", "tiny.yaml")
VICTIMS = ("scheduler", "job", "tracking", "machine")
_LONG = 3600  # no measure of speed: the machine may be busy
_READERS: dict[str, Callable[[Path], object]] = {
    "metrics.json": read_sealed,
    "marginals.json": read_sealed,
    "history.csv": read_history,
    "model.pt": load_weights,
    "samples.npz": load_samples,
    "gold.npz": load_gold,
    "tracked.json": read_json,
}


class Grid:
    """A grid in a folder, whose scheduler is started again whenever it is gone."""

    def __init__(self, folder: Path, root: Path, rng: random.Random) -> None:
        self.folder, self.root, self.rng = folder, root, rng
        self.begin()

    def begin(self) -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        environment = surroundings(self.root)
        begun = command(*ARGUMENTS, root=self.root)
        self.scheduler = subprocess.Popen(begun, cwd=self.folder, env=environment, start_new_session=True, **quiet)

    def again(self) -> None:
        """Start a scheduler where there is none; where nothing is left to do, a run is lost first."""
        if self.scheduler.poll() is None:
            return
        if self.scheduler.returncode == 0:
            shutil.rmtree(self.rng.choice(sorted(self.folder.glob("results/benchmark=*/**/train=*"))))
        self.begin()

    def jobs(self) -> dict[int, str]:
        """The scripts that jobs of this grid are running, by process; also of schedulers that are dead."""
        found = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                arguments = (path / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:  # it has ended
                continue
            if len(arguments) > 1 and str(self.folder / ".snakemake" / "scripts") in arguments[1]:
                found[int(path.name)] = arguments[1]
        return found

    def kill(self, victim: str) -> bool:
        """Kill one; False if there is none now."""
        if victim in ("scheduler", "machine"):
            if self.scheduler.poll() is not None:
                return False
            (os.killpg if victim == "machine" else os.kill)(self.scheduler.pid, signal.SIGKILL)
            self.scheduler.wait(timeout=_LONG)
            return True
        jobs = [pid for pid, script in self.jobs().items() if (".track" in script) == (victim == "tracking")]
        if not jobs:
            return False
        try:
            os.kill(self.rng.choice(sorted(jobs)), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return True


def soak(folder: Path, root: Path, kills: int, seed: int) -> dict[str, int]:
    """Kill so many times at random moments, then run the grid to its end; what was killed, and how often."""
    rng = random.Random(seed)
    grid, killed = Grid(folder, root, rng), dict.fromkeys(VICTIMS, 0)
    for number in range(kills):
        victim, deadline = VICTIMS[number % len(VICTIMS)], time.monotonic() + _LONG
        time.sleep(rng.uniform(0.5, 6.0))
        while not grid.kill(victim):
            assert time.monotonic() < deadline, f"no {victim} to kill"
            grid.again()
            time.sleep(rng.uniform(0.0, 0.3))
        killed[victim] += 1
        grid.again()
    grid.scheduler.kill()
    grid.scheduler.wait(timeout=_LONG)
    deadline = time.monotonic() + _LONG
    while grid.jobs() and time.monotonic() < deadline:  # those that outlived it
        time.sleep(0.1)
    time.sleep(11)  # after which a file aside is nobody's
    first = snakemake(*ARGUMENTS, folder=folder, root=root, check=False)
    if first.returncode != 0:  # a broken file is set aside by the first, and made anew by the second
        assert "set aside" in said(first), said(first)
        snakemake(*ARGUMENTS, folder=folder, root=root)
    return killed


def check(folder: Path, root: Path, whole: dict[str, str]) -> None:
    """Tables as of an undisturbed grid, every run tracked once, every file whole, nothing left to do."""
    results = folder / "results"
    mine = tables(results)
    assert {name: mine[name] for name in whole} == whole
    every = {str(path.parent.relative_to(results)) for path in results.glob("benchmark=*/**/metrics.json")}
    marks = [json.loads(path.read_text())["runs"] for path in results.glob("benchmark=*/**/tracked.json")]
    assert {name for runs in marks for name in runs} == every
    with sqlite3.connect(results / "mlflow.db") as store:
        states = [row[0] for row in store.execute("select status from runs where lifecycle_stage = 'active'")]
    assert states == ["FINISHED"] * len(every), states
    left = [path for path in results.rglob("*") if path.name.endswith(".broken") or _ASIDE.match(path.name)]
    assert not left, left
    for path in results.rglob("*.*"):
        if path.name in _READERS:
            _READERS[path.name](path)
    assert "Nothing to be done" in said(snakemake("-n", *ARGUMENTS, folder=folder, root=root))


def main() -> None:
    parser = argparse.ArgumentParser(description="Random SIGKILLs on a small grid.")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        root, began = checkout(Path(name) / "whole"), time.monotonic()
        tiny(root)
        snakemake(*ARGUMENTS, folder=root, root=root)
        print(f"undisturbed: {time.monotonic() - began:.0f} s", flush=True)
        folder, began = Path(name) / "soak", time.monotonic()
        tiny(folder)
        killed = soak(folder, root, given.kills, given.seed)
        check(folder, root, tables(root / "results"))
    told = ", ".join(f"{number} x {victim}" for victim, number in killed.items())
    print(f"{given.kills} kills ({told}) in {time.monotonic() - began:.0f} s: same tables, all tracked, no broken file")


if __name__ == "__main__":
    main()
