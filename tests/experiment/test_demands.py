"""Requests to a cluster: what the costs of a job add up to, with room, growing with what makes a job longer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from nslimb.experiment.cells import runs
from nslimb.experiment.config import Config, read_config
from nslimb.experiment.demands import COSTS, adjust_demand, train_demand, training_seconds
from nslimb.learning.methods import METHODS
from nslimb.networks import NETWORKS

CONFIGS = Path(__file__).resolve().parents[2] / "config"


def config_of(name: str, **training: Any) -> Config:
    values = yaml.safe_load((CONFIGS / f"{name}.yaml").read_text())
    values["training"].update(training)
    return read_config(values, CONFIGS)


def test_every_network_has_a_cost() -> None:
    assert set(COSTS) == set(NETWORKS)


@pytest.mark.parametrize("name", [path.stem for path in CONFIGS.glob("*.yaml")])
def test_every_run_of_every_grid_has_a_request_within_a_day(name: str) -> None:
    config = config_of(name)
    for cell, method in runs(config):
        train = train_demand(config, cell.benchmark, cell.M, method)
        adjust = adjust_demand(config, cell.benchmark, cell.M)
        network = config.benchmarks[cell.benchmark].network
        peak = max(COSTS[name].peak_mb for name in ([network] if isinstance(network, str) else network.values()))
        assert train.mem_mb > peak
        assert adjust.mem_mb > peak
        assert 5 < train.runtime <= 24 * 60
        assert 5 < adjust.runtime < 60


# Milliseconds of LeNet an image (training, evaluation) and of the program a label, as `demands` has them.
LENET, PROGRAM = (0.08, 0.04), 0.1


@pytest.mark.parametrize(
    ("benchmark", "arity", "method", "epochs", "labels", "in_program"),
    [
        ("max", "3", "sl", 32, 1500 * 3, 0),
        ("max", "3", "ilp-emp", 32 + 4, 1500 * 3, 1500 * 3),  # the pre-estimation counts
        ("sum", "5", "ilp-alg1", 32, 800 * 5, 800 * 5),
    ],
)
def test_a_request_is_the_sum_of_its_parts_with_room(
    benchmark: str, arity: str, method: str, epochs: int, labels: int, in_program: int
) -> None:
    """Every epoch trains on all labels and evaluates 10,000 test images and the 256 validation tuples at most."""
    config = config_of("quick")
    evaluated = 10_000 + 256 * int(arity)
    network = epochs * (labels * LENET[0] + evaluated * LENET[1]) / 1000
    program = epochs * in_program * PROGRAM / 1000
    assert training_seconds(config, benchmark, arity, method, gpu=False) == pytest.approx((network, program))
    asked = train_demand(config, benchmark, arity, method)
    assert 60 * asked.runtime >= 4 * (network + program)  # a core may be slower than the one that was measured
    assert 60 * asked.runtime <= 4 * (network + program) + 6 * 60  # the start, and a minute of rounding
    assert asked.mem_mb >= 1.5 * COSTS["lenet"].peak_mb


def test_looking_at_the_test_set_less_often_is_cheaper() -> None:
    always, seldom = (config_of("quick", look_every=every) for every in (1, 4))
    first, second = (training_seconds(config, "max", "3", "sl", gpu=False)[0] for config in (always, seldom))
    assert first - second == pytest.approx(32 * 10_000 * (1 - 1 / 4) * LENET[1] / 1000)


def test_costs_are_found_again_from_the_seconds_of_runs() -> None:
    """Seconds that were made from known costs give these costs back."""
    sys.path.insert(0, str(CONFIGS.parent / "benchmarks"))
    try:
        from costs import KEYS, by_method, by_network, measured, planned
    finally:
        sys.path.pop(0)
    plan = planned(config_of("cpu_paper"))
    beside = plan["kind"].map({"sl": 0.0, "records": 0.05}).fillna(0.3)
    seconds = (plan["labels"] * (0.12 + beside) + plan["looked_at"] * 0.03) / 1000
    published = plan[KEYS].assign(adjustment="none", seconds=seconds)
    frame = measured(published, plan)
    assert len(frame) == len(plan)
    networks = by_network(frame).set_index("network")
    assert networks.loc["lenet", ["training", "evaluation"]].to_list() == pytest.approx([0.12, 0.03])
    found = by_method(frame[frame["network"] == "lenet"], networks.reset_index())
    assert found.loc["records", "median"] == pytest.approx(0.05)
    assert found.loc["ilp-emp", "largest"] == pytest.approx(0.3)


def test_the_costs_that_are_kept_are_those_of_all_published_runs() -> None:
    docs = CONFIGS.parent / "docs"
    costs, runs = (pd.read_csv(docs / name) for name in ("costs.csv", "results/runs.csv"))
    runs = runs[runs["adjustment"] == "none"]
    assert costs["runs"].sum() == len(runs)
    taken, foretold = ((costs[key] * costs["runs"]).sum() / 3600 for key in ("seconds", "foretold"))
    assert taken == pytest.approx(runs["seconds"].sum() / 3600, abs=0.01)
    told = f"of the {len(runs)} runs of these grids {foretold:.1f} hours are foretold and {taken:.1f} were taken"
    assert told in " ".join((docs / "scale.md").read_text().split())


def test_one_proof_a_sample_leaves_no_program_to_solve() -> None:
    config = config_of("cpu_paper")
    assert training_seconds(config, "max", "3", "ilp-alg1", gpu=False)[1] == 0
    three = training_seconds(config, "choice", "3", "ilp-three", gpu=False)[1]
    assert three == pytest.approx(50 * 3000 * 3 * PROGRAM / 1000)


def test_a_gpu_shortens_the_network_and_not_the_program() -> None:
    config = config_of("quick")
    on_core = training_seconds(config, "sum", "5", "ilp-alg1", gpu=False)
    on_gpu = training_seconds(config, "sum", "5", "ilp-alg1", gpu=True)
    assert on_gpu[0] < on_core[0]
    assert on_gpu[1] == on_core[1]


def test_a_network_or_a_method_of_ones_own_has_a_request_too(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from nslimb.learning import Method\n"
        "from nslimb.networks import lenet as net\n"
        "class Mine(Method):\n    milliseconds_per_label = 7.0\n"
    )
    values = yaml.safe_load((CONFIGS / "quick.yaml").read_text())
    values["benchmarks"]["max"].update(network="mine.py:net", methods=["sl", "mine.py:Mine"])
    config = read_config(values, tmp_path)
    plain, slow = (train_demand(config, "max", "3", name) for name in ("sl", "Mine"))
    assert slow.runtime > plain.runtime
    assert slow.mem_mb == plain.mem_mb > 0
    assert METHODS.get("sl").milliseconds_per_label == 0


def test_requests_grow_with_epochs_arity_method_and_attempt() -> None:
    config = config_of("config", device="cpu")
    short = train_demand(config, "sum", "5", "sl")
    assert train_demand(config_of("config", device="cpu", epochs=200), "sum", "5", "sl").runtime > short.runtime
    assert train_demand(config, "sum", "7", "sl").runtime > short.runtime
    plain, program = (train_demand(config_of("quick", epochs=300), "sum", "5", name) for name in ("sl", "ilp-alg1"))
    assert program.runtime > plain.runtime
    assert train_demand(config, "max", "3", "ilp-emp").runtime > train_demand(config, "max", "3", "ilp-alg1").runtime
    again = train_demand(config, "sum", "5", "sl", attempt=2)
    assert again == (2 * short.mem_mb, 2 * short.runtime)
    assert train_demand(config, "smallest_parent", "2", "sl").runtime == 24 * 60  # a day, then from the checkpoint
    assert train_demand(config_of("config"), "smallest_parent", "2", "sl").runtime < 24 * 60  # with a GPU


def test_several_starts_and_several_networks_take_as_many_times_as_long() -> None:
    config = config_of("shortcuts")
    once, twice = (training_seconds(config, "half", "2", method, gpu=False)[0] for method in ("sl", "transport"))
    assert twice == pytest.approx(2 * once)
    formulas = config_of("spaces")
    one, two = (training_seconds(formulas, name, "3", "sl", gpu=False)[0] for name in ("hwf", "hwf_two"))
    assert two == pytest.approx(2 * one)
