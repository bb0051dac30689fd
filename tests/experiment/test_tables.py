"""Tables, the comparison with the paper, and what is missing in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_config import ROOT, values

from nslimb.errors import DataError
from nslimb.experiment import tables
from nslimb.experiment.cells import Cell
from nslimb.experiment.config import read_config
from nslimb.experiment.gather import gather
from nslimb.experiment.provenance import run_mark
from nslimb.files import write_sealed

REFERENCE = tables.read_reference(ROOT / "reference" / "tables.csv")


def run(method: str, seed: str, accuracy: float | None, rho: str = "0") -> dict[str, Any]:
    entry = (
        None
        if accuracy is None
        else dict.fromkeys(("accuracy", "macro_recall", "worst_class", "geometric_mean"), accuracy)
    )
    metrics = None if entry is None else {"adjustments": dict.fromkeys(("none", "la", "carot"), entry)}
    return {"benchmark": "max", "M": "3", "rho": rho, "seed": seed, "method": method, "metrics": metrics}


RUNS = [
    run("sl", "1", 0.8),
    run("sl", "2", 0.9),
    run("records", "1", 0.7),
    run("records", "2", None),
    run("ilp-emp", "1", None),
]


def test_means_and_deviations_over_seeds_beside_the_papers() -> None:
    frame = tables.tidy("max", RUNS, "exact", "mnist", REFERENCE).set_index(["training", "adjustment"])
    first = frame.loc[("SL", "none")]
    assert first["accuracy_mean"] == pytest.approx(85.0)
    assert first["accuracy_std"] == pytest.approx(np.std([80, 90], ddof=1))
    assert (first["seeds"], first["missing"]) == (2, 0)
    assert (first["paper_mean"], first["paper_std"]) == (84.15, 11.92)
    assert first["difference"] == pytest.approx(0.85)
    assert first["protocol"] == "exact"


def test_what_is_missing_is_shown_as_missing() -> None:
    frame = tables.tidy("max", RUNS, "exact", "mnist", REFERENCE)
    by_method = frame[frame["adjustment"] == "none"].set_index("training")
    assert by_method.loc["RECORDS", ["seeds", "missing"]].tolist() == [1, 1]
    assert by_method.loc["ILP(EMP)", ["seeds", "missing"]].tolist() == [0, 1]
    assert np.isnan(by_method.loc["ILP(EMP)", "accuracy_mean"])
    laid = tables.laid_out(frame)
    assert laid.loc["ILP(EMP)"].tolist() == ["missing"]
    assert laid.loc["RECORDS"].tolist() == ["70.00"]
    assert laid.loc["SL"].tolist() == ["**85.00 ± 7.07**"]


def test_an_oracle_is_never_the_best() -> None:
    frame = tables.tidy("max", [run("sl", "1", 0.5), run("supervised", "1", 0.9)], "exact", "mnist", REFERENCE)
    laid = tables.laid_out(frame)
    assert laid.loc["supervised (oracle)"].tolist() == ["90.00"]
    assert laid.loc["SL"].tolist() == ["**50.00**"]


def test_the_comparison_keeps_all_345_entries() -> None:
    frame = tables.comparison([tables.tidy("max", RUNS, "exact", "mnist", REFERENCE)], REFERENCE)
    assert len(frame) == 345
    ours = frame[frame["accuracy_mean"].notna()]
    assert set(ours["table"]) == {"max"}
    first = ours[(ours["training"] == "SL") & (ours["adjustment"] == "none")].iloc[0]
    assert first["within_paper_spread"] == "yes"
    assert (frame.loc[frame["accuracy_mean"].isna(), "within_paper_spread"] == "").all()


def test_markdown_and_latex_have_the_same_entries() -> None:
    laid = tables.laid_out(tables.tidy("max", RUNS, "exact", "mnist", REFERENCE))
    text, tex = tables.markdown(laid, "a caption"), tables.latex(laid, "a caption, 5 %")
    assert "| SL | **85.00 ± 7.07** |" in text
    assert r"SL & \textbf{85.00 $\pm$ 7.07} \\" in tex
    assert r"a caption, 5 \%" in tex
    assert tex.count(r"\\") == len(laid) + 1


def test_the_runtime_table_stands_beside_the_papers() -> None:
    import pandas as pd

    timing = {"minutes_per_epoch": {"paper": {"SL": 0.02, "LP": 0.05}, "exact": {"SL": 0.01, "LP": 0.1}}}
    measured = [
        {"benchmark": "max", "M": "3", "batch_size": 64, "timing": timing},
        {"benchmark": "max", "M": "4", "batch_size": 64, "timing": None},
    ]
    frame = tables.runtime(measured, pd.read_csv(ROOT / "reference" / "runtimes.csv"))
    found = frame[(frame["algorithm"] == "LP") & (frame["M"] == "3")].set_index("protocol")
    assert found["minutes_per_epoch"].to_dict() == {"paper": 0.05, "exact": 0.1}
    assert (found["paper_minutes_per_epoch"] == 7.14).all()
    assert frame["minutes_per_epoch"].isna().sum() == 4


def test_broken_metrics_are_refused_not_skipped(tmp_path: Path) -> None:
    config = read_config({**values(), "results": str(tmp_path)})
    cell = Cell("max", "3", "0", "1")
    folder = tmp_path / cell.path / "train=sl"
    assert gather(config, [(cell, "sl")])[0]["metrics"] is None
    folder.mkdir(parents=True)
    (folder / "metrics.json").write_text('{"adjustments": ')
    with pytest.raises(
        DataError, match=r"train=sl/metrics\.json: cannot be read .*remove it and run the workflow again"
    ):
        gather(config, [(cell, "sl")])
    content = {"adjustments": {"none": {"accuracy": 0.91}}, "mark": run_mark(config, "max")}
    write_sealed(folder / "metrics.json", content)
    whole = (folder / "metrics.json").read_text()
    assert gather(config, [(cell, "sl")])[0]["metrics"] == content
    (folder / "metrics.json").write_text(whole.replace("0.91", "0.95"))
    with pytest.raises(DataError, match=r"metrics\.json: its content does not match its digest"):
        gather(config, [(cell, "sl")])
