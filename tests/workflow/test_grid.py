"""A small grid from end to end: what it leaves, what it runs again, and what it does with faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from fabricated import metrics_of
from grids import RUN, command, planned, said, smaller, snakemake, surroundings, tables, tiny, tiny_values

from nslimb.experiment.figures import FIGURES
from nslimb.experiment.runs.base import write_schema

pytest.importorskip("snakemake", reason="Snakemake needs Python 3.11")
pytestmark = pytest.mark.slow


ARGUMENTS = ("--configfile", "tiny.yaml")


def own(folder: Path) -> dict[str, Path]:
    """The grid of a folder with a checkout of its own."""
    return {"folder": folder, "root": folder}


def test_it_leaves_tables_figures_and_tracked_runs(undisturbed: Path) -> None:
    results = undisturbed / "results"
    table = (results / "tables" / "max.md").read_text()
    assert "ILP(ALG1) + CAROT" in table
    assert "missing" not in table
    described = yaml.safe_load((results / RUN / "run.yaml").read_text())
    assert described["source"]["name"] == "mnist5k"
    assert described["protocol"] == "exact"
    assert described["seconds"]["training"] > 0
    assert json.loads((results / RUN / "metrics.json").read_text())["adjustments"]["none"]["accuracy"] > 0
    tracked = json.loads((results / RUN).parent.joinpath("tracked.json").read_text())["runs"]
    assert set(tracked) == {RUN, RUN.replace("sl", "ilp-alg1")}
    for form in ("png", "svg"):
        drawn = {path.stem for path in (results / "figures").glob(f"*.{form}")}
        # One M a benchmark, and another m_P than the paper's; of its curves there may be one.
        left = {"accuracy_against_arity", "against_the_paper"}
        assert drawn - left == {*FIGURES, "counterexample", "order"} - left
        assert "accuracy_against_arity" not in drawn
    page = (results / "result.html").read_text()
    assert "<th>SL</th>" in page
    assert "The linear program with the label ratios that Algorithm 1 estimates from weak labels" in page


def test_a_second_run_does_nothing_and_a_lost_file_is_made_again(undisturbed: Path) -> None:
    assert "Nothing to be done" in said(snakemake("-n", *ARGUMENTS, **own(undisturbed)))
    lost = undisturbed / "results" / RUN / "metrics.json"
    kept = lost.read_bytes()
    lost.unlink()
    jobs = planned(*ARGUMENTS, **own(undisturbed))
    snakemake(*ARGUMENTS, **own(undisturbed))
    assert jobs["adjust"] == jobs["table"] == jobs["track"] == 1
    assert not {"train", "samples", "marginals"} & set(jobs)
    again, before = json.loads(lost.read_text()), json.loads(kept)
    assert again["adjustments"] == before["adjustments"]


def test_a_clock_that_was_set_back_does_no_harm(undisturbed: Path) -> None:
    before = tables(undisturbed / "results")
    cell = undisturbed / "results" / "benchmark=sum" / "M=5" / "rho=50" / "seed=1"
    tomorrow = time.time() + 24 * 3600
    os.utime(cell / "samples.npz", (tomorrow, tomorrow))
    (cell / "train=sl" / "metrics.json").unlink()
    assert "1 files were dated in the future" in said(snakemake(*ARGUMENTS, **own(undisturbed)))
    assert "Nothing to be done" in said(snakemake("-n", *ARGUMENTS, **own(undisturbed)))
    assert tables(undisturbed / "results") == before


def test_an_edit_reruns_what_it_affects(undisturbed: Path) -> None:
    """What the table of edits in tests/experiment/test_reruns.py says of recipes, Snakemake does."""
    package = undisturbed / "src" / "nslimb"

    def after_adding(line: str, *names: str) -> set[str]:
        kept = {package / name: (package / name).read_text() for name in names}
        for path, text in kept.items():
            path.write_text(f"{text}\n{line}\n")
        try:
            return set(planned(*ARGUMENTS, **own(undisturbed)))
        finally:
            for path, text in kept.items():
                path.write_text(text)

    every = [str(path.relative_to(package)) for path in package.rglob("*.py")]
    assert after_adding("# A comment.", *every) == set()
    trained = after_adding("EDITED = True", "learning/loop.py")
    assert {"train", "adjust", "table", "figures"} <= trained
    assert not {"samples", "marginals", "fetch"} & trained
    assert not {"train", "adjust", "samples", "marginals"} & after_adding("EDITED = True", "theory/bounds.py")
    reprinted = after_adding("EDITED = True", "experiment/tables.py")
    assert {"comparison", "table"} <= reprinted <= {"all", "comparison", "figures", "front", "table", "total"}


def begun(folder: Path, root: Path, sign: str, **options: Any) -> subprocess.Popen[bytes]:
    """Snakemake in the background, once ``sign`` is among its results."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command(*ARGUMENTS, root=root), cwd=folder, env=surroundings(root), **quiet, **options)
    deadline = time.monotonic() + 3600
    while not list(folder.glob(f"results/benchmark=*/**/{sign}")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return process


def assert_same_sums(folder: Path, whole: Path) -> None:
    """The tables of SUM, and its metrics but for times, are those of the undisturbed grid."""
    mine, others = (tables(path / "results") for path in (folder, whole))
    for form in ("csv", "md", "tex"):
        assert mine[f"sum.{form}"] == others[f"sum.{form}"]
    (metrics,) = folder.glob("results/benchmark=*/**/metrics.json")
    first, second = (json.loads((path / metrics.relative_to(folder)).read_text()) for path in (folder, whole))
    for content in (first, second):
        del content["seconds"], content["sha256"]
    assert first == second


def test_a_killed_run_resumes_to_the_same_tables_and_metrics(undisturbed: Path, tmp_path: Path) -> None:
    smaller(tmp_path)
    process = begun(tmp_path, undisturbed, "checkpoint.pt", start_new_session=True)  # in the middle of a training
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    assert not (tmp_path / "results" / "tables" / "sum.csv").exists()
    snakemake(*ARGUMENTS, folder=tmp_path, root=undisturbed)
    assert_same_sums(tmp_path, undisturbed)


def test_a_scheduler_killed_alone_and_one_core_give_the_same_too(undisturbed: Path, tmp_path: Path) -> None:
    smaller(tmp_path)
    process = begun(tmp_path, undisturbed, "train=*")  # a training is under way, and lives on
    process.kill()
    process.wait(timeout=30)
    snakemake(*ARGUMENTS, "--cores", "1", folder=tmp_path, root=undisturbed)
    assert_same_sums(tmp_path, undisturbed)


def test_a_failing_cell_leaves_a_gap_and_a_reason(undisturbed: Path, tmp_path: Path) -> None:
    config = tiny_values(tmp_path, figures=["training_curves"], studies=[])
    config["benchmarks"]["max"].update(rho=[0], methods=["sl"])
    config["benchmarks"]["sum"]["training"] = {"learning_rate": 1e30}  # diverges at once
    tiny(tmp_path, **config)
    # A value of an earlier run that is still there must not stand in for the one that failed.
    results = tmp_path / "results"
    earlier = results / "benchmark=sum" / "M=5" / "rho=50" / "seed=1" / "train=sl" / "metrics.json"
    write_schema(earlier, metrics_of(0.99))
    failed = snakemake(*ARGUMENTS, check=False, folder=tmp_path, root=undisturbed)
    assert failed.returncode != 0
    assert "missing" not in (results / "tables" / "max.md").read_text()
    gap = (results / "tables" / "sum.md").read_text()
    assert "1 of 1 runs missing" in gap
    assert "| SL | missing |" in gap
    log = tmp_path / "logs" / "tiny" / "benchmark=sum" / "M=5" / "rho=50" / "seed=1" / "train=sl" / "train.log"
    assert "nslimb: training: the " in log.read_text().splitlines()[-1]
    assert "not finite in epoch 1, batch" in said(failed)
    del config["benchmarks"]["sum"]["training"]
    tiny(tmp_path, **config)
    assert planned(*ARGUMENTS, folder=tmp_path, root=undisturbed)["train"] == 1


def test_without_a_tracking_server_the_grid_still_finishes(undisturbed: Path, tmp_path: Path) -> None:
    smaller(tmp_path)
    here = {"folder": tmp_path, "root": undisturbed}
    failed = snakemake(*ARGUMENTS, check=False, **here, MLFLOW_TRACKING_URI="http://127.0.0.1:9")
    assert failed.returncode != 0
    assert "start that server or unset MLFLOW_TRACKING_URI" in said(failed)
    results = tmp_path / "results"
    assert not any("missing" in text for name, text in tables(results).items() if name.endswith(".md"))
    assert (results / "figures" / "training_curves.png").exists()
    assert set(planned(*ARGUMENTS, **here)) <= {"all", "track", "tracking_store", "total"}


def test_two_schedulers_do_not_share_a_folder(undisturbed: Path) -> None:
    (undisturbed / "results" / RUN / "metrics.json").unlink()
    begin, environment = command(*ARGUMENTS, root=undisturbed), surroundings(undisturbed)
    both = [
        subprocess.Popen(
            begin, cwd=undisturbed, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        for _ in range(2)
    ]
    output = [process.communicate(timeout=3600)[0] for process in both]
    codes = [process.returncode for process in both]
    assert sorted(codes) == [0, 1], output
    assert "another run of the workflow is at work there" in output[codes.index(1)]
    assert "Nothing to be done" in said(snakemake("-n", *ARGUMENTS, **own(undisturbed)))
