"""Requests to a cluster cover what was measured, and grow with what makes a job longer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from nslimb.experiment.cells import runs
from nslimb.experiment.config import Config, read_config
from nslimb.experiment.demands import COSTS, adjust_demand, train_demand
from nslimb.experiment.names import NETWORKS

CONFIGS = Path(__file__).resolve().parents[2] / "config"


def config_of(name: str, **training: Any) -> Config:
    values = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
    values["training"].update(training)
    return read_config(values)


def test_every_network_has_a_cost() -> None:
    assert set(COSTS) == set(NETWORKS)


@pytest.mark.parametrize("name", ["config", "exact", "cpu", "quick"])
def test_every_run_of_every_grid_has_a_request_within_a_day(name: str) -> None:
    config = config_of(name)
    for cell, method in runs(config):
        train = train_demand(config, cell.benchmark, cell.M, method)
        adjust = adjust_demand(config, cell.benchmark, cell.M)
        peak = COSTS[config.benchmarks[cell.benchmark].network].peak_mb
        assert train.mem_mb > peak
        assert adjust.mem_mb > peak
        assert 5 < train.runtime <= 24 * 60
        assert 5 < adjust.runtime < 60


# The longest job of each benchmark in the quick grid on two busy cores (benchmarks/**/*.tsv).
@pytest.mark.parametrize(
    ("benchmark", "arity", "method", "seconds", "megabytes"),
    [
        ("max", "3", "ilp-emp", 183, 422),
        ("sum", "5", "ilp-alg1", 67, 392),
        ("hwf", "3", "ilp-emp", 192, 495),
        ("smallest_parent", "2", "ilp-alg1", 51, 389),
    ],
)
def test_measured_jobs_fit_with_room(benchmark: str, arity: str, method: str, seconds: int, megabytes: int) -> None:
    asked = train_demand(config_of("quick"), benchmark, arity, method)
    assert asked.runtime * 60 > 3 * seconds
    assert asked.mem_mb > 1.5 * megabytes


def test_requests_grow_with_epochs_arity_method_and_attempt() -> None:
    config = config_of("config", device="cpu")
    short = train_demand(config, "sum", "5", "sl")
    assert train_demand(config_of("config", device="cpu", epochs=200), "sum", "5", "sl").runtime > short.runtime
    assert train_demand(config, "sum", "7", "sl").runtime > short.runtime
    assert train_demand(config, "sum", "5", "ilp-alg1").runtime > short.runtime
    assert train_demand(config, "max", "3", "ilp-emp").runtime > train_demand(config, "max", "3", "ilp-alg1").runtime
    again = train_demand(config, "sum", "5", "sl", attempt=2)
    assert again == (2 * short.mem_mb, 2 * short.runtime)
    assert train_demand(config, "smallest_parent", "2", "sl").runtime == 24 * 60  # a day, then from the checkpoint
    assert train_demand(config_of("config"), "smallest_parent", "2", "sl").runtime < 24 * 60  # with a GPU
