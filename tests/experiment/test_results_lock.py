"""The lock on a results folder: one scheduler, unless the disk has no locks."""

from __future__ import annotations

import errno
import fcntl
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nslimb.errors import DataError
from nslimb.experiment import folder
from nslimb.experiment.folder import hold_results


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    held: list[Any] = []
    monkeypatch.setattr(folder, "_HELD", held)
    yield SimpleNamespace(results=tmp_path)
    for stream in held:
        stream.close()


def test_a_second_scheduler_is_refused_and_told_why(config: Any) -> None:
    hold_results(config)
    with pytest.raises(DataError, match="another run of the workflow is at work there; wait for it to end"):
        hold_results(config)


def test_a_disk_without_locks_is_used_with_a_warning(
    config: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    hold_results(config)
    assert "cannot be locked" in capsys.readouterr().out
