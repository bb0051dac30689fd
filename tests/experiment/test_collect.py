"""Publishing: finished runs as small CSV files, a protocol at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fabricated import write_whole
from grids import checkout, snakemake, tiny, tiny_values

from nslimb.errors import BrokenFile
from nslimb.experiment import names
from nslimb.experiment.cells import Cell, run_path, runs
from nslimb.experiment.collect import COLUMNS, collect, publish, publish_apart, publish_together
from nslimb.experiment.config import Config, read_config, read_file
from nslimb.experiment.gather import gather
from nslimb.experiment.runs.base import read_schema, write_schema
from nslimb.experiment.runs.run import RunFile
from nslimb.files import write_sealed

FIRST = Cell("max", "3", "0", "1")
RUNS = [
    *("protocol", "benchmark", "M", "rho", "seed", "method", "adjustment", "accuracy", "macro_recall", "worst_class"),
    *("weak_accuracy", "ceiling", "seconds"),
]


def grid(folder: Path, **changes: Any) -> Config:
    """The tiny grid in a folder, all of its runs finished."""
    config = read_config(tiny_values(folder, **changes), folder)
    for place, (cell, method) in enumerate(runs(config)):
        write_whole(config, cell, method, 0.5 + 0.05 * place)
    return config


def read(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv", dtype={"M": str, "rho": str, "seed": str})


def test_a_row_for_each_run_and_adjustment_in_per_cent(tmp_path: Path) -> None:
    config = grid(tmp_path)
    rows = publish_together(config, tmp_path / "docs")
    found = read(tmp_path / "docs", "runs")
    assert list(found.columns) == RUNS
    assert len(found) == rows["runs"] == 5 * 3
    second = found[(found["rho"] == "0") & (found["method"] == "ilp-alg1")].set_index("adjustment")
    assert second["accuracy"].to_dict() == pytest.approx({"none": 55, "la": 56, "carot": 57})
    assert set(found["benchmark"]) == {"max", "sum"}
    assert (found["weak_accuracy"] == 90).all()
    assert (found["ceiling"] == 100).all()
    assert (found["seconds"] == 1).all()
    classes, marginals, epochs = (read(tmp_path / "docs", name) for name in ("classes", "marginals", "epochs"))
    assert len(classes) == 5 * 10
    assert classes.groupby(["benchmark", "M", "rho", "seed", "method"])["share"].sum().to_numpy() == pytest.approx(1)
    assert len(marginals) == 3 * 10
    assert len(epochs) == 5 * 4
    assert epochs["class_accuracy"].iloc[0].split()[:3] == ["0.0", "1.0", "2.0"]


def test_adjustments_on_other_test_images_are_published_beside_what_those_give_without(tmp_path: Path) -> None:
    config = grid(tmp_path)
    assert collect(config)["formulas"].empty
    run = next(run for run in gather(config, runs(config)) if run.cell == FIRST)
    found = {name: dict(values) for name, values in run.done.adjustments.items()}
    found["la"] |= {"accuracy": 0.75, "unadjusted_accuracy": 0.7}
    write_schema(run.folder / names.METRICS, run.done.model_copy(update={"adjustments": found}))
    (row,) = collect(config)["formulas"].to_dict("records")
    assert (row["M"], row["rho"], row["seed"], row["method"]) == (FIRST.M, FIRST.rho, FIRST.seed, run.method)
    assert (row["adjustment"], row["accuracy"], row["unadjusted_accuracy"]) == ("la", 75.0, 70.0)


def test_known_ratios_may_be_the_same_where_the_true_ones_differ_by_position(tmp_path: Path) -> None:
    config = grid(tmp_path)
    run = next(run for run in gather(config, runs(config)) if run.cell == FIRST)
    true = [[0.2] * 5 + [0.0] * 5, [0.1] * 10, [0.1] * 10]
    ratios = run.done.ratios.model_copy(update={"true": true})
    write_schema(run.folder / names.METRICS, run.done.model_copy(update={"ratios": ratios}))
    frame = collect(config)["marginals"]
    frame = frame[(frame["benchmark"] == "max") & (frame["rho"] == "0")]
    assert frame["position"].tolist() == [place for place in (1, 2, 3) for _ in range(10)]
    assert frame["true"].tolist() == [share for row in true for share in row]
    assert set(frame["estimated"]) == {0.1}


def test_each_protocol_replaces_its_own_rows(tmp_path: Path) -> None:
    exact, paper = grid(tmp_path / "exact"), grid(tmp_path / "paper", protocol="paper")
    publish_together(exact, tmp_path / "docs")
    publish_together(paper, tmp_path / "docs")
    both = read(tmp_path / "docs", "runs")
    assert both["protocol"].value_counts().to_dict() == {"exact": 15, "paper": 15}
    write_whole(exact, FIRST, "sl", 0.9)
    publish_together(exact, tmp_path / "docs")
    again = read(tmp_path / "docs", "runs")
    kept = [frame[frame["protocol"] == "paper"].reset_index(drop=True) for frame in (both, again)]
    pd.testing.assert_frame_equal(*kept)
    assert again[again["protocol"] == "exact"]["accuracy"].max() == pytest.approx(92)
    before = {path.name: path.read_bytes() for path in (tmp_path / "docs").iterdir()}
    publish_together(paper, tmp_path / "docs")
    assert {path.name: path.read_bytes() for path in (tmp_path / "docs").iterdir()} == before


def test_runs_of_older_code_are_data_and_runs_of_other_settings_are_not(tmp_path: Path) -> None:
    config = grid(tmp_path)
    made = gather(config, [(FIRST, "sl")])[0].done
    path = config.results / run_path(FIRST, "sl") / names.METRICS
    write_schema(path, made.model_copy(update={"code": {"train": "of last year"}}))
    assert len(collect(config)["runs"]) == 15
    write_schema(path, made.model_copy(update={"settings": "others"}))
    assert len(collect(config)["runs"]) == 12
    write_sealed(path, {**made.model_dump(mode="json"), "version": 99})
    with pytest.raises(BrokenFile, match="is of version 99"):
        collect(config)


def test_when_the_jobs_of_each_grid_ran(tmp_path: Path) -> None:
    """A file for all grids; each replaces its own rows."""
    first, second = grid(tmp_path / "first", name="first"), grid(tmp_path / "second", name="second")
    assert publish(first, tmp_path / "docs")["clock"] == 5
    assert publish(second, tmp_path / "docs")["clock"] == 10
    run = gather(second, runs(second))[0]
    described = read_schema(run.folder / names.RUN_FILE, RunFile)
    changes = {"seconds": {**described.seconds, "job": 7.5}, "ended": 1e9}
    write_schema(run.folder / names.RUN_FILE, described.model_copy(update=changes))
    assert publish(second, tmp_path / "docs")["clock"] == 10
    found = read(tmp_path / "docs", "clock")
    assert list(found.columns) == ["grid", *RUNS[:6], "seconds", "ended"]
    assert found["grid"].tolist() == ["first"] * 5 + ["second"] * 5
    assert found.dropna()[["grid", "seconds", "ended"]].to_numpy().tolist() == [["second", 7.5, 1e9]]
    assert found[found["grid"] == "first"]["method"].tolist() == [method for _, method in runs(first)]


def test_unfinished_grids_are_published_as_far_as_they_are(tmp_path: Path) -> None:
    config = read_config(tiny_values(tmp_path), tmp_path)
    assert publish_together(config, tmp_path / "docs") == dict.fromkeys(COLUMNS, 0)
    write_whole(config, FIRST, "sl", 0.5)
    assert publish_together(config, tmp_path / "docs")["runs"] == 3


def test_entries_with_the_same_sigma_share_their_marginals(tmp_path: Path) -> None:
    values = tiny_values(tmp_path)
    block = values["benchmarks"]["max"]
    values["benchmarks"]["again"] = {**block, "sigma": "max", "methods": [{"slow": {"method": "sl", "epochs": 9}}]}
    config = read_config(values, tmp_path)
    for cell, method in runs(config):
        write_whole(config, cell, method, 0.5)
    frame = collect(config)["marginals"]
    assert not frame.duplicated(["protocol", "benchmark", "M", "rho", "seed", "position", "class"]).any()
    assert set(collect(config)["runs"]["method"]) == {"sl", "ilp-alg1", "slow"}


def test_the_rule_writes_into_docs(tmp_path: Path) -> None:
    pytest.importorskip("snakemake", reason="Snakemake needs Python 3.11")
    root = checkout(tmp_path)
    write_whole(read_file(tiny(root)), FIRST, "sl", 0.5)
    snakemake("--configfile", "tiny.yaml", "--", "publish", folder=root, root=root)
    name = read_file(root / "tiny.yaml").name
    assert len(read(root / "docs" / "results", name)) == 3


def test_other_grids_get_a_file_of_their_own(tmp_path: Path) -> None:
    config = grid(tmp_path)
    assert publish_apart(config, tmp_path / "docs") == {config.name: 15}
    assert [path.name for path in (tmp_path / "docs").iterdir()] == [f"{config.name}.csv"]
    found = read(tmp_path / "docs", config.name)
    assert list(found.columns) == ["entry", *RUNS]
    pd.testing.assert_frame_equal(found[RUNS], read_published(config, tmp_path))


def read_published(config: Config, folder: Path) -> pd.DataFrame:
    publish_together(config, folder / "main")
    return read(folder / "main", "runs")
