"""Devices are made up here: only their names and the locks on them matter."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nslimb.errors import DataError
from nslimb.experiment import lease
from nslimb.experiment.lease import devices, lease_device

JOB = """
import os, sys, time
from pathlib import Path
from nslimb.experiment.lease import lease_device
from nslimb.experiment.provenance import job_environment
taken = lease_device("auto", folder=Path(sys.argv[1]), pause=0.02)
assert job_environment()["CUDA_VISIBLE_DEVICES"] == taken
(Path(sys.argv[1]) / f"job-{os.getpid()}").write_text(taken)
time.sleep(120)
"""
Begin = Callable[[], "subprocess.Popen[bytes]"]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    """Start a job that holds a device of three; all are ended with the test."""
    started = []

    def start() -> subprocess.Popen[bytes]:
        environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "0,1,GPU-8a1b"}
        started.append(subprocess.Popen([sys.executable, "-c", JOB, str(tmp_path)], env=environment))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


def device_of(job: subprocess.Popen[bytes], folder: Path, seconds: float = 60) -> str | None:
    """What a job has leased, once it has."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert job.poll() is None
        path = folder / f"job-{job.pid}"
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.02)
    return None


def test_jobs_at_once_get_distinct_devices_and_a_killed_one_frees_its_own(begin: Begin, tmp_path: Path) -> None:
    jobs = [begin() for _ in range(3)]
    taken = [device_of(job, tmp_path) for job in jobs]
    assert sorted(map(str, taken)) == ["0", "1", "GPU-8a1b"]
    late = begin()
    assert device_of(late, tmp_path, seconds=3) is None
    jobs[1].kill()
    jobs[1].wait()
    assert device_of(late, tmp_path) == taken[1]


@pytest.mark.parametrize(
    ("wanted", "visible"),
    [("cpu", "0,1"), ("cuda:1", "0,1"), ("auto", ""), ("auto", "-1"), ("auto", "NoDevFiles"), ("auto", "3")],
)
def test_where_there_is_no_choice_nothing_happens(wanted: str, visible: str, tmp_path: Path) -> None:
    environment = {"CUDA_VISIBLE_DEVICES": visible}
    assert lease_device(wanted, environment, tmp_path) is None
    assert environment == {"CUDA_VISIBLE_DEVICES": visible}
    assert list(tmp_path.iterdir()) == []


def test_devices_are_counted_by_the_driver_or_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = tmp_path / "gpus"
    for bus in ("0000:01:00.0", "0000:02:00.0"):
        (driver / bus).mkdir(parents=True)
    assert devices({}, driver) == ("0", "1")
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'GPU 0: A (UUID: GPU-1)'\necho '  MIG 1g (UUID: MIG-2)'\necho 'GPU 1: A'\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    assert devices({}, tmp_path / "none") == ("0", "1")
    tool.write_text("#!/bin/sh\nexit 9\n")
    assert devices({}, tmp_path / "none") == ()
    tool.unlink()
    assert devices({}, tmp_path / "none") == ()


def test_a_lock_folder_of_somebody_elses_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease.tempfile, "gettempdir", lambda: str(tmp_path))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"nslimb-devices-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(DataError, match="belongs to another user"):
        lease_device("auto", {"CUDA_VISIBLE_DEVICES": "0,1"})
