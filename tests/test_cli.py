"""The command line as a user meets it."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import nslimb
from nslimb.cli import app

RUNNER = CliRunner()


def test_help_and_version() -> None:
    assert "diagnose" in RUNNER.invoke(app, ["--help"]).output
    assert RUNNER.invoke(app, ["--version"]).output.strip() == f"nslimb {nslimb.__version__}"


def test_diagnose_counts_preimages() -> None:
    result = RUNNER.invoke(app, ["diagnose", "max", "--arity", "5"])
    assert result.exit_code == 0
    assert "40,951" in result.output
    assert "51 states" in result.output


@pytest.mark.parametrize("name", ["max", "sum", "hwf", "smallest-parent", "counterexample"])
def test_every_benchmark_can_be_diagnosed(name: str) -> None:
    result = RUNNER.invoke(app, ["diagnose", name, "--rows", "3"])
    assert result.exit_code == 0, result.output


def test_a_bad_arity_is_a_message_not_a_traceback() -> None:
    result = RUNNER.invoke(app, ["diagnose", "hwf", "-M", "4"])
    assert result.exit_code == 2
    assert "arity: expected an odd number" in result.output
