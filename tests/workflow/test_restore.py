"""A grid goes on from an archive: what is restored is not made again, what is left is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from fabricated import write_whole
from grids import planned, snakemake, tiny, tiny_values

from nslimb.experiment.bundle import main
from nslimb.experiment.cells import runs
from nslimb.experiment.config import read_file

pytest.importorskip("snakemake", reason="Snakemake needs Python 3.11")
ARGUMENTS = ("--configfile", "tiny.yaml")
MADE = {"train", "adjust", "samples", "marginals", "fetch"}


@pytest.mark.slow
def test_a_grid_goes_on_from_an_archive_to_the_same_table(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive, path = tmp_path / "runs.tar.xz", tiny(tmp_path)
    main(["pack", str(path), str(archive), "--results", str(undisturbed / "results")])
    monkeypatch.chdir(tmp_path)
    main(["restore", str(path), str(archive)])
    here = {"folder": tmp_path, "root": undisturbed}
    assert not MADE & set(planned(*ARGUMENTS, **here))
    cell = tmp_path / "results" / "benchmark=max" / "M=3" / "rho=50" / "seed=1"
    shutil.rmtree(cell / "train=ilp-alg1")
    jobs = planned(*ARGUMENTS, **here)
    assert jobs["train"] == jobs["adjust"] == jobs["samples"] == 1
    snakemake(*ARGUMENTS, "--", str(tmp_path / "results" / "tables" / "max.csv"), **here)
    tables = [folder / "results" / "tables" / "max.csv" for folder in (tmp_path, undisturbed)]
    assert tables[0].read_text() == tables[1].read_text()
    assert not (cell / "train=sl" / "model.pt").exists()

    # All is lost, but for what Snakemake noted of it.
    shutil.rmtree(tmp_path / "results")
    main(["restore", str(path), str(archive)])
    assert not MADE & set(planned(*ARGUMENTS, **here))


def one_cell(folder: Path, **changes: Any) -> Path:
    """One cell with three runs, one of which starts from another's model."""
    block = tiny_values(folder)["benchmarks"]["max"]
    methods = ["sl", "records", {"on": {"method": "sl", "start_from": "sl"}}]
    cells = {"benchmarks": {"max": {**block, "rho": [0], "methods": methods}}}
    return tiny(folder, **{**cells, "tables": ["max"], "studies": [], **changes})


@pytest.mark.parametrize(
    ("lost", "epochs", "trained"),
    [
        ((), 2, 0),
        ((), 3, 3),  # what was restored is of other settings by now
        (("records",), 2, 1),
        (("on",), 2, 2),  # and the model that it starts from
        (("sl",), 2, 1),
    ],
)
def test_what_is_left_is_planned_and_no_more(tmp_path: Path, lost: tuple[str, ...], epochs: int, trained: int) -> None:
    path, archive, elsewhere = one_cell(tmp_path), tmp_path / "runs.tar.xz", tmp_path / "elsewhere"
    config = read_file(path).model_copy(update={"results": elsewhere})
    for cell, method in runs(config):
        if method not in lost:
            write_whole(config, cell, method, 0.5)
    main(["pack", str(path), str(archive), "--results", str(elsewhere)])
    main(["restore", str(path), str(archive)])
    one_cell(tmp_path, training={"device": "cpu", "epochs": epochs})
    jobs = planned(*ARGUMENTS, folder=tmp_path)
    assert (jobs.get("train", 0), jobs.get("adjust", 0)) == (trained, trained)
