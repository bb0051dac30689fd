"""nslimb adjust: scores and ratios in, adjusted scores out."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import nslimb
from nslimb.cli import app

RATIOS = [0.5, 0.3, 0.2]


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, ["adjust", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "r.json").write_text(json.dumps({"ratios": RATIOS}))
    (tmp_path / "r.csv").write_text("class,ratio\na,0.5\nb,0.3\nc,0.2\n")
    return tmp_path


@pytest.fixture
def scores() -> np.ndarray:
    return np.random.default_rng(0).dirichlet([1, 1, 3], size=40)


@pytest.mark.parametrize("ratios", ["r.json", "r.csv"])
@pytest.mark.parametrize("method", ["la", "carot"])
def test_npz_to_npz_is_the_library(folder: Path, scores: np.ndarray, method: str, ratios: str) -> None:
    np.savez(folder / "s.npz", probabilities=scores.astype(np.float32))
    out = folder / "a.npz"
    result = run(
        folder / "s.npz", "--ratios", folder / ratios, "--method", method, "--tau", 2, "--eta", 0.5, "--out", out
    )
    assert result.exit_code == 0, result.output
    log_scores = torch.from_numpy(scores.astype(np.float32)).log()
    expected = (
        nslimb.logit_adjustment(log_scores, RATIOS, 2).exp()
        if method == "la"
        else nslimb.carot(log_scores, RATIOS, 0.5, 2).scores
    )
    with np.load(out) as content:
        assert content["probabilities"].dtype == np.float32
        np.testing.assert_allclose(content["probabilities"], expected, atol=1e-5)
    changed = int((expected.argmax(1) != log_scores.argmax(1)).sum())
    assert f"{changed} of 40 predictions changed" in result.output
    before = np.bincount(scores.argmax(1), minlength=3) / 40
    assert f"{before[2]:.4f}" in result.output


def test_csv_keeps_its_header_and_logarithms_stay_logarithms(folder: Path, scores: np.ndarray) -> None:
    path, out = folder / "s.csv", folder / "a.csv"
    np.savetxt(path, np.log(scores), delimiter=",", header="cat,dog,bird", comments="")
    result = run(path, "--ratios", folder / "r.csv", "--method", "la", "--log", "--out", out)
    assert result.exit_code == 0, result.output
    assert "bird" in result.output
    lines = out.read_text().splitlines()
    assert lines[0] == "cat,dog,bird"
    expected = nslimb.logit_adjustment(torch.from_numpy(scores).log(), RATIOS, 1.0)
    np.testing.assert_allclose(np.loadtxt(lines[1:], delimiter=","), expected, atol=1e-7)


def test_formats_can_be_mixed_and_a_csv_needs_no_header(folder: Path, scores: np.ndarray) -> None:
    np.savetxt(folder / "s.csv", scores, delimiter=",")
    assert run(folder / "s.csv", "--ratios", folder / "r.csv", "--out", folder / "a.npz").exit_code == 0
    with np.load(folder / "a.npz") as content:
        np.testing.assert_allclose(content["scores"].sum(axis=1), 1)


def test_an_array_is_chosen_among_several(folder: Path, scores: np.ndarray) -> None:
    np.savez(folder / "s.npz", test=scores, labels=np.zeros(40))
    arguments = (folder / "s.npz", "--ratios", folder / "r.csv", "--out", folder / "a.npz")
    result = run(*arguments)
    assert result.exit_code == 2
    assert "holds the arrays test, labels; choose one with --array" in result.output.replace("\n", " ")
    assert "has no array 'x'" in run(*arguments, "--array", "x").output
    assert run(*arguments, "--array", "test").exit_code == 0
    with np.load(folder / "a.npz") as content:
        assert content.files == ["test"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [[0.5, 0.3, 0.2], [0.5, 0.5, 0.5]],
            "row 2: expected probabilities (or, with --log, their logarithms) that sum",
        ),
        ([[0.5, 0.3, 0.2], [0.5, 0.5, 0.5]], "a sum of 1.5"),
        ([[1.5, -0.3, -0.2]], "row 1"),
        ([[0.5, float("nan"), 0.5]], "row 1"),
        ([[0.5, 0.5]], "expected 3 classes"),
        (np.zeros((0, 3)), "shape [0, 3]"),
        ([0.2, 0.8], "shape [2]"),
        ([["a", "b", "c"]], "not numbers"),
    ],
)
def test_scores_that_are_refused(folder: Path, rows: object, message: str) -> None:
    np.savez(folder / "s.npz", scores=rows)
    result = run(folder / "s.npz", "--ratios", folder / "r.json", "--out", folder / "a.npz")
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")
    assert not (folder / "a.npz").exists()


def test_logarithms_that_are_no_log_probabilities(folder: Path) -> None:
    np.savez(folder / "s.npz", scores=[[1000.0, 2.0, 3.0]])
    result = run(folder / "s.npz", "--ratios", folder / "r.json", "--log", "--out", folder / "a.npz")
    assert result.exit_code == 2
    assert "row 1: expected log-probabilities that sum to 1" in result.output.replace("\n", " ")


class Bomb:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return (Path.touch, (Path("exploded"),))


def test_pickles_are_not_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    np.savez("objects.npz", scores=np.array([Bomb()], dtype=object))
    Path("raw.npz").write_bytes(pickle.dumps(Bomb()))
    for name in ("objects.npz", "raw.npz"):
        result = run(name, "--ratios", "r.json", "--out", "a.npz")
        assert result.exit_code == 2
        assert "without pickles" in result.output.replace("\n", " ")
    assert not Path("exploded").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("a,b,c\n", "shape [0"),
        ("0.5,0.3,0.2\n0.5,0.5\n", "one column a class"),
        ("1,x\n1,y\n", "numbers"),
    ],
)
def test_csv_files_that_are_refused(folder: Path, content: str, message: str) -> None:
    (folder / "s.csv").write_text(content)
    result = run(folder / "s.csv", "--ratios", folder / "r.json", "--out", folder / "a.csv")
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.txt", "0.5", "ends in .csv or .json"),
        ("r.json", "{", "cannot be read"),
        ("r.json", "{}", "r.json: ratios"),
        ("r.json", "[0.5, 0.7, 0.1]", "sum to 1"),
        ("r.csv", "", "no column 'ratio'"),
        ("r.csv", "class,ratio\n0,x\n", "row 1 has no ratio that is a number"),
        ("r.csv", "class,ratio\n0\n", "row 1 has no ratio that is a number"),
    ],
)
def test_ratios_that_are_refused(folder: Path, scores: np.ndarray, name: str, content: str, message: str) -> None:
    np.savez(folder / "s.npz", scores=scores)
    (folder / name).write_text(content)
    result = run(folder / "s.npz", "--ratios", folder / name, "--out", folder / "a.npz")
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["s.npz", "--out", "a.txt"], "--out: expected a file that ends in .npz or .csv"),
        (["s.npy", "--out", "a.npz"], "SCORES: expected a file that ends in .npz or .csv"),
        (["no.npz", "--out", "a.npz"], "no.npz: cannot be read"),
        (["s.npz", "--out", "a.npz", "--tau", "-1"], "tau"),
        (["s.npz", "--out", "a.npz", "--eta", "0"], "eta"),
    ],
)
def test_bad_arguments(
    folder: Path, scores: np.ndarray, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    np.savez("s.npz", scores=scores)
    result = run(*arguments, "--ratios", "r.json")
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")


def test_names_with_commas_and_brackets_survive(folder: Path, scores: np.ndarray) -> None:
    lines = [",".join(map(str, row)) for row in scores]
    (folder / "s.csv").write_text("\n".join(['"a,x",[b],[/c]', *lines]) + "\n")
    result = run(folder / "s.csv", "--ratios", folder / "r.json", "--method", "la", "--out", folder / "out.csv")
    assert result.exit_code == 0, result.output
    assert (folder / "out.csv").read_text().splitlines()[0] == '"a,x",[b],[/c]'
    assert "[b]" in result.output


def test_column_numbers_are_a_header(folder: Path, scores: np.ndarray) -> None:
    lines = [",".join(map(str, row)) for row in scores]
    (folder / "s.csv").write_text("\n".join(["0,1,2", *lines]) + "\n")
    result = run(folder / "s.csv", "--ratios", folder / "r.json", "--method", "la", "--out", folder / "out.csv")
    assert f"of {len(scores)} samples" in result.output


def test_out_is_no_input_and_its_folder_is_there(folder: Path, scores: np.ndarray) -> None:
    np.savez(folder / "s.npz", scores=scores)
    before = (folder / "s.npz").read_bytes()
    (folder / "link.npz").symlink_to(folder / "s.npz")
    for out in (folder / "s.npz", folder / "link.npz", folder / "r.csv"):
        result = run(folder / "s.npz", "--ratios", folder / "r.csv", "--out", out)
        assert result.exit_code == 2
        assert "--out: expected a file other than those that are read" in result.output
    result = run(folder / "s.npz", "--ratios", folder / "r.csv", "--out", folder / "no" / "a.npz")
    assert result.exit_code == 2
    assert "--out: expected a file in a folder that is there" in result.output
    assert not (folder / "no").exists()
    assert (folder / "s.npz").read_bytes() == before
