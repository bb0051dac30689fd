"""The configuration files, and what is refused before any job starts."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from fabricated import write_run

from nslimb.data import SOURCES
from nslimb.errors import DataError, InvalidInput
from nslimb.experiment.benchmarks import BENCHMARKS
from nslimb.experiment.cells import Cell, cells, runs, table_names, table_runs, tables_of, timings, variant_of
from nslimb.experiment.config import Config, read_config, read_file
from nslimb.experiment.folder import claim_results
from nslimb.experiment.provenance import versions
from nslimb.experiment.recipes import train_recipe
from nslimb.experiment.targets import cell_result, cell_target
from nslimb.experiment.titles import printed_name
from nslimb.learning import Settings
from nslimb.learning.methods import METHODS
from nslimb.sigma import Sigma

ROOT = Path(__file__).resolve().parents[2]
PAPERS_METHODS = {"sl", "records", "ilp-emp", "ilp-alg1", "ilp-gold", "supervised"}
FILES = sorted((ROOT / "config").glob("*.yaml"))


def values(name: str = "quick") -> dict[str, Any]:
    return yaml.safe_load((ROOT / "config" / f"{name}.yaml").read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_configuration_file_is_valid(path: Path) -> None:
    config = read_file(path)
    assert list(runs(config))
    assert config.name == {"config": "paper"}.get(path.stem, path.stem)
    assert config.base == path.parent


def test_what_is_registered_calls_itself_by_its_name() -> None:
    """No list of names stands in a second place; the names in the paper's tables are the things' own."""
    assert {name: BENCHMARKS.get(name).name for name in BENCHMARKS} == {name: name for name in BENCHMARKS}
    printed = {name: METHODS.get(name).printed for name in METHODS}
    papers = {"sl": "SL", "records": "RECORDS", "ilp-emp": "ILP(EMP)", "ilp-alg1": "ILP(ALG1)", "ilp-gold": "ILP(GOLD)"}
    assert papers.items() <= printed.items()
    assert all(printed.values())
    assert len(set(printed.values())) == len(printed)


def test_the_papers_grid_covers_every_printed_entry() -> None:
    import pandas as pd

    config = read_config(values("config"))
    reference = pd.read_csv(ROOT / "reference" / "tables.csv", dtype=str)
    assert len(reference) == 345
    ours = {
        (table, cell.benchmark.upper(), cell.M, cell.rho, printed_name(config, cell.benchmark, method))
        for table in tables_of(config)
        for cell, method in table_runs(config, table)
    }
    printed = set(reference[["table", "benchmark", "M", "rho", "training"]].itertuples(index=False, name=None))
    assert printed <= ours
    assert len(timings(config)) * 2 == len(pd.read_csv(ROOT / "reference" / "runtimes.csv"))


def test_the_quick_grid_uses_the_papers_methods_and_embedded_data_only() -> None:
    config = read_config(values())
    assert {method for _, method in runs(config)} >= PAPERS_METHODS
    assert all(SOURCES[benchmark.source].embedded for benchmark in config.benchmarks.values())
    assert set(table_names(config)) == {"max", "max_full", "sum", "hwf", "smallest_parent", "runtime"}


def test_without_a_list_every_benchmark_has_its_tables() -> None:
    own = {key: value for key, value in values().items() if key != "tables"}
    own["benchmarks"]["lower"] = {**own["benchmarks"]["max"], "sigma": "max", "rho": [0, 7]}
    config = read_config(own)
    assert set(table_names(config)) == {"max", "max_full", "sum", "hwf", "smallest_parent", "lower"}
    assert {cell.benchmark for cell, _ in table_runs(config, "lower")} == {"lower"}
    assert {cell.rho for cell, _ in table_runs(config, "lower")} == {"0", "7"}
    assert {cell.rho for cell, _ in table_runs(config, "max")} == {"0", "50"}


def test_swept_values_stay_text() -> None:
    config = read_config({**values(), "seeds": [1, "02"]})
    assert config.seeds == ("1", "02")
    assert next(cells(config)) == Cell("max", "3", "0", "1")
    assert next(cells(config)).path == "benchmark=max/M=3/rho=0/seed=1"


def changed(*keys: str, value: Any) -> dict[str, Any]:
    config = copy.deepcopy(values())
    place = config
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    return config


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (changed("epochs", value=3), r"epochs: unknown key; the keys here are .*benchmarks, data, .*validation"),
        (
            changed("training", "epoch", value=3),
            r"training.epoch: unknown key; the keys here are augment, batch_size, compile, device, epochs",
        ),
        (
            changed("benchmarks", "max", "m", value=[3]),
            r"benchmarks.max.m: unknown key; the keys here are M, ambiguity, classes, methods",
        ),
        (
            changed("benchmarks", "min", value=values()["benchmarks"]["max"]),
            r"benchmarks.min: benchmark: expected one of max, sum, hwf, smallest_parent, addition, .*, got 'min'",
        ),
        (
            changed("benchmarks", "max", "methods", value=["sl", "adam"]),
            r"benchmarks.max: method: expected one of sl, .*supervised-decay, or your own as path/to/file.*got 'adam'",
        ),
        (changed("benchmarks", "hwf", "M", value=[4]), r"benchmarks.hwf: M: expected odd integers .*, got 4"),
        (
            changed("benchmarks", "max", "rho", value=[-5]),
            r"benchmarks.max.rho: expected 0 .* or numbers of at least 1, got -5",
        ),
        (changed("benchmarks", "max", "rho", value=[5, 5.0]), r"expected distinct values, got 5 twice"),
        (changed("seeds", value=[1, 1]), r"seeds: expected distinct values, got 1 twice"),
        (changed("seeds", value=[-1]), r"seeds: expected integers of at least 0, got -1"),
        (changed("seeds", value=[]), r"seeds: .*at least 1"),
        (changed("training", "epochs", value=0), r"training.epochs: .*greater than or equal to 1, got 0"),
        (changed("protocol", value="fast"), r"protocol: Input should be 'paper' or 'exact', got 'fast'"),
        (changed("tables", value=["min"]), r"tables: expected one of max, max_full, sum, .*got 'min'"),
    ],
)
def test_bad_configurations_are_refused_with_the_place(config: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=rf"(?s){message}"):
        read_config(config)


def settings_of(config: Config, benchmark: str, method: str) -> dict[str, Any]:
    return config.method_settings(benchmark, variant_of(config, benchmark, method))


def test_protocols_differ_in_proofs_and_loss() -> None:
    paper, exact = read_config(values("config")), read_config(values("exact"))
    assert settings_of(paper, "max", "ilp-alg1")["proofs"] == 1
    assert settings_of(paper, "smallest_parent", "ilp-alg1")["proofs"] is None
    assert settings_of(paper, "max", "sl")["form"] == "bce"
    assert settings_of(paper, "max", "ilp-alg1")["encoding"] == "paper"
    assert settings_of(paper, "max", "ilp-emp")["pre_epochs"] == 20
    assert settings_of(exact, "max", "ilp-emp") == {
        **settings_of(exact, "hwf", "ilp-emp"),
        "proofs": None,
        "form": "nll",
        "encoding": "hull",
    }


def sigma_of(config: Config, benchmark: str, arity: int) -> Sigma:
    return config.benchmarks[benchmark].problem(benchmark).build(arity, config.base)


def test_sigmas_of_the_grid() -> None:
    config = read_config(values())
    assert sigma_of(config, "max", 3).name == "maximum"
    assert sigma_of(config, "hwf", 3).options == {"precedence": False}
    digits = sigma_of(config, "smallest_parent", 2)
    assert digits.class_names == tuple("0123456789")
    assert digits.weak_labels[digits.apply([7, 8])] == "many"
    assert sigma_of(read_config(values("config")), "smallest_parent", 2).num_classes == 10
    first = read_config(changed("benchmarks", "hwf", "sigma", value={"hwf": {"precedence": True}}))
    assert sigma_of(first, "hwf", 3).options == {"precedence": True}


def test_precision_and_compilation_reach_the_training() -> None:
    given = {**values()["training"], "mixed_precision": True, "compile": True}
    for config, wanted in ((read_config(values()), False), (read_config({**values(), "training": given}), True)):
        training = train_recipe(config, Cell("max", "3", "0", "1"), "sl")["training"]
        settings = Settings(**training)
        assert (settings.mixed_precision, settings.compile) == (wanted, wanted)


def test_a_cell_may_have_another_tail_but_must_make_sense() -> None:
    config = read_config(values())
    for rho, seed in (("50", "1"), ("7", "12")):
        found = cell_target(config, Cell("sum", "5", rho, seed))
        assert found == f"results/quick/benchmark=sum/M=5/rho={rho}/seed={seed}/tracked.json"
    for cell, message in (
        (Cell("hwf", "4", "0", "1"), "M: expected odd"),
        (Cell("max", "3", "0.5", "1"), "rho: expected 0 .* or a number of at least 1"),
        (Cell("max", "3", "x", "1"), "rho: expected a number, got 'x'"),
        (Cell("min", "3", "0", "1"), "benchmark: expected"),
    ):
        with pytest.raises(InvalidInput, match=message):
            cell_target(config, cell)


def test_a_cell_is_told_beside_the_papers_numbers(tmp_path: Path) -> None:
    config = read_config({**values(), "results": str(tmp_path)})
    for method in ("sl", "recipe"):
        write_run(config, Cell("max", "3", "0", "1"), method, 0.75)
    printed = cell_result(config, Cell("max", "3", "0", "1"))
    assert printed.startswith("MAX-3 rho=0, seed 1, protocol exact, mnist5k: per cent")
    assert "| SL | 75.0 | 75.0 | 75.0 | 84.2 | 11.9 |" in printed
    assert "| recipe + CAROT | 77.0 | 77.0 | 77.0 | - | - |" in printed
    assert "| supervised (oracle) | - | - | - | - | - |" in printed  # not there yet
    assert "75.00" in (tmp_path / "tables" / "max.md").read_text()


def test_a_results_folder_belongs_to_one_grid(tmp_path: Path) -> None:
    quick = read_config({**values(), "results": str(tmp_path / "results")})
    claim_results(quick)
    claim_results(quick)
    with pytest.raises(
        DataError, match=r"holds the results of the grid .*quick.* this one is .*paper.*--config results="
    ):
        claim_results(read_config({**values("config"), "results": str(tmp_path / "results")}))
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        claim_results(read_config({**values(), "results": str(tmp_path / "file" / "results")}))


def test_versions_are_recorded() -> None:
    assert json.loads(json.dumps(versions()))["torch"].startswith("2.")
