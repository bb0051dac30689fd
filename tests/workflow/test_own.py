"""A problem, a network, methods, an adjustment, a metric, a figure and a study of one's own, all from outside."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import yaml
from grids import ROOT, planned, snakemake

pytest.importorskip("snakemake", reason="Snakemake needs Python 3.11")

pytestmark = pytest.mark.xdist_group("own")  # they share a grid
EXAMPLE = ROOT / "examples" / "own_problem"
GRID = ("--configfile", "mine.yaml")
CELL = "results/benchmark=shapes/M=3/rho=0/seed=1"

MINE = '''
"""Everything of one's own, in one file outside the package."""
import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch
from torch import nn

from nslimb.adjustment import Adjustment
from nslimb.experiment.cells import runs
from nslimb.experiment.gather import gather
from nslimb.experiment.studies import Study
from nslimb.learning.methods.base import WeakMethod, WeakSettings
from nslimb.learning.methods.sl import semantic_losses
from nslimb.plotting import styled, subplots


def network(num_classes):
    """No Classifier: a plain module."""
    layers = nn.Sequential(nn.Conv2d(1, 4, 5, stride=2), nn.ReLU(), nn.Flatten())
    return nn.Sequential(layers, nn.Linear(4 * 12 * 12, num_classes))


@dataclass(frozen=True)
class Settings(WeakSettings):
    strength: float = 0.1


class Sharpened(WeakMethod):
    printed = "sharpened SL"
    Settings = Settings

    def sample_losses(self, batch):
        scores = batch.logits.log_softmax(-1)
        entropy = -(scores.exp() * scores).sum(dim=-1).mean(dim=-1)
        return semantic_losses(self, batch) + self.settings.strength * entropy


class Temper(Adjustment):
    name, printed = "Temper", "tempered"

    def grid(self):
        return [{"power": 0.5}, {"power": 2.0}]

    def apply(self, log_scores, ratios, settings):
        powers = torch.tensor([setting["power"] for setting in settings])
        return (powers[:, None, None] * log_scores).log_softmax(-1)


def confidence(probabilities, labels):
    return float(probabilities.max(axis=1).mean())


@styled
def draw_mine(runs):
    seen = {f"{run.method} {run.printed}": list(run.adjustments.values()) for run in runs}
    (Path(__file__).parent / "seen.json").write_text(json.dumps(seen))
    figure, ((axis,),) = subplots()
    axis.bar(range(len(runs)), [run.done.adjustments["none"]["confidence"] for run in runs])
    return figure


def compute(config):
    found = gather(config, runs(config))
    return pd.DataFrame({"method": run.method, "accuracy": run.done.adjustments["none"]["accuracy"]} for run in found)


@styled
def draw_study(frame):
    figure, ((axis,),) = subplots()
    axis.plot(frame["accuracy"])
    return figure


