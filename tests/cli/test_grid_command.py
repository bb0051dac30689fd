"""``nslimb grid`` hands options to Snakemake in an order in which a target stays a target."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("snakemake", reason="Snakemake needs Python 3.11")
from nslimb.cli import app

TARGET = "results/quick/tables/max.csv"


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ([TARGET, "--cores", "2"], [TARGET, "--cores", "2", "--configfile", "FILE"]),
        (["--cores", "2", "--", TARGET], ["--cores", "2", TARGET, "--configfile", "FILE"]),
        (["--dry-run"], ["--dry-run", "--configfile", "FILE"]),
    ],
)
def test_a_target_is_not_taken_for_a_configuration(
    typed: list[str], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[list[str]] = []

    def run(command: list[str], **_: Any) -> SimpleNamespace:
        called.append(command)
        return SimpleNamespace(returncode=0)

    monkeypatch.setattr(subprocess, "run", run)
    done = CliRunner().invoke(app, ["grid", "quick", *typed])
    assert done.exit_code == 0, done.output
    (command,) = called
    given = command[command.index("--snakefile") + 2 :]
    assert ["FILE" if word.endswith("quick.yaml") else word for word in given] == expected
