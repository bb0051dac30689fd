"""The grid through a real Slurm of one node, its profile filled in as docs/clusters.md tells; and through any other."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from grids import ROOT, RUN, planned, said, snakemake, tables, tiny
from one_node import install, one_node

pytest.importorskip("snakemake", reason="Snakemake needs Python 3.11")
pytestmark = pytest.mark.slow

# What a lab fills in, for a cluster without accounting; and no patience, since nobody else waits here.
SLURM = {
    "  slurm_account: ACCOUNT\n": "",
    "CPU_PARTITION": "cpu",
    "GPU_PARTITION": "gpu",
    "slurm-status-command: sacct": "slurm-status-command: squeue",
    "slurm-init-seconds-before-status-checks: 20": "slurm-init-seconds-before-status-checks: 2",
}
# For the stand-in below, which has no queue to count jobs.
GENERIC = {"QUEUE": "all", "jobs: 100": "jobs: 2"}

# Takes a batch system's options and a script, runs the script in the background, and answers with a number.
QSUB = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/asked"
for script; do :; done
sh "$script" > /dev/null 2>&1 < /dev/null &
echo $!
"""


def filled_in(name: str, values: dict[str, str], folder: Path) -> tuple[str, ...]:
    """Arguments for one of the profiles with a cluster's own values in it."""
    text = (ROOT / "profiles" / name / "config.yaml").read_text()
    for placeholder, value in values.items():
        assert placeholder in text
        text = text.replace(placeholder, value)
    profile = folder / "profile"
    profile.mkdir()
    (profile / "config.yaml").write_text(text)
    return "--workflow-profile", str(profile), "--cores", str(yaml.safe_load(text)["cores"])


def on_gpus(folder: Path) -> Path:
    """The tiny grid, with a GPU asked for; there is none in truth, so that training itself stays on the CPU."""
    path = tiny(folder)
    config = yaml.safe_load(path.read_text())
    config["training"]["device"] = "auto"
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
def cluster() -> Iterator[dict[str, str]]:
    """The environment of a Slurm cluster of one node, whose two GPUs are null devices."""
    pytest.importorskip("snakemake_executor_plugin_slurm", reason="the extra slurm is not installed")
    if reason := install():
        pytest.skip(reason)
    with one_node() as environment:
        yield environment


def test_a_grid_through_slurm_has_the_tables_of_a_local_one(
    cluster: dict[str, str], undisturbed: Path, tmp_path: Path
) -> None:
    store = f"sqlite:///{tmp_path}/tracked.db"
    here = {**cluster, "MLFLOW_TRACKING_URI": store}
    arguments = *filled_in("slurm", SLURM, tmp_path), "--configfile", str(on_gpus(tmp_path))
    done = snakemake(*arguments, "--slurm-logdir", str(tmp_path / "logs"), folder=tmp_path, **here)

    results = tmp_path / "results"
    assert tables(results) == tables(undisturbed / "results")
    sent = re.findall(r"has been submitted with SLURM jobid \d+ \(log: .*/logs/(\w+)/", said(done))
    assert sent.count("rule_train") == 5
    assert [name for name in sent if "samples" in name] == ["group_cell_marginals_samples"]  # all three cells in one
    assert [name for name in sent if "adjust" in name] == ["group_adjust_adjust"]
    assert not [name for name in sent if "track" in name or "table" in name]
    described = yaml.safe_load((results / RUN / "run.yaml").read_text())
    assert described["environment"]["CUDA_VISIBLE_DEVICES"] in ("0", "1")  # by Slurm
    marks = [json.loads(mark.read_text()) for mark in results.rglob("tracked.json")]
    assert [mark["store"] for mark in marks] == [store] * 3
    assert planned(*arguments, folder=tmp_path, **here) == {}


def test_a_cell_through_a_submit_command_has_them_too(undisturbed: Path, tmp_path: Path) -> None:
    pytest.importorskip("snakemake_executor_plugin_cluster_generic")
    qsub = tmp_path / "qsub"
    qsub.write_text(QSUB)
    qsub.chmod(0o755)
    commands = {**GENERIC, "  qsub ": f"  {qsub} ", "logs/pbs": str(tmp_path / "logs")}
    path = on_gpus(tmp_path)
    config = yaml.safe_load(path.read_text())
    del config["benchmarks"]["max"]
    path.write_text(yaml.safe_dump({**config, "tables": ["sum"], "studies": []}))
    snakemake(*filled_in("cluster-generic", commands, tmp_path), "--configfile", str(path), folder=tmp_path)

    alone, whole = tables(tmp_path / "results"), tables(undisturbed / "results")
    assert alone["sum.csv"] == whole["sum.csv"]
    asked = (tmp_path / "asked").read_text()
    assert asked.count("ncpus=1:ngpus=1:mem=4000mb") == 1
    assert "{" not in asked