MY_STUDY = Study(compute, draw_study, lambda config: list(runs(config)))
'''

METHODS: list[Any] = [
    "sl",
    {"still": {"method": "sl", "learning_rate": 1e-9, "epochs": 1, "start_from": "sl"}},
    "mine.py:Sharpened",
    {"sharper": {"method": "mine.py:Sharpened", "strength": 5.0, "epochs": 3}},
]


def configure(folder: Path, methods: list[Any], **changes: Any) -> None:
    """The example's configuration with things of one's own in it."""
    config = yaml.safe_load((EXAMPLE / "grid.yaml").read_text())
    config["training"]["epochs"] = 2
    config["benchmarks"]["shapes"].update(samples=200, rho=[0], network="mine.py:network", methods=methods, **changes)
    config.update(
        adjustments=["la", "mine.py:Temper"],
        metrics=["mine.py:confidence"],
        figures=["accuracy_by_method", "mine.py:draw_mine"],
        studies=["mine.py:MY_STUDY"],
    )
    (folder / "mine.yaml").write_text(yaml.safe_dump(config))


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The user's folder: her rule, her images, her code."""
    folder = tmp_path_factory.mktemp("own")
    for name in ("rules.py", "draw.py", "grid.yaml"):
        shutil.copy(EXAMPLE / name, folder)
    subprocess.run([sys.executable, "draw.py"], cwd=folder, check=True, capture_output=True)
    (folder / "mine.py").write_text(MINE)
    configure(folder, METHODS)
    return folder


def test_the_example_as_it_stands_can_be_planned(prepared: Path) -> None:
    jobs = planned("--configfile", "grid.yaml", folder=prepared)
    assert (jobs["samples"], jobs["train"], jobs["adjust"], jobs["table"]) == (2, 8, 8, 1)
    assert len((EXAMPLE / "grid.yaml").read_text().splitlines()) <= 26


def test_images_that_do_not_fit_stop_everything_before_any_job(prepared: Path) -> None:
    wrong = yaml.safe_load((prepared / "grid.yaml").read_text())
    wrong["results"] = "never"
    wrong["benchmarks"]["shapes"]["classes"] = 5
    (prepared / "wrong.yaml").write_text(yaml.safe_dump(wrong))
    done = snakemake("--configfile", "wrong.yaml", folder=prepared, check=False)
    assert done.returncode != 0
    assert "nslimb: benchmarks.shapes.source: source: expected the 5 classes of sigma" in done.stdout + done.stderr
    assert not (prepared / "never").exists()


def test_a_model_to_start_from_is_trained_first(prepared: Path) -> None:
    for method, trained in (("still", 2), ("sl", 1), ("sharper", 1)):
        asked = f"{CELL}/train={method}/model.pt"
        assert planned(*GRID, "--", asked, folder=prepared)["train"] == trained


@pytest.fixture(scope="module")
def finished(prepared: Path) -> Path:
    snakemake(*GRID, folder=prepared)
    return prepared


def metrics(folder: Path, method: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / CELL / f"train={method}" / "metrics.json").read_text())
    return found


@pytest.mark.slow
def test_ones_own_problem_has_a_table_figures_and_a_place_in_mlflow(finished: Path) -> None:
    table = (finished / "results" / "tables" / "shapes.md").read_text()
    for method in ("SL", "still", "sharpened SL", "sharper"):
        for adjustment in ("", " + LA", " + tempered"):
            assert f"| {method}{adjustment} |" in table
    assert "SHAPES-3, rho=0" in table
    assert "missing" not in table
    frame = pd.read_csv(finished / "results" / "tables" / "shapes.csv")
    assert len(frame) == 4 * 3
    assert frame["accuracy_mean"].between(0, 100).all()
    assert frame["paper_mean"].isna().all()
    figures = {path.name for path in (finished / "results" / "figures").iterdir()}
    assert figures == {
        f"{name}.{form}" for name in ("accuracy_by_method", "draw_mine", "MY_STUDY") for form in ("png", "svg")
    }
    tracked = json.loads((finished / CELL / "tracked.json").read_text())["runs"]
    assert sorted(tracked.values()) == ["created"] * 4
    assert planned(*GRID, folder=finished) == {}


@pytest.mark.slow
def test_an_adjustment_and_a_metric_of_ones_own(finished: Path) -> None:
    found = metrics(finished, "sl")["adjustments"]
    assert list(found) == ["none", "la", "Temper"]
    assert all(0 < entry["confidence"] <= 1 for entry in found.values())
    chosen = found["Temper"]["setting"]
    assert chosen == {} or chosen["power"] in (0.5, 2.0)


@pytest.mark.slow
def test_a_figure_and_a_study_of_ones_own(finished: Path) -> None:
    seen = json.loads((finished / "seen.json").read_text())
    methods = ["sl SL", "still still", "Sharpened sharpened SL", "sharper sharper"]
    assert list(seen) == methods
    assert all(adjustments == ["none", "LA", "tempered"] for adjustments in seen.values())
    study = pd.read_csv(finished / "results" / "studies" / "MY_STUDY.csv")
    assert study["method"].tolist() == ["sl", "still", "Sharpened", "sharper"]
    accuracies = [metrics(finished, method)["adjustments"]["none"]["accuracy"] for method in study["method"]]
    np.testing.assert_allclose(study["accuracy"], accuracies)


def history(folder: Path, method: str) -> pd.DataFrame:
    return pd.read_csv(folder / CELL / f"train={method}" / "history.csv")


@pytest.mark.slow
def test_variants_have_settings_of_their_own(finished: Path) -> None:
    described = {
        method: yaml.safe_load((finished / CELL / f"train={method}" / "run.yaml").read_text())
        for method in ("sl", "Sharpened", "sharper", "still")
    }
    assert described["sharper"]["recipe"]["method"]["settings"]["strength"] == 5.0
    assert described["Sharpened"]["recipe"]["method"]["settings"]["strength"] == 0.1
    assert {name: len(history(finished, name)) for name in described} == {
        "sl": 2,
        "Sharpened": 2,
        "sharper": 3,
        "still": 1,
    }
    first = {name: history(finished, name)["loss"].iloc[0] for name in ("sl", "Sharpened", "sharper")}
    assert first["sl"] < first["Sharpened"] < first["sharper"]  # the entropy is added, times 0.1 and times 5
    assert described["still"]["recipe"]["start_from"] == "sl"


@pytest.mark.slow
def test_a_run_begins_with_the_model_that_it_starts_from(finished: Path) -> None:
    """At a learning rate of 1e-9 the weights stay where they began."""
    before, after, other = (
        torch.load(finished / CELL / f"train={name}" / "model.pt", weights_only=True)["network"]
        for name in ("sl", "still", "Sharpened")
    )
    assert all(torch.allclose(before[key], after[key], rtol=0, atol=1e-6) for key in before)
    assert not any(torch.allclose(before[key], other[key], rtol=0, atol=1e-6) for key in before)


@pytest.mark.slow
def test_an_edit_of_ones_own_runs_again_what_it_affects(finished: Path) -> None:
    weighed = [{"sl": {"method": "sl", "gamma": 0.5}}, *METHODS[1:]]
    configure(finished, weighed)
    assert planned(*GRID, folder=finished)["train"] == 2  # SL, and what starts from it
    configure(finished, METHODS)
    rules, mine = finished / "rules.py", finished / "mine.py"
    for path, edited, trained in (
        (rules, "\n# A comment.\n", 0),
        (mine, "\n# A comment.\n", 0),
        (mine, "\nEDITED = True\n", 4),  # the network is in the same file
        (rules, "\nEDITED = True\n", 4),
    ):
        text = path.read_text()
        path.write_text(text + edited)
        assert planned(*GRID, folder=finished).get("train", 0) == trained
        path.write_text(text)
    image = next((finished / "shapes" / "ring").iterdir())
    image.write_bytes(next((finished / "shapes" / "star").iterdir()).read_bytes())
    jobs = planned(*GRID, folder=finished)
    assert (jobs["fetch"], jobs["samples"], jobs["train"]) == (1, 1, 4)
