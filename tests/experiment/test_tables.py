"""Tables, the comparison with the paper, and what is missing in them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fabricated import ADJUSTMENTS, write_run
from fabricated import grid_run as run
from test_config import ROOT, values

from nslimb.errors import DataError
from nslimb.experiment import publish, tables
from nslimb.experiment.cells import Cell, runs
from nslimb.experiment.config import read_config
from nslimb.experiment.gather import gather
from nslimb.experiment.runs.base import read_schema, write_schema
from nslimb.experiment.runs.metrics import Metrics
from nslimb.experiment.runs.timing import Timing
from nslimb.learning.methods import METHODS

REFERENCE = tables.read_reference(ROOT / "reference" / "tables.csv")


RUNS = [
    run("sl", "1", 0.8),
    run("sl", "2", 0.9),
    run("records", "1", 0.7),
    run("records", "2", None),
    run("ilp-emp", "1", None),
]


def test_means_and_deviations_over_seeds_beside_the_papers() -> None:
    frame = tables.tidy("max", RUNS, ADJUSTMENTS, "exact", "mnist", REFERENCE).set_index(["training", "adjustment"])
    first = frame.loc[("SL", "none")]
    assert first["accuracy_mean"] == pytest.approx(85.0)
    assert first["accuracy_std"] == pytest.approx(np.std([80, 90], ddof=1))
    assert (first["seeds"], first["missing"]) == (2, 0)
    assert (first["paper_mean"], first["paper_std"]) == (84.15, 11.92)
    assert first["difference"] == pytest.approx(0.85)
    assert first["protocol"] == "exact"


def test_what_is_missing_is_shown_as_missing() -> None:
    frame = tables.tidy("max", RUNS, ADJUSTMENTS, "exact", "mnist", REFERENCE)
    by_method = frame[frame["adjustment"] == "none"].set_index("training")
    assert by_method.loc["RECORDS", ["seeds", "missing"]].tolist() == [1, 1]
    assert by_method.loc["ILP(EMP)", ["seeds", "missing"]].tolist() == [0, 1]
    assert np.isnan(by_method.loc["ILP(EMP)", "accuracy_mean"])
    laid = tables.laid_out(frame, set())
    assert laid.loc["ILP(EMP)"].tolist() == ["missing"]
    assert laid.loc["RECORDS"].tolist() == ["70.00"]
    assert laid.loc["SL"].tolist() == ["85.00 ± 7.07"]
    assert laid.loc["SL + CAROT"].tolist() == ["87.00 ± 7.07"]  # the best, by chance perhaps


@pytest.mark.parametrize("oracle", [name for name in METHODS if METHODS.get(name).oracle])
def test_an_oracle_is_never_the_best(oracle: str) -> None:
    both = [run("sl", "1", 0.5), run(oracle, "1", 0.9), run("records", "1", 0.8, adjusted=0.1)]
    frame = tables.tidy("max", both, ADJUSTMENTS, "exact", "mnist", REFERENCE)
    laid = tables.laid_out(frame, {one.printed for one in both if one.oracle})
    printed = METHODS.get(oracle).printed
    assert [entry for name, (entry,) in laid.iterrows() if name.startswith(printed)] == ["90.00", "91.00", "92.00"]
    assert laid.loc["SL"].tolist() == ["50.00"]
    assert laid.loc["SL + CAROT"].tolist() == ["52.00"]
    assert laid.loc["RECORDS + CAROT"].tolist() == ["**100.00**"]


def test_a_table_file_has_no_bold_oracle(tmp_path: Path) -> None:
    config = read_config({**values(), "results": str(tmp_path)})
    for cell, method in runs(config):
        if cell.benchmark in ("max", "hwf"):
            oracle = METHODS.get(method).oracle
            write_run(config, cell, method, 0.9 if oracle else 0.5, adjusted=0.0 if oracle else 0.1)
    for table, oracle, best in (("hwf", "ILP(GOLD)", "SL"), ("max", "supervised (oracle)", "SL")):
        publish.write_table(config, table)
        text, tex = ((tmp_path / "tables" / f"{table}.{form}").read_text() for form in ("md", "tex"))
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert any(oracle in row for row in rows)
        assert not any("**" in row for row in rows if oracle in row)
        assert not any("**" in row for row in rows if best in row)  # several are as good
        assert not any("textbf" in line for line in tex.splitlines() if oracle in line)


def test_the_comparison_keeps_all_345_entries() -> None:
    frame = tables.comparison([tables.tidy("max", RUNS, ADJUSTMENTS, "exact", "mnist", REFERENCE)], REFERENCE)
    assert len(frame) == 345
    ours = frame[frame["accuracy_mean"].notna()]
    assert set(ours["table"]) == {"max"}
    first = ours[(ours["training"] == "SL") & (ours["adjustment"] == "none")].iloc[0]
    assert first["within_paper_spread"] == "yes"
    assert (frame.loc[frame["accuracy_mean"].isna(), "within_paper_spread"] == "").all()


def test_markdown_and_latex_have_the_same_entries() -> None:
    clear = [run("sl", "1", 0.8), run("sl", "2", 0.9), run("records", "1", 0.97)]
    laid = tables.laid_out(tables.tidy("max", clear, {"none": "none"}, "exact", "mnist", REFERENCE), set())
    text, tex = tables.markdown(laid, "a caption"), tables.latex(laid, "a caption, 5 %")
    assert "| SL | 85.00 ± 7.07 |" in text
    assert "| RECORDS | **97.00** |" in text
    assert r"SL & 85.00 $\pm$ 7.07 \\" in tex
    assert r"RECORDS & \textbf{97.00} \\" in tex
    assert r"a caption, 5 \%" in tex
    assert tex.count(r"\\") == len(laid) + 1


def test_the_runtime_table_stands_beside_the_papers() -> None:
    import pandas as pd

    minutes = {"paper": {"SL": 0.02, "LP": 0.05}, "exact": {"SL": 0.01, "LP": 0.1}}
    memory = {"paper": {"SL": 500.0, "LP": 510.0}, "exact": {"SL": 520.0, "LP": 530.0}}
    timing = Timing(minutes_per_epoch=minutes, peak_mb=memory, samples=2000, measured_on=256)
    measured = [("max", "3", 64, timing), ("max", "4", 64, None)]
    reference = [pd.read_csv(ROOT / "reference" / f"{name}.csv") for name in ("runtimes", "memory")]
    frame = tables.runtime(measured, *reference)
    found = frame[(frame["algorithm"] == "LP") & (frame["M"] == "3")].set_index("protocol")
    assert found["minutes_per_epoch"].to_dict() == {"paper": 0.05, "exact": 0.1}
    assert (found["paper_minutes_per_epoch"] == 7.14).all()
    assert frame["minutes_per_epoch"].isna().sum() == 4


def test_broken_metrics_are_refused_not_skipped(tmp_path: Path) -> None:
    config = read_config({**values(), "results": str(tmp_path)})
    cell = Cell("max", "3", "0", "1")
    folder = tmp_path / cell.path / "train=sl"
    assert gather(config, [(cell, "sl")])[0].metrics is None
    folder.mkdir(parents=True)
    (folder / "metrics.json").write_text('{"adjustments": ')
    with pytest.raises(
        DataError, match=r"train=sl/metrics\.json: cannot be read .*remove it and run the workflow again"
    ):
        gather(config, [(cell, "sl")])
    write_run(config, cell, "sl", 0.9125)
    whole = (folder / "metrics.json").read_text()
    found = gather(config, [(cell, "sl")])[0]
    assert found.finished
    assert found.done.adjustments["none"]["accuracy"] == 0.9125
    (folder / "metrics.json").write_text(whole.replace("0.9125", "0.95"))
    with pytest.raises(DataError, match=r"metrics\.json: its content does not match its digest"):
        gather(config, [(cell, "sl")])


def test_metrics_of_other_settings_or_code_count_as_missing(tmp_path: Path) -> None:
    quick = {**values(), "results": str(tmp_path)}
    cell = Cell("max", "3", "0", "1")
    folder = write_run(read_config(quick), cell, "sl", 0.9)
    longer = read_config({**quick, "training": {**quick["training"], "epochs": 33}})
    assert gather(longer, [(cell, "sl")])[0].metrics is None
    elsewhere = read_config({**quick, "training": {**quick["training"], "device": "auto", "threads": 2}})
    assert gather(elsewhere, [(cell, "sl")])[0].finished
    content = read_schema(folder / "metrics.json", Metrics)
    old = {**content.code, "train": "an older one"}
    write_schema(folder / "metrics.json", content.model_copy(update={"code": old}))
    assert gather(read_config(quick), [(cell, "sl")])[0].metrics is None
    assert gather(read_config(quick), [(cell, "sl")], any_code=True)[0].finished
