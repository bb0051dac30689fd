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


def test_diagnose_says_how_often_and_how_many() -> None:
    result = RUNNER.invoke(app, ["diagnose", "max", "--arity", "2", "--samples", "200", "--rows", "2"])
    rows = [line.replace("│", " ").split() for line in result.output.splitlines() if line.startswith("│")]
    assert rows == [["0", "1", "0.01", "2.0"], ["1", "3", "0.03", "6.0"]]
    assert "8 more weak labels" in result.output


def test_the_order_of_operations_can_be_chosen() -> None:
    usual, flat = (
        RUNNER.invoke(app, ["diagnose", "hwf", "-M", "5", *extra]).output for extra in ([], ["--left-to-right"])
    )
    assert usual != flat


def test_huge_numbers_are_shortened() -> None:
    result = RUNNER.invoke(app, ["diagnose", "max", "-M", "5000", "--rows", "1"])
    assert result.exit_code == 0
    assert "1.00e5000 valid label vectors" in result.output


@pytest.mark.parametrize(
    "arguments", [["max", "--rows", "0"], ["max", "--samples", "-1"], ["counterexample", "-M", "7"]]
)
def test_bad_options_are_refused(arguments: list[str]) -> None:
    assert RUNNER.invoke(app, ["diagnose", *arguments]).exit_code == 2


def test_a_bad_arity_is_a_message_not_a_traceback() -> None:
    result = RUNNER.invoke(app, ["diagnose", "hwf", "-M", "4"])
    assert result.exit_code == 2
    assert "arity: expected an odd number" in result.output
