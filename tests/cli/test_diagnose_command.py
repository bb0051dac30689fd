"""The command line as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

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
    assert rows[:2] == [["0", "1", "0.01", "2.0"], ["1", "3", "0.03", "6.0"]]
    assert rows[2][:4] == ["0", "0.1", "0.01", "0.01"]  # then the classes
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


def test_diagnose_as_json() -> None:
    result = RUNNER.invoke(
        app, ["diagnose", "max", "-M", "2", "-c", "3", "--json", "--risk", "0.02", "--samples", "90"]
    )
    content = json.loads(result.stdout)
    assert [row["preimage_size"] for row in content["weak_labels"]] == [1, 3, 5]
    assert [row["expected"] for row in content["weak_labels"]] == pytest.approx([10, 30, 50])
    assert content["partial_risks"] == [0.02]
    assert len(content["risk_bounds"]["upper"][0]) == 3
    assert content["m_unambiguous"] is True


def test_diagnose_shows_readings() -> None:
    output = RUNNER.invoke(app, ["diagnose", "max", "-M", "4"]).output
    rows = [line.replace("│", " ").split() for line in output.splitlines() if line.startswith("│")]
    assert ["0", "1", "0.3", "lost"] in rows
    assert ["9", "8", "1,031.7"] in rows
    assert "identifiable ceiling: 90.0 % of hidden labels" in output
    words = output.replace("\n", " ").replace("  ", " ")
    assert "reading every 0 as a 1 would go unnoticed: 0.3 of 3,000 samples speak against it" in words


def test_diagnose_of_a_single_class_shows_no_readings(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["diagnose", "max", "-M", "1", "-c", "1", "--plot", str(tmp_path / "one.svg")])
    assert result.exit_code == 0, result.output
    assert "read as" not in result.output


def test_diagnose_with_ratios_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "r.csv").write_text("class,ratio\n0,0.5\n1,0.25\n2,0.25\n")
    arguments = ["diagnose", "max", "-M", "2", "-c", "3", "--ratios", str(tmp_path / "r.csv"), "--json"]
    content = json.loads(RUNNER.invoke(app, arguments).stdout)
    assert content["weak_labels"][0]["probability"] == pytest.approx(0.25)
    assert [row["ratio"] for row in content["classes"]] == [0.5, 0.25, 0.25]


@pytest.mark.parametrize("name", ["smallest-parent", "sum", "counterexample"])
def test_diagnose_draws(name: str, tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["diagnose", name, "--plot", str(tmp_path / "d.png")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")


def test_diagnose_says_it_in_words() -> None:
    output = RUNNER.invoke(app, ["diagnose", "max", "--arity", "3"]).output.replace("\n", " ")
    assert "class 0 is seen alone in 0.1 % of samples" in output


def test_a_function_of_the_user_is_diagnosed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "users_rules.py").write_text("def least(labels):\n    return min(labels)\n")
    monkeypatch.chdir(tmp_path)
    result = RUNNER.invoke(app, ["diagnose", "users_rules:least", "--arity", "2", "--classes", "5"])
    assert result.exit_code == 0, result.output
    assert "class 4 is seen alone in 4 %" in result.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["minimum"], "sigma: expected one of max"),
        (["max", "--risk", "2"], "partial_risks"),
        (["max", "--ratios", "none.csv"], "none.csv: cannot be read"),
        (["max", "--plot", "d.jpg"], "--plot"),
        (["max", "--classes", "100000"], "edges"),
    ],
)
def test_bad_arguments_are_messages(arguments: list[str], message: str) -> None:
    result = RUNNER.invoke(app, ["diagnose", *arguments])
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")


def test_labels_are_text_not_markup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("odd.py").write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\n\n\n"
        "@dataclass\nclass Rule:\n    cut: int\n\n\n"
        "def sign(y):\n    return '[/]' if sum(y) > Rule(2).cut else '$_$'\n"
    )
    result = RUNNER.invoke(app, ["diagnose", "odd.py:sign", "-M", "2", "--classes", "3", "--plot", "odd.png"])
    assert result.exit_code == 0, result.output
    assert "[/]" in result.output
    assert Path("odd.png").stat().st_size > 0


def test_a_function_that_exits_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("leaves.py").write_text("import sys\n\n\ndef gone(y):\n    sys.exit(3)\n")
    result = RUNNER.invoke(app, ["diagnose", "leaves.py:gone", "-M", "2", "--classes", "3"])
    assert result.exit_code == 2
    assert "SystemExit: 3" in result.output


def test_a_support_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "half.csv"
    arguments = ["diagnose", "sum", "--arity", "2", "--support", str(path)]
    path.write_text("first,second\n0,0\n0,1\n2,3\n2,4\n")
    shown = " ".join(RUNNER.invoke(app, arguments).output.split())
    assert "6 ways to read the classes explain every sample" in shown
    path.write_text("first,probability,second\n0,0.75,0\n0,0.25,1\n")
    weak = json.loads(RUNNER.invoke(app, [*arguments, "--json"]).output)["weak_labels"]
    assert [entry["probability"] for entry in weak[:3]] == [0.75, 0.25, 0]
    for text, message in (
        ("a\n1\n", "2 columns of labels"),
        ("a,b\n1,x\n", "row 1 is no label vector"),
        ("", "nothing"),
    ):
        path.write_text(text)
        result = RUNNER.invoke(app, arguments)
        assert result.exit_code == 2
        assert message in " ".join(result.output.split())
