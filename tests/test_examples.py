"""The examples run as printed, on data that comes with the package."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import torch

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


def test_addition_learns_and_fits_on_a_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len((EXAMPLES / "addition.py").read_text().splitlines()) < 60
    monkeypatch.chdir(tmp_path)
    with torch.random.fork_rng(devices=[]):
        runpy.run_path(str(EXAMPLES / "addition.py"))["main"](1, epochs=2)
    printed = capsys.readouterr().out
    assert "2000 sums to learn from, 500 to test on" in printed
    right = float(printed.rsplit("digits right: ")[1].split("%")[0])
    assert right > 50  # ten classes by chance: 10
