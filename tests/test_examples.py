"""The examples run as printed, on data that comes with the package."""

from __future__ import annotations

import runpy
import sys
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


def addition(*arguments: str) -> int:
    """The exit code of the example, called from the command line."""
    sys.argv = ["addition.py", *arguments]
    with torch.random.fork_rng(devices=[]), pytest.raises(SystemExit) as ended:
        runpy.run_path(str(EXAMPLES / "addition.py"), run_name="__main__")
    return int(ended.value.code or 0)


def test_addition_takes_n_from_the_command_line_and_shows_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [])
    assert addition("200", "--epochs", "1") == 0
    printed = capsys.readouterr().out
    assert "arity 400" in printed
    assert "10 sums to learn from, 2 to test on" in printed
    (bar,) = [line for line in printed.splitlines() if line.startswith("training ")]
    assert "100%" in bar
    assert "sums right: 0.0%" in printed


@pytest.mark.parametrize("digits", ["600", "0"])
def test_addition_says_how_many_digits_there_are_images_for(
    digits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [])
    assert addition(digits) == 2
    told = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert f"mnist5k has images for numbers of 1 to 500 digits, not of {digits}" in told
