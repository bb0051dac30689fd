"""The line that tells how far a grid has come."""

from __future__ import annotations

import io
import os
import threading
import time
from pathlib import Path

import pytest
from fabricated import write_whole
from grids import tiny_values

from nslimb.experiment import progress
from nslimb.experiment.cells import Cell, run_path, runs
from nslimb.experiment.config import Config, read_config
from nslimb.experiment.folder import sweep_results
from nslimb.experiment.progress import Watch, duration, show
from nslimb.files import written_aside

CELL = Cell("max", "3", "50", "1")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return read_config(tiny_values(tmp_path), tmp_path)


def log(folder: Path, run: tuple[Cell, str], text: str) -> Path:
    path = folder / run_path(*run) / "train.log"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_it_tells_what_is_done_what_runs_and_how_long_it_takes(config: Config, tmp_path: Path) -> None:
    watch = Watch(config, tmp_path / "logs", jobs=2)
    every = sum(watch.expected.values())
    assert watch.line() == f"0/5 runs, about {duration(every / 2)} left"
    first = (Cell("max", "3", "0", "1"), "sl")
    write_whole(config, *first, 0.5)  # four epochs of two seconds
    rest = (every - watch.expected[first]) * 8 / watch.expected[first] / 2
    assert watch.line() == f"1/5 runs, about {duration(rest)} left"
    lines = [f"x/train=sl: epoch {n}/2, loss 0.5, weak accuracy 9{n}.0%, 1.0 s\n" for n in (1, 2)]
    path = log(watch.logs, (CELL, "sl"), lines[0])
    assert watch.line().endswith("left; max M=3 rho=50 seed=1 sl epoch 1/2, weak accuracy 91.0%")
    rest -= watch.expected[CELL, "sl"] / 2 * 8 / watch.expected[first] / 2
    assert f"about {duration(rest)} left" in watch.line()
    path.write_text("".join(lines))
    assert "epoch 2/2, weak accuracy 92.0%" in watch.line()
    os.utime(path, (watch.began - 60, watch.began - 60))  # of a run that was cut before
    assert "epoch" not in watch.line()


def test_a_whole_grid_has_no_time_left(config: Config, tmp_path: Path) -> None:
    for cell, method in runs(config):
        write_whole(config, cell, method, 0.5)
    assert Watch(config, tmp_path / "logs").line() == "5/5 runs"


@pytest.mark.parametrize(("seconds", "told"), [(3, "3 s"), (600, "10 min"), (4800, "1 h 20 min"), (7170, "2 h 0 min")])
def test_durations(seconds: float, told: str) -> None:
    assert duration(seconds) == told


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_one_line_in_place_or_plain_lines(
    config: Config, tmp_path: Path, stream: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "_LIVE", 0.01)
    monkeypatch.setattr(progress, "_PLAIN", 0.01)
    ends, watch = threading.Event(), Watch(config, tmp_path / "logs")
    thread = threading.Thread(target=show, args=(watch, stream, ends))
    thread.start()
    deadline = time.monotonic() + 60
    while "0/5 runs" not in stream.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)
    write_whole(config, CELL, "sl", 0.5)
    while "1/5 runs" not in stream.getvalue() and time.monotonic() < deadline:
        time.sleep(0.01)
    ends.set()
    thread.join()
    told = stream.getvalue()
    assert told.count("0/5 runs") == told.count("1/5 runs") == 1  # nothing is said twice
    assert ("\n" in told) != stream.isatty()
    assert told.endswith("\x1b[2K" if stream.isatty() else "\n")


def test_what_killed_jobs_left_aside_is_swept_away(config: Config) -> None:
    folder = config.results / "cell"
    with written_aside(folder / "metrics.json") as aside:
        other = "y" if aside.name[-9] == "x" else "x"
        left = aside.with_name(aside.name[:-9] + other + aside.name[-8:])  # another one, by its name
        for path in (left, folder / "history.csv", folder / ".lock"):
            path.write_text("half")
            os.utime(path, (time.time() - 60, time.time() - 60))
        sweep_results(config)
        assert aside.exists()  # being written now
        assert not left.exists()
        aside.write_text("{}")
    assert {path.name for path in folder.iterdir()} == {"metrics.json", "history.csv", ".lock"}
