"""What would be run, and what is refused before anything is."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from grids import ROOT, planned, said, snakemake, tiny

pytest.importorskip("snakemake", reason="Snakemake needs Python 3.11")


def test_the_papers_grid_is_planned(tmp_path: Path) -> None:
    symbols = tmp_path / "symbols.npz"
    symbols.write_bytes(b"not opened before it is needed")
    jobs = planned("--config", f"results={tmp_path}/results", f"hwf_path={symbols}")
    # Ten seeds, and three of the one cell and method of the first figure.
    runs, cells = 10 * (12 * 4 + 6 * 2 + 3 * 3 + 4 * 4) + 3, 10 * (12 + 6 + 3 + 4) + 3
    assert jobs["train"] == jobs["adjust"] == runs
    assert jobs["samples"] == jobs["marginals"] == jobs["track"] == cells
    assert jobs["timing"] == 12
    assert (jobs["table"], jobs["figures"]) == (5, 1)


def test_without_the_symbols_the_rest_of_the_papers_grid_is_planned_or_nothing(tmp_path: Path) -> None:
    done = snakemake("-n", "--quiet", "rules", "--config", f"results={tmp_path}/results")
    assert "benchmarks.hwf: needs the real HWF symbols, and hwf_path is not set" in said(done)
    assert "It is left out" in said(done)
    counts = [line.split() for line in said(done).splitlines()]
    assert ["train", str(10 * (12 * 4 + 6 * 2 + 4 * 4) + 3)] in counts
    refused = snakemake("-n", "--config", f"results={tmp_path}/results", "missing_data=refuse", check=False)
    assert refused.returncode != 0
    assert "missing_data: leave-out runs the rest" in said(refused)
    assert not (tmp_path / "results").exists()  # a dry run writes nothing


def test_make_hides_no_errors() -> None:
    assert "--quiet all" not in (ROOT / "Makefile").read_text()


def test_placeholders_in_a_profile_are_found_before_any_job(tmp_path: Path) -> None:
    done = snakemake("-n", "--workflow-profile", "profiles/slurm", "--config", f"results={tmp_path}", check=False)
    assert done.returncode != 0
    assert "ACCOUNT stands for a name of your cluster" in said(done)


@pytest.mark.parametrize("name", [path.stem for path in (ROOT / "config").glob("*.yaml") if path.stem != "config"])
def test_every_configuration_can_be_planned(tmp_path: Path, name: str) -> None:
    jobs = planned("--configfile", f"config/{name}.yaml", "--config", f"results={tmp_path}", "hwf_path=pyproject.toml")
    config = yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text())
    blocks = config["benchmarks"].values()
    seeds = [len(block.get("seeds", config["seeds"])) for block in blocks]
    cells = [len(block["M"]) * len(block.get("rho", [0])) for block in blocks]
    assert jobs["track"] == sum(number * each for number, each in zip(seeds, cells, strict=True))


def test_a_configuration_of_ones_own_stands_for_itself(tmp_path: Path) -> None:
    jobs = planned("--configfile", str(tiny(tmp_path)), folder=tmp_path)
    assert (jobs["samples"], jobs["train"]) == (3, 5)


def test_an_override_reaches_into_a_block(tmp_path: Path) -> None:
    path = str(tiny(tmp_path))
    refused = snakemake("-n", "--configfile", path, "--config", "training={epochs: 0}", check=False, folder=tmp_path)
    assert "training.epochs: Input should be greater than or equal to 1, got '0'" in said(refused)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--config", "epochs=3"], "epochs: unknown key; the keys here are"),
        (["--config", "protocol=fast"], "protocol: Input should be 'paper' or 'exact'"),
        (["--config", "seeds=[1,1]"], "seeds: expected distinct values, got 1 twice"),
    ],
)
def test_bad_configurations_stop_before_any_job(tmp_path: Path, change: list[str], message: str) -> None:
    done = snakemake("-n", *change, f"results={tmp_path}", check=False)
    assert done.returncode != 0
    assert message in said(done)
    assert list(tmp_path.iterdir()) == []
