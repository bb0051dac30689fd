"""A small grid from end to end: what it leaves, what it runs again, and what it does with faults."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml
from fabricated import metrics_of
from grids import RUN, command, planned, said, snakemake, surroundings, tables, tiny

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
    pictures = list((results / "figures").glob("*.png"))
    assert len(pictures) == len(list((results / "figures").glob("*.svg"))) == 10


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
    assert after_adding("EDITED = True", "experiment/tables.py") == {"all", "comparison", "table", "total"}


def test_a_killed_run_resumes_to_the_same_tables(undisturbed: Path, tmp_path: Path) -> None:
    path = tiny(tmp_path)
    process = subprocess.Popen(
        command("--configfile", str(path)),
        cwd=tmp_path,
        env=surroundings(),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 3600
    while not list(tmp_path.glob("results/benchmark=*/**/checkpoint.pt")):  # in the middle of a training
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=30)
    assert not (tmp_path / "results" / "tables" / "max.csv").exists()
    snakemake("--configfile", str(path), folder=tmp_path)
    assert tables(tmp_path / "results") == tables(undisturbed / "results")


def test_a_scheduler_killed_alone_and_one_core_give_the_same_tables_and_metrics(
    undisturbed: Path, tmp_path: Path
) -> None:
    path = tiny(tmp_path)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command("--configfile", str(path)), cwd=tmp_path, env=surroundings(), **quiet)
    deadline = time.monotonic() + 3600
    while not list(tmp_path.glob("results/benchmark=*/**/train=*")):  # a training is under way, and lives on
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.wait(timeout=30)
    snakemake("--configfile", str(path), "--cores", "1", folder=tmp_path)
    assert tables(tmp_path / "results") == tables(undisturbed / "results")
    for mine in tmp_path.glob("results/benchmark=*/**/metrics.json"):
        other = undisturbed / mine.relative_to(tmp_path)
        first, second = (json.loads(file.read_text()) for file in (mine, other))
        for content in (first, second):
            del content["seconds"], content["sha256"]  # times differ
        assert first == second


def test_a_failing_cell_leaves_a_gap_and_a_reason(tmp_path: Path) -> None:
    path = tiny(tmp_path)
    config = yaml.safe_load(path.read_text())
    config["benchmarks"]["sum"]["network"] = "lenet45"  # does not take images of 28 x 28
    path.write_text(yaml.safe_dump(config))
    # A value of an earlier run that is still there must not stand in for the one that failed.
    results = tmp_path / "results"
    earlier = results / "benchmark=sum" / "M=5" / "rho=50" / "seed=1" / "train=sl" / "metrics.json"
    write_schema(earlier, metrics_of(0.99))
    failed = snakemake("--configfile", str(path), check=False, folder=tmp_path)
    assert failed.returncode != 0
    assert "missing" not in (results / "tables" / "max.md").read_text()
    gap = (results / "tables" / "sum.md").read_text()
    assert "1 of 1 runs missing" in gap
    assert "| SL | missing |" in gap
    log = tmp_path / "logs" / "tiny" / "benchmark=sum" / "M=5" / "rho=50" / "seed=1" / "train=sl" / "train.log"
    assert "nslimb: network: expected a network for images [28, 28]" in log.read_text().splitlines()[-1]
    assert "network: expected a network for images [28, 28]" in said(failed)
    config["benchmarks"]["sum"]["network"] = "lenet"
    path.write_text(yaml.safe_dump(config))
    jobs = planned("--configfile", str(path), folder=tmp_path)
    assert jobs["train"] == 1


def test_without_a_tracking_server_the_grid_still_finishes(tmp_path: Path) -> None:
    path = tiny(tmp_path)
    away = {"MLFLOW_TRACKING_URI": "http://127.0.0.1:9"}
    failed = snakemake("--configfile", str(path), check=False, folder=tmp_path, **away)
    assert failed.returncode != 0
    assert "start that server or unset MLFLOW_TRACKING_URI" in said(failed)
    results = tmp_path / "results"
    assert not any("missing" in text for name, text in tables(results).items() if name.endswith(".md"))
    assert len(list((results / "figures").glob("*.png"))) == 10
    assert set(planned("--configfile", str(path), folder=tmp_path)) <= {"all", "track", "tracking_store", "total"}


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
