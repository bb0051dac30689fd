"""Progress of a grid during hours: runs that are done, what is running now, the time left.

One live line on a terminal, a plain line now and then elsewhere. It only looks at files, so that it tells of every job,
whichever process or machine it runs on.
"""

from __future__ import annotations

import re
import shutil
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from nslimb.errors import NslimbError
from nslimb.experiment import names
from nslimb.experiment.cells import Run, run_path, runs
from nslimb.experiment.config import Config
from nslimb.experiment.demands import training_seconds
from nslimb.learning.history import read_history

_EPOCH = re.compile(r": epoch (\d+)/(\d+), .*weak accuracy ([\d.]+%)")
_LIVE, _PLAIN = 2.0, 60.0  # seconds between two lines
_CLEAR = "\r\x1b[2K"  # the line of a terminal


@dataclass
class Watch:
    """A grid at work in its results folder; ``logs`` is where its jobs write, ``jobs`` how many run side by side."""

    config: Config
    logs: Path
    jobs: int = 1
    began: float = field(default_factory=time.time)
    taken: dict[Run, float] = field(default_factory=dict)  # seconds of finished runs, each read once

    def __post_init__(self) -> None:
        self.all = list(runs(self.config))
        gpu = self.config.training.device != "cpu"
        self.expected = {
            (cell, method): sum(training_seconds(self.config, cell.benchmark, cell.M, method, gpu))
            for cell, method in self.all
        }

    def line(self) -> str:
        """``12/40 runs, about 1 h 20 min left; MAX... epoch 3/30, weak accuracy 91.2%``."""
        done = [run for run in self.all if (self._folder(run) / names.METRICS).exists()]
        left = self._left(done)
        now = [text for run in self.all if (text := self._running(run)) is not None]
        told = f"{len(done)}/{len(self.all)} runs"
        if len(done) < len(self.all):
            told += f", about {duration(left)} left"
        return told + (f"; {', '.join(now)}" if now else "")

    def _folder(self, run: Run) -> Path:
        return self.config.results / run_path(*run)

    def _last_epoch(self, run: Run) -> re.Match[str] | None:
        """The last epoch in the log of a job that is training now."""
        log = self.logs / run_path(*run) / "train.log"
        if (self._folder(run) / names.MODEL).exists() or not log.exists() or log.stat().st_mtime < self.began:
            return None
        with log.open("rb") as stream:
            stream.seek(max(0, log.stat().st_size - 2000))
            found = list(_EPOCH.finditer(stream.read().decode("utf-8", errors="replace")))
        return found[-1] if found else None

    def _running(self, run: Run) -> str | None:
        epoch = self._last_epoch(run)
        if epoch is None:
            return None
        cell, method = run
        place = f"{cell.benchmark} M={cell.M} rho={cell.rho} seed={cell.seed} {method}"
        return f"{place} epoch {epoch[1]}/{epoch[2]}, weak accuracy {epoch[3]}"

    def _left(self, done: Iterable[Run]) -> float:
        """Seconds: what the costs foretell of the runs that are left, corrected by how those that are done did."""
        finished = set(done)
        for run in finished - set(self.taken):
            self.taken[run] = self._seconds(run)
        known = [run for run in finished if self.taken[run] > 0]
        foretold = sum(self.expected[run] for run in known)
        factor = sum(self.taken[run] for run in known) / foretold if foretold else 1.0
        seconds = 0.0
        for run in self.all:
            if run not in finished:
                epoch = self._last_epoch(run)
                share = 0.0 if epoch is None else int(epoch[1]) / int(epoch[2])
                seconds += self.expected[run] * factor * (1 - share)
        return seconds / self.jobs

    def _seconds(self, run: Run) -> float:
        try:
            return sum(row.seconds for row in read_history(self._folder(run) / names.HISTORY))
        except (NslimbError, OSError):
            return 0.0


def duration(seconds: float) -> str:
    """Hours and minutes, or seconds where they are few."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def show(watch: Watch, stream: TextIO, ends: threading.Event) -> None:
    """Print the line until told to end: in place on a terminal, else whenever it has something new to say."""
    live, before, pause = stream.isatty(), "", _LIVE
    while not ends.wait(pause):
        pause = _LIVE if live else _PLAIN
        try:
            text = watch.line()
        except OSError:  # a file that has gone while it was looked at
            continue
        if text == before:
            continue
        before = text
        # Other output, errors above all, then begins where the live line does.
        width = shutil.get_terminal_size().columns - 1
        stream.write(f"{_CLEAR}{text[:width]}\r" if live else f"{time.strftime('%H:%M')} {text}\n")
        stream.flush()
    if live:
        stream.write(_CLEAR)
        stream.flush()


_ENDS = threading.Event()


def start_watching(config: Config, logs: Path, jobs: int) -> None:
    """Show the progress of a grid from now on, beside the scheduler, until ``stop_watching`` or the process ends."""
    arguments = (Watch(config, logs, max(1, jobs)), sys.stderr, _ENDS)
    threading.Thread(target=show, args=arguments, daemon=True).start()


def stop_watching() -> None:
    """End the line."""
    _ENDS.set()
