"""Runs on reasoning shortcuts and on several networks: from finished runs to CSV files, from these to pages."""

from __future__ import annotations

import csv
import shutil
import statistics
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fabricated import run_file, write_run

from nslimb.errors import DataError
from nslimb.experiment import names, places
from nslimb.experiment.cells import Cell
from nslimb.experiment.collect import publish
from nslimb.experiment.config import Config, read_file
from nslimb.experiment.readings import COLUMNS
from nslimb.experiment.results import cure
from nslimb.experiment.results.data import FOLDER
from nslimb.experiment.runs.base import read_schema, write_schema
from nslimb.experiment.runs.metrics import Metrics

ROOT = places.ROOT
HALF = [2 / 7, 1 / 7, 2 / 7, 1 / 7, 1 / 7, *[0.0] * 5]
RATIOS = [0.0625, 0.125, 0.0625, 0.125, 0.125, 0.0625, 0.125, 0.0625, 0.125, 0.125]  # those of even_odd
SHORTCUT = [0, 1, 5, 0, 1, -1, -1, -1, -1, -1]
RIGHT = [0.9] * 5 + [None] * 5


def finish(config: Config, cell: Cell, method: str, accuracy: float, **changes: Any) -> None:
    """A finished run with metrics of a test's choice."""
    folder = write_run(config, cell, method, accuracy)
    found = read_schema(folder / names.METRICS, Metrics)
    plain = {**found.adjustments["none"], "test_weak_accuracy": 0.9, "class_accuracy": changes.pop("recall", RIGHT)}
    ratios = found.ratios.model_copy(update={"true": changes.pop("true", HALF)})
    start, matrix = changes.pop("start", None), changes.pop("matrix", None)
    plain |= {} if matrix is None else {"confusion_matrix": matrix}
    changes |= {"adjustments": {"none": plain}, "ratios": ratios}
    write_schema(folder / names.METRICS, found.model_copy(update=changes))
    described = run_file(cell, method)
    settings = {"other_etas": []} if method == "transport" else {}
    source = {"spec": "hwf", "digest": None}
    recipe = {**described.recipe, "method": {"method": method, "settings": settings}, "source": source}
    write_schema(folder / names.RUN_FILE, described.model_copy(update={"recipe": recipe, "start": start}))


def grid(name: str, results: Path) -> Config:
    return read_file(ROOT / "config" / f"{name}.yaml").model_copy(update={"results": results / name})


def cell(benchmark: str, seed: int, arity: str = "2", rho: str = "0") -> Cell:
    return Cell(benchmark, arity, rho, str(seed))


def rows_of(text: str) -> list[list[str]]:
    lines = [line for line in text.splitlines() if line.startswith("|") and set(line) - set("|- ")]
    return [[entry.strip() for entry in line.strip("|").split("|")] for line in lines]


