"""The grid through a real Slurm: one node on loopback, the profile filled in as docs/clusters.md tells a lab to."""

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
pytest.importorskip("snakemake_executor_plugin_slurm", reason="the extra slurm is not installed")
pytestmark = pytest.mark.slow

# What a lab fills in, for a cluster without accounting; and no patience, since nobody else waits here.
FILLED_IN = {
    "  slurm_account: ACCOUNT\n": "",
    "CPU_PARTITION": "cpu",
    "GPU_PARTITION": "gpu",
    "slurm-status-command: sacct": "slurm-status-command: squeue",
    "slurm-init-seconds-before-status-checks: 20": "slurm-init-seconds-before-status-checks: 2",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[dict[str, str]]:
    """The environment of a cluster of one node."""
    if reason := install():
        pytest.skip(reason)
    with one_node() as environment:
        yield environment


def filled_in(folder: Path) -> Path:
    """The profile of this cluster."""
    text = (ROOT / "profiles" / "slurm" / "config.yaml").read_text()
    for placeholder, value in FILLED_IN.items():
        assert placeholder in text
        text = text.replace(placeholder, value)
    profile = folder / "profile"
    profile.mkdir()
    (profile / "config.yaml").write_text(text)
    return profile


def on_gpus(folder: Path) -> Path:
    """The tiny grid, with a GPU asked for: the node's are null devices, so that training itself stays on the CPU."""
    path = tiny(folder)
    config = yaml.safe_load(path.read_text())
    config["training"]["device"] = "auto"
    path.write_text(yaml.safe_dump(config))
    return path


def test_a_grid_through_slurm_has_the_tables_of_a_local_one(cluster: dict[str, str], tmp_path: Path) -> None:
    snakemake("--configfile", str(tiny(tmp_path / "local")))
    folder, store = tmp_path / "slurm", f"sqlite:///{tmp_path}/tracked.db"
    here = {**cluster, "MLFLOW_TRACKING_URI": store}
    profile = "--workflow-profile", str(filled_in(tmp_path)), "--cores", "1"  # as in the profile
    arguments = *profile, "--configfile", str(on_gpus(folder))
    done = snakemake(*arguments, "--slurm-logdir", str(tmp_path / "logs"), **here)

    assert tables(folder / "results") == tables(tmp_path / "local" / "results")
    # One job for the samples and marginals of all three cells, five trainings, one for all adjustments, the figures.
    assert len(re.findall("has been submitted with SLURM jobid", said(done))) == 8
    described = yaml.safe_load((folder / "results" / RUN / "run.yaml").read_text())
    assert described["environment"]["CUDA_VISIBLE_DEVICES"] in ("0", "1")
    marks = list((folder / "results").rglob("tracked.json"))
    assert [json.loads(mark.read_text())["store"] for mark in marks] == [store] * 3
    assert planned(*arguments, **here) == {}
