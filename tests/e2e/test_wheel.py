"""What users install: the wheel and the source distribution, with the workflow inside, tried from an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import fruit
import pytest
from grids import ROOT, smaller

pytest.importorskip("snakemake", reason="Snakemake needs Python 3.11")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")
WORKFLOW = ("Snakefile", "environment.yml", "workflow", "profiles", "reference", "config")


def call(*command: str, folder: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, made from a checkout by pip and unpacked where no checkout is; dependencies are this Python's."""
    folder = tmp_path_factory.mktemp("wheel")
    call(*PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT), folder=folder)
    call(*PIP, "install", "--quiet", "--no-deps", "--target", "site", str(wheel_of(folder)), folder=folder)
    return folder


def wheel_of(folder: Path) -> Path:
    [wheel] = folder.glob("nslimb-*.whl")
    return wheel


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def tracked(folder: str) -> set[str]:
    """The files of a folder or file of the checkout that belong to it."""
    path = ROOT / folder
    found = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {str(file.relative_to(ROOT)) for file in found if "__pycache__" not in file.parts}


def test_the_wheel_holds_the_workflow_and_nothing_foreign(installed: Path) -> None:
    inside = names_in(wheel_of(installed))
    for name in WORKFLOW:
        assert {f"nslimb/workflow_files/{file}" for file in tracked(name)} <= inside
    assert {name.split("/")[0].split("-")[0] for name in inside} == {"nslimb"}


def nslimb(installed: Path, folder: Path, *arguments: str) -> str:
    """The installed command, in a folder that is no checkout."""
    program = (
        "import nslimb, sys; assert 'site' in nslimb.__file__; from nslimb.cli import app; app(prog_name='nslimb')"
    )
    return call(sys.executable, "-c", program, *arguments, folder=folder, PYTHONPATH=str(installed / "site"))


def test_the_installed_package_trains_and_predicts(installed: Path, tmp_path: Path) -> None:
    fruit.draw(tmp_path, 60)
    said = nslimb(installed, tmp_path, "doctor")
    assert str(installed / "site" / "nslimb" / "workflow_files") in said
    nslimb(installed, tmp_path, *fruit.TRAIN, "--size", "16", "--epochs", "2")
    (tmp_path / "rules.py").unlink()
    nslimb(installed, tmp_path, "predict", "model", "photos", "--out", "p.csv")
    assert len(fruit.read(tmp_path / "p.csv")) == 60


def test_the_installed_package_runs_a_grid(installed: Path, tmp_path: Path) -> None:
    """As far as the samples: the jobs behind them are those of every other test of the workflow."""
    nslimb(installed, tmp_path, "grid", str(smaller(tmp_path)), "--cores", "2", "--until", "samples")
    [samples] = (tmp_path / "results").rglob("samples.npz")
    assert "benchmark=sum" in samples.parts


def test_the_source_distribution_makes_the_same_wheel(installed: Path, tmp_path: Path) -> None:
    call(*PIP, "install", "--quiet", "--target", "tool", "hatchling", folder=tmp_path)
    hatchling = (sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path))
    call(*hatchling, folder=ROOT, PYTHONPATH=str(tmp_path / "tool"))
    [source] = tmp_path.glob("nslimb-*.tar.gz")
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert inside > {"Snakefile", "Makefile", "config/quick.yaml", "reference/tables.csv", "tests/test_readme.py"}
    call(*PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(tmp_path), str(source), folder=tmp_path)
    assert names_in(wheel_of(tmp_path)) == names_in(wheel_of(installed))