def test_from_runs_to_tables(tmp_path: Path) -> None:
    config = grid("shortcuts", tmp_path)
    for seed in range(1, 11):
        finish(config, cell("half", seed), "sl", 0.4, shortcut=SHORTCUT)
        finish(config, cell("half", seed), "transport", 0.97 if seed > 2 else 0.9, start=1)
        finish(config, cell("half", seed), "supervised", 0.98)
    swapped = [1, 0, *[-1] * 8]
    even = [0.5, 0.5, *[0.0] * 8]
    finish(config, cell("xor", 1, "4"), "transport", 0.01, shortcut=swapped, true=even, recall=[0.01] * 2 + [None] * 8)
    finish(config, cell("xor", 2, "4"), "transport", 0.6, true=even, recall=[0.6, 0.4, *[None] * 8], start=0)
    identity, moved = (np.roll(np.eye(10, dtype=int), by, axis=1) for by in (0, 5))
    for seed, matrix, learned in (
        (1, 9 * identity + moved, None),
        (2, 9 * moved + identity, [*range(5, 10), *range(5)]),
    ):
        recall = (np.diag(matrix) / 10).tolist()
        changes = {"true": RATIOS, "recall": recall, "shortcut": learned, "matrix": matrix.tolist()}
        finish(config, cell("even_odd", seed), "transport", recall[0], **changes)
    assert publish(config, tmp_path) == {"shortcuts": 36, "clock": 34}
    with (tmp_path / "shortcuts.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == COLUMNS["shortcuts"]
    by_key = {(row["benchmark"], row["seed"], row["method"]): row for row in rows}
    first = by_key["half", "3", "transport"]
    assert [float(first[key]) for key in ("accuracy", "weak_accuracy", "eta", "tau")] == [97, 90, 1, 30]
    assert (first["reading"], first["keeps"]) == ("truth", "1")
    shortcut = by_key["half", "3", "sl"]
    assert (shortcut["reading"], shortcut["keeps"], shortcut["tau"]) == ("2 as 5, 3 as 0, 4 as 1", "0", "")
    assert (by_key["xor", "1", "transport"]["reading"], by_key["xor", "1", "transport"]["keeps"]) == (
        "0 as 1, 1 as 0",
        "1",
    )
    assert (by_key["xor", "2", "transport"]["reading"], by_key["xor", "2", "transport"]["keeps"]) == ("none", "0")
    twins = [by_key[name, seed, "transport"] for name in ("even_odd", "even_odd_renamed") for seed in ("1", "2")]
    assert [float(row["accuracy"]) for row in twins] == [90, 10, 10, 90]
    assert [row["reading"].split(",")[0] for row in twins] == ["truth", "0 as 5", "0 as 5", "truth"]
    assert [row["keeps"] for row in twins] == ["1"] * 4
    told = cure.shortcut_tables(cure.load(tmp_path, "shortcuts"))
    assert "`half`, transport: within 2 points of supervised in 8 of 10 seeds (goal missed)" in told
    assert "`xor`, transport: on a reading that keeps the ratios in 1 of 2 seeds\n" in told
    table = rows_of(told)
    assert ["`half`", "SL", "10", "40.0 ± 0.0", "90.0 ± 0.0", "2 as 5, 3 as 0, 4 as 1 (10)"] in table
    assert "no reading that explains the labels (1)" in told
    shown = rows_of(cure.readme_row(cure.load(tmp_path, "shortcuts")))[1]
    assert shown == ["MNIST-Half", "40.0 ± 0.0 (10)", "95.6 ± 2.1 (10)", "98.0 ± 0.0 (10)"]


def test_two_networks_beside_one(tmp_path: Path) -> None:
    config = grid("spaces", tmp_path)
    for name, digit in (("hwf", 0.8), ("hwf_two", 0.9)):
        finish(config, cell(name, 1, "3", "15"), "sl", 0.7, spaces={"digit": digit, "operator": 0.95})
    assert publish(config, tmp_path) == {"spaces": 2, "clock": 2}
    head, one, two = rows_of(cure.space_table(cure.load(tmp_path, "spaces")))
    assert head[4:] == ["symbols (%)", "digits (%)", "operators (%)", "formulas (%)"]
    assert one == ["HWF-3", "sl", "one", "1", "70.0", "80.0", "95.0", "90.0"]
    assert two == ["HWF-3", "sl", "two", "1", "70.0", "90.0", "95.0", "90.0"]


def test_without_runs_pages_say_so(tmp_path: Path) -> None:
    assert cure.shortcut_tables(cure.load(tmp_path, "shortcuts")) == "No run has been published yet.\n"
    assert cure.space_table(cure.load(tmp_path, "spaces")) == "No run has been published yet.\n"
    assert cure.readme_row(cure.load(tmp_path, "shortcuts")) == ""
    for name in ("docs", "README.md"):
        copy = shutil.copytree if name == "docs" else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "README.md").write_text("no marks")
    with pytest.raises(DataError, match=r"README.md: expected the lines <!-- cure"):
        cure.pages(tmp_path, tmp_path)


def test_pages_are_what_the_published_files_say() -> None:
    for path, text in cure.pages(FOLDER, ROOT).items():
        assert path.read_text() == text, f"{path} is not what `make results` writes"


def test_every_number_on_the_pages_is_in_the_published_files() -> None:
    """Means by other means, and intervals by a printed table of Student's t."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    with (FOLDER / "shortcuts.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            values[row["benchmark"], row["method"]].append(float(row["accuracy"]))
    quantile = {10: 2.262157, 9: 2.306004, 8: 2.364624, 7: 2.446912, 6: 2.570582, 5: 2.776445, 4: 3.182446, 3: 4.302653}
    shown = rows_of((ROOT / "docs" / "shortcuts.md").read_text().split("<!-- runs")[1])[1:]
    assert len(shown) == len(values)
    titles = {title: benchmark for benchmark, title in cure._TITLES.items()}
    methods = {printed: method for method, printed in cure._METHODS.items()}
    for title, printed, number, digits, *_ in shown:
        found = values[titles[title], methods[printed]]
        assert int(number) == len(found)
        mean, _, half = digits.partition(" ± ")
        assert float(mean) == pytest.approx(statistics.mean(found), abs=0.051)
        if len(found) in quantile:
            expected = quantile[len(found)] * statistics.stdev(found) / len(found) ** 0.5
            assert float(half) == pytest.approx(expected, abs=0.051)
    head, *rows = rows_of((ROOT / "README.md").read_text().split("<!-- cure")[1].split("<!-- end")[0])
    for name, *entries in rows:
        benchmark = {"MNIST-Half": "half", "MNIST-EvenOdd": "even_odd"}[name]
        for printed, entry in zip(head[1:], entries, strict=True):
            found = values[benchmark, methods[printed]]
            assert (entry == "-") == (not found)
            if found:
                assert float(entry.split()[0]) == pytest.approx(statistics.mean(found), abs=0.051)
                assert entry.endswith(f"({len(found)})")
