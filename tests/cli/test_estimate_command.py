"""nslimb estimate: weak labels in a CSV file to ratios with intervals."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import nslimb
from nslimb.cli import app
from nslimb.cli.formats.ratios import of_any_position, read_ratios
from nslimb.data.columns import encode_texts
from nslimb.errors import InvalidInput


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["estimate", *map(str, arguments)])


@pytest.fixture
def labels(tmp_path: Path) -> Path:
    """100, 300 and 600 weak labels 0, 1 and 2 of MAX-2 over 3 classes, among other columns."""
    path = tmp_path / "labels.csv"
    weak = [0] * 100 + [1] * 300 + [2] * 600
    path.write_text("id,weak,note\n" + "".join(f'{i},{s},"a, b"\n' for i, s in enumerate(weak)))
    return path


MAX = ("max", "--arity", 2, "--classes", 3)


def test_a_table_and_files(labels: Path, tmp_path: Path) -> None:
    table, content, plot = tmp_path / "r.csv", tmp_path / "r.json", tmp_path / "r.png"
    result = run(*MAX, labels, "--out", table, "--plot", plot, "--bootstrap", 50)
    assert result.exit_code == 0, result.output
    assert "95% interval" in result.output
    # Not sqrt(0.1) = 0.3162, the most likely ratio of class 0: more even ratios fit nearly as well.
    found = nslimb.estimate_marginal([100, 300, 600], nslimb.sigma.maximum(2, 3), counts=True, regularise="entropy")
    expected = found.ratios.numpy()
    assert f"{expected[0]:.4f}" in result.output
    assert abs(expected[0] - np.sqrt(0.1)) > 0.005
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert [row["class"] for row in rows] == ["0", "1", "2"]
    assert all(float(row["lower"]) <= float(row["ratio"]) <= float(row["upper"]) for row in rows)
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert run(*MAX, labels, "--out", content, "--bootstrap", 50).exit_code == 0
    np.testing.assert_allclose(read_ratios(table), expected, atol=1e-6)
    np.testing.assert_allclose(read_ratios(content), expected, atol=1e-6)


def test_json_on_stdout_is_json_alone_and_follows_the_seed(labels: Path) -> None:
    runs = [run(*MAX, labels, "--json", "--bootstrap", 20, "--seed", seed, "--level", 0.9) for seed in (1, 1, 2)]
    first, same, other = (json.loads(result.stdout) for result in runs)
    assert first == same
    assert first["ratios"] == other["ratios"]
    assert first["lower"] != other["lower"]
    assert (first["level"], first["resamples"], first["samples"]) == (0.9, 20, 1000)


def test_positions_that_accept_other_labels_have_ratios_of_their_own(tmp_path: Path) -> None:
    sigma = nslimb.sigma.formula(3)
    rng = np.random.default_rng(0)
    digits, operators = rng.integers(10, size=(500, 2)), rng.choice([10, 11, 12], p=[0.6, 0.3, 0.1], size=500)
    weak = sigma.apply(np.stack([digits[:, 0], operators, digits[:, 1]], axis=1))
    path, table = tmp_path / "formulas.csv", tmp_path / "r.csv"
    path.write_text("value\n" + "\n".join(str(sigma.weak_labels[i]) for i in weak))
    result = run("hwf", path, "--column", "value", "--out", table, "--bootstrap", 10, "--plot", tmp_path / "r.svg")
    assert result.exit_code == 0, result.output
    assert "position 1, 3" in result.output
    rows = {
        (row["position"], row["class"]): float(row["ratio"]) for row in csv.DictReader(table.read_text().splitlines())
    }
    assert len(rows) == 39
    assert rows["1", "+"] == rows["2", "7"] == 0
    assert rows["1", "7"] == rows["3", "7"]
    assert rows["2", "+"] == pytest.approx(0.6, abs=0.1)
    assert read_ratios(table).shape == (3, 13)
    assert of_any_position(read_ratios(table)).sum() == pytest.approx(1)


def test_weak_labels_as_text() -> None:
    texts = nslimb.Sigma.from_function(lambda y: "even" if sum(y) % 2 == 0 else "odd", 3, 2)
    assert encode_texts(["odd", " even ", "'odd'"], texts, Path("x")).tolist() == [1, 0, 1]
    spaced = nslimb.Sigma.from_function(lambda y: (" a", "a")[y[0]], 2, 1)
    assert encode_texts(["a", " a", "a "], spaced, Path("x")).tolist() == [1, 0, 1]
    pairs = nslimb.Sigma.from_function(lambda y: (min(y), max(y)), 3, 2)
    assert encode_texts(["(0, 2)", "(0,2)", "0, 2"], pairs, Path("x")).tolist() == [2, 2, 2]
    numbers = nslimb.sigma.maximum(2)
    assert encode_texts(["3", "3.0", " 7"], numbers, Path("x")).tolist() == [3, 3, 7]
    assert [np.flatnonzero(row).tolist() for row in encode_texts(["3|4", "7 | 3.0", "5"], numbers, Path("x"))] == [
        [3, 4],
        [3, 7],
        [5],
    ]
    bars = nslimb.Sigma.from_function(lambda y: ["a", "b", "a|b"][y[0]], num_classes=3, arity=1)  # its own text wins
    assert encode_texts(["a|b", "b"], bars, Path("x")).tolist() == bars.encode(["a|b", "b"]).tolist()
    with pytest.raises(InvalidInput, match=r"x, row 2: .* several with \| between"):
        encode_texts(["3|4", "3|"], numbers, Path("x"))
    truth = nslimb.Sigma.from_function(lambda y: sum(y) > 2, 3, 2)
    assert encode_texts(["True", "false", "1", "0"], truth, Path("x")).tolist() == [1, 0, 1, 0]
    mixed = nslimb.Sigma.from_function(lambda y: "1" if y[0] else y[1], 2, 2)  # 0, 1 and "1"
    expected = [mixed.weak_labels.index(value) for value in (1, "1", 0)]
    assert encode_texts(["1", "'1'", "0"], mixed, Path("x")).tolist() == expected


@pytest.mark.parametrize("text", ["10", "-1", "", "3.5", "three", "True", "[1]", "(" * 500, "__import__('os')"])
def test_text_that_is_no_weak_label(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"labels.csv, row 3: expected a weak label of sigma \(0, 1, "):
        encode_texts(["3", "4", text, "5"], nslimb.sigma.maximum(2), Path("labels.csv"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("id,label\n1,2\n", "has no column 'weak'; it has 'id', 'label'"),
        ("weak\n", "no row"),
        ("weak\n1\n\n7\n", "row 2: expected a weak label of sigma (0, 1, 2), got '7'"),
        ("id,weak\n1,1\n2\n", "row 2 ends before the column 'weak'"),
        (b"\xff\xfe\x00weak", "cannot be read as CSV"),
        (None, "cannot be read as CSV"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, content: str | bytes | None, message: str) -> None:
    path = tmp_path / "labels.csv"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run(*MAX, path)
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")
    assert "Traceback" not in result.output


def test_a_byte_order_mark_does_not_matter(labels: Path) -> None:
    labels.write_bytes(b"\xef\xbb\xbf" + labels.read_bytes().replace(b"id,weak", b"weak,id").replace(b"\n", b"\r\n"))
    labels.write_text(labels.read_text(encoding="utf-8-sig").replace("weak,id", "id,weak"), encoding="utf-8-sig")
    assert run(*MAX, labels, "--bootstrap", 10).exit_code == 0


@pytest.mark.parametrize(
    "options", [["--out", "r.txt"], ["--plot", "r.bmp"], ["--level", "2"], ["--bootstrap", "0"], ["--seed", "-1"]]
)
def test_bad_options(labels: Path, options: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(*MAX, labels, *options)
    assert result.exit_code == 2
    assert options[0].strip("-") in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["labels.csv"]


def test_a_plot_without_matplotlib_is_told_at_once(labels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run(*MAX, labels, "--plot", "r.png")
    assert result.exit_code == 2
    assert "--plot needs matplotlib" in result.output


def test_an_own_function(labels: Path, tmp_path: Path) -> None:
    (tmp_path / "own_rule.py").write_text("def rule(labels):\n    return max(labels)\n")
    own = (f"{tmp_path}/own_rule.py:rule", "--arity", 2, "--classes", 3)
    one, other = (json.loads(run(*sigma, labels, "--json", "--bootstrap", 10).stdout) for sigma in (own, MAX))
    np.testing.assert_allclose(one["ratios"], other["ratios"], atol=1e-9)


def test_ratios_of_spaces_that_share_labels_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bit and a digit of three share the labels 0 and 1: a file with ratios by position keeps them apart."""
    monkeypatch.chdir(tmp_path)
    Path("kinds.py").write_text(
        "import nslimb\n\ndef sigma(arity):\n"
        "    made = nslimb.Sigma.from_function(lambda y: (y[0], y[1]) if y[0] < 2 else None, 3, arity)\n"
        '    return made.with_spaces({"bit": [0], "value": [1]})\n'
    )
    Path("w.csv").write_text("weak\n" + '"(0, 0)"\n' * 10 + '"(1, 1)"\n' * 30 + '"(1, 2)"\n' * 60)
    for out in ("r.csv", "r.json"):
        result = run("kinds.py:sigma", "w.csv", "--arity", 2, "--out", out, "--bootstrap", 10)
        assert result.exit_code == 0, result.output
        ratios = read_ratios(Path(out))
        np.testing.assert_allclose(ratios, [[0.1, 0.9, 0], [0.1, 0.3, 0.6]], atol=0.05)
        told = CliRunner().invoke(app, ["diagnose", "kinds.py:sigma", "--arity", "2", "--ratios", out, "--json"])
        assert told.exit_code == 0, told.output
        shown = {row["class"]: row["ratio"] for row in json.loads(told.stdout)["classes"]}
        by_space = dict(zip(shown, [*ratios[0, :2] / 2, *ratios[1] / 2], strict=True))  # a position each
        assert shown == pytest.approx(by_space, abs=1e-6)
