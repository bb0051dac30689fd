"""Before any job starts: images from outside, networks that fit them, slips of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fabricated import run_file, write_whole
from grids import tiny_values

from nslimb.data import SOURCES, load
from nslimb.errors import DataError, InvalidInput
from nslimb.experiment.cells import runs
from nslimb.experiment.commandline import check_configfiles, check_profiles
from nslimb.experiment.config import Config, read_config
from nslimb.experiment.finished import mark_restored
from nslimb.experiment.needs import SHAPES, check_images, what_can_run
from nslimb.experiment.runs.base import write_schema


def grid(folder: Path, **changes: Any) -> Config:
    values = tiny_values(folder, tables=["max", "hwf"])
    values["benchmarks"].pop("sum")
    values["benchmarks"]["hwf"] = {"source": "hwf", "network": "symbolnet", "samples": 50, "M": [3], "methods": ["sl"]}
    return read_config({**values, **changes})


def test_a_benchmark_without_its_images_is_left_out_or_refused(tmp_path: Path) -> None:
    rest, lines = what_can_run(grid(tmp_path))
    assert (list(rest.benchmarks), rest.tables) == (["max"], ("max",))
    assert lines == [
        "benchmarks.hwf: needs the real HWF symbols, and hwf_path is not set; the source hwf-embedded needs none. "
        "It is left out"
    ]
    read_config(rest.model_dump(mode="json"))  # what the jobs are given
    with pytest.raises(DataError, match=r"hwf_path, .*gone, does not exist.*leave-out runs the rest"):
        what_can_run(grid(tmp_path, hwf_path=str(tmp_path / "gone"), missing_data="refuse"))
    (tmp_path / "there").mkdir()
    everything = grid(tmp_path, hwf_path=str(tmp_path / "there"), missing_data="refuse")
    assert what_can_run(everything) == (everything, [])
    alone = grid(tmp_path)
    alone = alone.model_copy(update={"benchmarks": {"hwf": alone.benchmarks["hwf"]}, "tables": ("hwf",)})
    with pytest.raises(DataError, match="nothing else is in this grid"):
        what_can_run(alone)


def test_restored_runs_need_no_images(tmp_path: Path) -> None:
    config = grid(tmp_path)
    (run,) = [run for run in runs(config) if run[0].benchmark == "hwf"]
    folder = write_whole(config, *run, 0.5)
    described = run_file(*run)
    recipe = {**described.recipe, "source": {"spec": "hwf", "digest": None}}  # what it was trained on is recorded
    write_schema(folder / "run.yaml", described.model_copy(update={"recipe": recipe}))
    assert list(what_can_run(config)[0].benchmarks) == ["max"]
    mark_restored(folder)
    assert list(what_can_run(config)[0].benchmarks) == ["max", "hwf"]


def test_the_shapes_of_embedded_sources_are_as_listed() -> None:
    assert set(SHAPES) == set(SOURCES)
    for name in ("mnist5k", "hwf-embedded"):
        assert load(name).images.shape[1:] == SHAPES[name][1:]


@pytest.mark.parametrize(
    ("network", "message"),
    [("lenet45", "one for images of 1 x 28 x 28"), ("resnet18", "one for images of 1 x 28 x 28")],
)
def test_a_network_that_does_not_fit_its_source_is_refused(tmp_path: Path, network: str, message: str) -> None:
    values = tiny_values(tmp_path)
    check_images(read_config(values))
    values["benchmarks"]["max"]["network"] = network
    with pytest.raises(InvalidInput, match=rf"benchmarks.max.network: expected {message}"):
        check_images(read_config(values))


def test_a_network_with_too_few_logits_is_refused(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "from torch import nn\n\n\ndef make(classes):\n    return nn.Sequential(nn.Flatten(), nn.Linear(784, 3))\n"
    )
    values = tiny_values(tmp_path, base=str(tmp_path))
    values["benchmarks"]["max"]["network"] = "net.py:make"
    with pytest.raises(InvalidInput, match=r"logits \[2, 10\] .* answers two images with \[2, 3\]"):
        check_images(read_config(values))


def test_placeholders_in_a_profile(tmp_path: Path) -> None:
    profile = tmp_path / "config.yaml"
    profile.write_text("# fill in ACCOUNT\nexecutor: slurm\ndefault-resources:\n  slurm_partition: CPU_PARTITION\n")
    for arguments in (["snakemake", "--workflow-profile", str(tmp_path)], [f"--profile={tmp_path}"]):
        with pytest.raises(DataError, match="line 4: CPU_PARTITION stands for a name of your cluster"):
            check_profiles(arguments)
    profile.write_text("# fill in ACCOUNT\nexecutor: slurm\ndefault-resources:\n  slurm_partition: short\n")
    check_profiles(["snakemake", "--workflow-profile", str(tmp_path)])
    check_profiles(["snakemake", "--workflow-profile"])
    check_profiles(["snakemake", "--workflow-profile", "none"])


def test_a_target_among_the_configurations() -> None:
    check_configfiles([Path("config/quick.yaml"), Path("mine.yml")])
    for target in ("results/tables/max.md", "results/benchmark=max/M=3/rho=0/seed=1/train=sl/metrics.json"):
        with pytest.raises(InvalidInput, match="YAML files, then -- and the targets"):
            check_configfiles([Path("config/quick.yaml"), Path(target)])
