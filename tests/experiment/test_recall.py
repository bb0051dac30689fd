"""Class by class: recalls of all classes and of those told apart, against a loop over the rows of the CSV file."""

from __future__ import annotations

import csv
import statistics
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import pytest
from published import write_published

from nslimb.experiment.results import recall
from nslimb.experiment.results.data import FOLDER, Results, load


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    made = write_published(tmp_path_factory.mktemp("results"))
    classes = made.classes.assign(lost=(made.classes["class"].astype(int) < 3).astype(int))
    return replace(made, classes=classes)


@pytest.mark.parametrize("benchmark", ["max", "sum"])
def test_recalls_of_the_published_runs(benchmark: str) -> None:
    """Mean over the cells and seeds that all methods have; oracle: plain Python."""
    rows = defaultdict(list)
    path = Path(FOLDER) / "classes.csv"
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream):
            if (row["protocol"], row["benchmark"]) == ("exact", benchmark):
                rows[row["method"], row["M"], row["rho"], row["seed"]].append((row["accuracy"], row["lost"]))
    found = recall.recalls(load(), benchmark)
    methods = {method for method, *_ in rows}
    assert found.keys() == methods
    cells = set.intersection(*({tuple(rest) for name, *rest in rows if name == method} for method in methods))
    for method, ours in found.items():
        parts = []
        for cell in cells:
            values = [(float(share), lost == "1") for share, lost in rows[(method, *cell)]]
            every, apart = [share for share, _ in values], [share for share, lost in values if not lost]
            others = [share for share, lost in values if lost]
            parts.append((every, apart, others))
        assert ours.macro == pytest.approx(statistics.mean(statistics.mean(every) for every, _, _ in parts))
        assert ours.worst == pytest.approx(statistics.mean(min(every) for every, _, _ in parts))
        assert ours.macro_apart == pytest.approx(statistics.mean(statistics.mean(apart) for _, apart, _ in parts))
        assert ours.worst_apart == pytest.approx(statistics.mean(min(apart) for _, apart, _ in parts))
        left = [statistics.mean(others) for _, _, others in parts if others]
        assert ours.others == pytest.approx(statistics.mean(left) if left else float("nan"), nan_ok=True)


def test_classes_that_are_not_told_apart_have_columns_of_their_own(results: Results) -> None:
    """As published.py has it, class k has 40 + 6 k per cent; 0, 1 and 2 are lost."""
    assert recall.recalls(results, "max")["sl"] == pytest.approx((67, 40, 76, 58, 46))
    text = recall.section(results)
    assert "| SL | 67.0 | 40.0 | 76.0 | 58.0 | 46.0 |" in text
    assert "MAX: the other classes" in text
    assert "58.0 % of its test images right with SL, 58.0 % with weights by weak labels alone" in text
    assert "Of the other classes SL has 46.0 % right, the recipe 46.0 %." in text
    none = replace(results, classes=results.classes.assign(lost=0))
    assert "| SL | 67.0 | 40.0 | 67.0 | 40.0 |" in recall.section(none)
    assert "told apart, " not in recall.section(none).splitlines()[0]
    assert "MAX: the other classes" not in recall.section(none)


def test_what_has_not_run_is_not_told(results: Results) -> None:
    without = replace(results, classes=results.classes[results.classes["method"] != "supervised"])
    assert recall.headline(recall.recalls(without, "max")) == ""
    assert "**" not in recall.section(without)
    paper = replace(results, classes=results.classes[results.classes["protocol"] == "paper"])
    assert recall.section(paper) == ""
    assert recall.recalls(paper, "max") == {}
