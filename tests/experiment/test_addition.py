"""MNIST-Add-N in the grid: its configuration, its samples and its table."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fabricated import write_whole
from scipy import stats
from test_config import ROOT
from test_listed_supports import share_by_hand

from nslimb.errors import DataError, InvalidInput
from nslimb.experiment import names, publish, sums
from nslimb.experiment.cells import Cell, runs
from nslimb.experiment.collect import publish_apart
from nslimb.experiment.config import Config, read_config, read_yaml
from nslimb.experiment.demands import train_demand
from nslimb.experiment.jobs.adjust import adjust_run
from nslimb.experiment.jobs.marginals import make_marginals
from nslimb.experiment.jobs.recipe import Host
from nslimb.experiment.jobs.samples import make_samples
from nslimb.experiment.jobs.train import train_run
from nslimb.experiment.recipes import adjust_recipe, marginals_recipe, samples_recipe, train_recipe
from nslimb.experiment.results import addition
from nslimb.experiment.runs.base import read_schema, write_schema
from nslimb.experiment.runs.metrics import Metrics

VALUES = read_yaml(ROOT / "config" / "addition.yaml")


def changed(value: Any, *keys: str) -> dict[str, Any]:
    values = copy.deepcopy(VALUES)
    place = values
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    return values


def test_the_grid_is_that_of_the_field() -> None:
    config = read_config(VALUES)
    assert len(list(runs(config))) == 4 * 2 * 3 + 2 * 3  # and what seeing every digit of N = 15 gives
    recipe = samples_recipe(config, Cell("addition", "30", "0", "1"))
    assert (recipe["samples"], recipe["validation"], recipe["validation_from"]) == ("once", 0, "none")
    assert config.benchmarks["addition"].problem("addition").build(30).arity == 30
    assert 5 < train_demand(config, "addition", "30", "sl-decay").runtime < 24 * 60


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (changed(["la"], "adjustments"), r"benchmarks.addition: adjustments: expected none \(\[\]\) .* got la"),
        (changed([5], "benchmarks", "addition", "rho"), "benchmarks.addition: rho: expected 0 with samples: once"),
        (changed(0.1, "benchmarks", "addition", "noise"), "benchmarks.addition: noise: expected 0 with samples: once"),
        (changed([3], "benchmarks", "addition", "M"), "benchmarks.addition: M: expected even integers .* got 3"),
        (changed("twice", "benchmarks", "addition", "samples"), "benchmarks.addition.samples.*'once'"),
        (changed(0, "benchmarks", "addition", "samples"), "benchmarks.addition.samples.*greater than or equal to 1"),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_config(values)


def finish(config: Config, cell: Cell, method: str, digits: float, right: float) -> None:
    """A run with this share of digits and sums right."""
    folder = write_whole(config, cell, method, digits)
    metrics = read_schema(folder / names.METRICS, Metrics)
    metrics.adjustments["none"]["test_weak_accuracy"] = right
    write_schema(folder / names.METRICS, metrics.model_copy(update={"ceiling": None}))


def test_the_table_has_intervals_and_what_others_have_published(tmp_path: Path) -> None:
    config = read_config({**VALUES, "results": tmp_path})
    for seed, right in (("1", 0.80), ("2", 0.84), ("3", 0.85)):
        finish(config, Cell("addition", "30", "0", seed), "sl-decay", 0.99, right)
    finish(config, Cell("addition", "8", "0", "1"), "sl-decay-affine", 0.995, 0.96)
    publish.write_table(config, "addition")
    frame = pd.read_csv(tmp_path / "tables" / "addition.csv").set_index(["N", "training"])
    row = frame.loc[(15, "SL, decay")]
    half = stats.sem([80, 84, 85]) * stats.t.ppf(0.975, 2)
    np.testing.assert_allclose(
        row[["sum_accuracy", "sum_lower", "sum_upper"]].tolist(), [83, 83 - half, 83 + half], rtol=1e-5
    )
    assert row["digits_of_99"] == pytest.approx(100 * 0.99**30)
    assert (row["seeds"], row["missing"]) == (3, 0)
    assert frame.loc[(4, "sl-decay-affine"), ["seeds", "missing"]].tolist() == [1, 2]
    text = (tmp_path / "tables" / "addition.md").read_text()
    assert "| SL, decay | missing | 83.0 [" in text
    assert "| sl-decay-affine | 96.0 (99.50) | missing |" in text
    assert "| digits of 99 % each | 92.3 | 74.0 |" in text
    assert "| PLIA (published) | 91.84 | 79.00 |" in text
    assert "| Scallop (published) | 90.88 | time-out |" in text
    assert "mnist, 36 epochs (sl-decay-affine: 72), 3 seed(s), 8 of 12 runs missing" in text
    assert (tmp_path / "tables" / "addition.tex").exists()
    publish.write_table(config, "addition_short")
    text = (tmp_path / "tables" / "addition_short.md").read_text()
    assert "| digits of 99 % each | 98.0 | 96.1 |" in text
    assert "12 of 12 runs missing" in text
    assert "(published)" not in text  # nobody has published N = 1 or 2
    publish.write_table(config, "addition_limit")
    publish.write_comparison(config)


def test_what_is_published_is_complete() -> None:
    frame = sums.read_published(ROOT / "reference" / "addition.csv")
    assert sorted(frame.groupby("system")["N"].agg(tuple).unique()) == [(4, 15)]
    assert frame["sum_accuracy"].isna().sum() == 1


def published(accuracies: dict[tuple[int, str], list[float]]) -> pd.DataFrame:
    """Runs as they are published, by N and method."""
    return pd.DataFrame(
        [
            {
                "M": 2 * size,
                "seed": seed,
                "method": method,
                "accuracy": 99.5,
                "test_weak_accuracy": value,
                "seconds": 60.0 * (seed + size),
            }
            for (size, method), values in accuracies.items()
            for seed, value in enumerate(values, start=1)
        ]
    )


def test_the_page_has_means_with_intervals_and_tells_goals() -> None:
    runs = published({(4, "sl-decay"): [92.0, 93.0, 93.5], (15, "sl-decay"): [78.0, 78.5, 80.0]})
    text = addition.page(runs, sums.read_published(ROOT / "reference" / "addition.csv"))
    half = stats.sem([78, 78.5, 80]) * stats.t.ppf(0.975, 2)
    mean = 236.5 / 3
    assert f"{mean:.1f} [{mean - half:.1f}, {mean + half:.1f}] (99.50) |" in text
    assert "| NeSyDM (published) | 92.49 | 77.29 |" in text
    assert "- N = 4, nslimb: goal 93 %, 92.8 %, missed (seeds: 3)." in text
    assert "- N = 15, nslimb: goal 78 %, 78.8 %, reached (seeds: 3)." in text
    assert "- N = 15, nslimb, affine maps of the images: goal 85 %, not run yet." in text
    assert "- N = 15, nslimb: goal under 10 minutes a run, at most 18.0, missed (seeds: 3)." in text
    assert "- N = 15, nslimb, affine maps of the images: goal under 10 minutes a run, not run yet." in text
    assert "N = 4: 5.0 to 7.0; N = 15: 16.0 to 18.0" in text
    limit = published({(15, "supervised-decay"): [79.0]})
    text = addition.page(pd.concat([runs, limit]), sums.read_published(ROOT / "reference" / "addition.csv"))
    assert "| the same network, every digit seen |  | 79.0 (99.50) |" in text
    assert "nslimb: 79.0 % of the sums right with every digit seen; to see sums alone costs 1.0 points" in text
    assert "every digit seen:" not in addition.page(runs, sums.read_published(ROOT / "reference" / "addition.csv"))


def test_a_goal_is_reached_by_three_seeds_and_no_less() -> None:
    reference = sums.read_published(ROOT / "reference" / "addition.csv")
    two = published({(15, "sl-decay-affine"): [86.0, 88.0]}).assign(seconds=[540.0, 570.0])
    text = addition.page(two, reference)
    assert "- N = 15, nslimb, affine maps of the images: goal 85 %, 87.0 % so far (seeds: 2)." in text
    assert "goal under 10 minutes a run, at most 9.5 so far (seeds: 2)." in text
    assert "reached" not in text
    text = addition.page(pd.concat([two, two.iloc[:1]]), reference)
    assert "goal 85 %, 86.7 %, reached (seeds: 3)." in text
    assert "goal under 10 minutes a run, at most 9.5, reached (seeds: 3)." in text


def test_the_page_says_how_sums_are_made_and_trained() -> None:
    """As the configuration has it; 15 digits leave ten test images over."""
    text = " ".join(addition.page(published({}), pd.DataFrame()).split())
    blocks = read_config(VALUES).benchmarks.values()
    sizes = {int(arity) // 2: block.training["batch_size"] for block in blocks for arity in block.M}
    assert sizes == {1: 32, 2: 32, 4: 8, 15: 8}
    assert "N = 1 and 2 train in batches of 32 sums, N = 4 and 15 in batches of 8" in text
    assert "as many are used as make whole sums" in text


def test_a_page_without_runs_and_a_file_of_another_kind(tmp_path: Path) -> None:
    addition.write_page(tmp_path, tmp_path / "addition.md")
    assert (tmp_path / "addition.md").read_text().endswith("Nothing has been run yet.\n")
    (tmp_path / "addition.csv").write_text("M,method,accuracy\n2,sl,99\n")
    with pytest.raises(DataError, match=r"addition\.csv: has no column seed, test_weak_accuracy, seconds; publish"):
        addition.write_page(tmp_path, tmp_path / "addition.md")


def test_published_runs_have_the_share_of_sums(tmp_path: Path) -> None:
    config = read_config({**VALUES, "results": tmp_path / "results"})
    finish(config, Cell("addition", "8", "0", "2"), "sl-decay-affine", 0.995, 0.96)
    finish(config, Cell("addition_short", "2", "0", "2"), "sl-decay", 0.99, 0.98)
    assert publish_apart(config, tmp_path) == {"addition": 2}
    row = addition.read(tmp_path / "addition.csv").iloc[0]
    assert (row["M"], row["seed"], row["method"]) == (8, 2, "sl-decay-affine")
    assert (row["accuracy"], row["test_weak_accuracy"]) == pytest.approx((99.5, 96.0))


def test_the_committed_page_is_that_of_the_committed_file(tmp_path: Path) -> None:
    addition.write_page(ROOT / "docs" / "results", tmp_path / "addition.md")
    assert (tmp_path / "addition.md").read_text() == (ROOT / "docs" / "addition.md").read_text()


def test_from_a_recipe_to_the_share_of_sums(tmp_path: Path) -> None:
    """All images are used, so that no validation sample is left to score."""
    values = changed(1, "training", "epochs")
    values["benchmarks"]["addition"] |= {"source": "mnist5k", "M": [2], "training": {"batch_size": 64}}
    config, cell, method = read_config(values), Cell("addition", "2", "0", "1"), "sl-decay"
    host = Host(data=Path("data"), base=Path(), results=tmp_path, device="cpu")
    into = tmp_path / f"train={method}"
    into.mkdir()
    make_samples(samples_recipe(config, cell), host, "", tmp_path / names.SAMPLES, tmp_path / names.GOLD)
    make_marginals(marginals_recipe(config, cell), host, tmp_path / names.SAMPLES, tmp_path / names.MARGINALS)
    run = {"cell": {}, "cell_path": cell.path, "method": method, "grid": "tiny"}
    train_run(train_recipe(config, cell, method), host, run, "", into)
    adjust_run(adjust_recipe(config, cell, method), host, "", into)
    found = read_schema(into / names.METRICS, Metrics).adjustments["none"]
    share = share_by_hand(adjust_recipe(config, cell, method), host, into)
    assert found["test_weak_accuracy"] == share
    assert 0 < share < 1
    assert found["validation_weak_accuracy"] is None
