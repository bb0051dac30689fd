"""The protocols `paper` and `exact` differ in what config/README.md says, and in nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from test_config import values

from nslimb.experiment.cells import Cell
from nslimb.experiment.config import Config, read_config
from nslimb.experiment.recipes import adjust_recipe, marginals_recipe, samples_recipe, train_recipe


def both(**changes: Any) -> tuple[Config, Config]:
    given = {**values("exact"), "hwf_path": None, **changes}
    return read_config({**given, "protocol": "paper"}), read_config({**given, "protocol": "exact"})


def differences(first: Any, second: Any, place: str = "") -> dict[str, tuple[Any, Any]]:
    if isinstance(first, dict) and isinstance(second, dict):
        found = {}
        for key in first.keys() | second.keys():
            found |= differences(first.get(key), second.get(key), f"{place}.{key}" if place else str(key))
        return found
    return {} if first == second else {place: (first, second)}


CELLS = {
    "max": Cell("max", "3", "50", "1"),
    "sum": Cell("sum", "5", "50", "1"),
    "smallest_parent": Cell("smallest_parent", "2", "5", "1"),
    "hwf": Cell("hwf", "3", "15", "1"),
}
SETTINGS = {
    "max": {"proofs": (1, None), "form": ("bce", "nll")},
    "sum": {"proofs": (1, None), "form": ("bce", "nll")},
    "hwf": {"proofs": (1, None), "form": ("bce", "nll")},
    "smallest_parent": {},
}


@pytest.mark.parametrize("benchmark", CELLS)
def test_training_differs_in_proofs_loss_encoding_and_start(benchmark: str) -> None:
    paper, exact = both()
    cell = CELLS[benchmark]
    expected = {f"method.settings.{key}": value for key, value in SETTINGS[benchmark].items()}
    found = differences(train_recipe(paper, cell, "sl"), train_recipe(exact, cell, "sl"))
    assert found == {"protocol": ("paper", "exact"), **expected}
    program = "ilp-gold" if benchmark == "hwf" else "ilp-alg1"
    started = {"start_from": ("sl", None)} if benchmark in ("max", "sum") else {}
    found = differences(train_recipe(paper, cell, program), train_recipe(exact, cell, program))
    encoding = {"method.settings.encoding": ("paper", "hull")}
    assert found == {"protocol": ("paper", "exact"), **expected, **encoding, **started}


def test_samples_differ_in_where_the_validation_comes_from() -> None:
    paper, exact = both()
    found = differences(samples_recipe(paper, CELLS["max"]), samples_recipe(exact, CELLS["max"]))
    assert found == {"validation_from": ("drawn", "held-out")}
    split = paper.model_copy(update={"validation_from": "split"})
    found = differences(samples_recipe(paper, CELLS["max"]), samples_recipe(split, CELLS["max"]))
    assert found == {"validation_from": ("drawn", "split")}


@pytest.mark.parametrize(("benchmark", "steps"), [("max", 10_000), ("sum", 10_000), ("smallest_parent", 5_000)])
def test_algorithm_1_is_adam_or_the_most_even_ratios(benchmark: str, steps: int) -> None:
    paper, exact = both()
    assert marginals_recipe(paper, CELLS[benchmark])["estimator"] == {"solver": "adam", "steps": steps}
    assert marginals_recipe(exact, CELLS[benchmark])["estimator"] == {"solver": "newton", "regularise": "entropy"}


@pytest.mark.parametrize(
    ("cell", "batches"),
    [
        (Cell("max", "3", "0", "1"), (256, 1024)),
        (Cell("max", "3", "50", "1"), (32, 128)),
        (Cell("sum", "5", "50", "1"), (32, 128)),
        (Cell("smallest_parent", "2", "0", "1"), (256, 1024)),
    ],
)
def test_adjustments_are_chosen_and_applied_as_the_protocol_says(cell: Cell, batches: tuple[int, int]) -> None:
    paper, exact = both()
    first, second = adjust_recipe(paper, cell, "sl"), adjust_recipe(exact, cell, "sl")
    assert first["choice"] == {"rule": "paper", "batch": batches[0], "test_batch": batches[1]}
    assert second["choice"] == {"rule": "least-change"}
    changed = set(differences(first, second))
    assert {"choice.rule", "choice.batch", "choice.test_batch", "samples", "marginals"} <= changed
    assert {key.split(".")[0] for key in changed} <= {
        "choice",
        "samples",
        "marginals",
        "protocol",
        "method",
        "start_from",
    }


def test_a_start_is_turned_off_by_a_word() -> None:
    benchmarks = values("exact")["benchmarks"]
    block = {**benchmarks["max"], "methods": ["sl", {"ilp-alg1": {"method": "ilp-alg1", "start_from": "none"}}]}
    paper, _ = both(benchmarks={"max": block}, tables=["max"])
    assert train_recipe(paper, CELLS["max"], "ilp-alg1")["start_from"] is None
