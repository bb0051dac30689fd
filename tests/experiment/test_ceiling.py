"""The identifiable ceiling of a run: what those of its weak labels tell that are right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fabricated import grid_run, metrics_of, write_whole
from grids import tiny_values

import nslimb
from nslimb.data import ImageSource, draw_samples
from nslimb.experiment import names
from nslimb.experiment.cells import runs
from nslimb.experiment.collect import collect
from nslimb.experiment.config import read_config
from nslimb.experiment.gather import gather
from nslimb.experiment.jobs.adjust import OpenRun, ceiling_of
from nslimb.experiment.runs.base import write_schema
from nslimb.experiment.runs.metrics import Ceiling
from nslimb.experiment.tables import ceilings
from nslimb.networks import lenet


def drawn(sigma: nslimb.Sigma, **options: Any) -> OpenRun:
    """A run whose samples were drawn from ten even classes; nothing was trained."""
    labels = np.arange(4000) % 10
    source = ImageSource(
        "toy", np.zeros((4000, 1, 1), np.uint8), labels, np.arange(4000) >= 2000, tuple("0123456789"), "-", "here"
    )
    samples, gold = draw_samples(source, sigma, 3000, **{"seed": 1, "rho": 5.0, "reverse": True} | options)
    method = nslimb.learning.make_method("sl", sigma)
    return OpenRun(source, samples, gold, sigma, gold.ratios, lenet(10), method)


@pytest.mark.parametrize("noise", [0.01, 0.05, 0.5])
def test_wrong_weak_labels_do_not_raise_it(noise: float) -> None:
    sigma = nslimb.sigma.maximum(5)
    clean, noisy = drawn(sigma), drawn(sigma, noise=noise)
    np.testing.assert_array_equal(clean.gold.train, noisy.gold.train)
    without, found = ceiling_of(clean), ceiling_of(noisy)
    assert without is not None
    assert found is not None
    assert without.samples == 3000
    assert found.samples == (noisy.samples.train_weak == clean.samples.train_weak).sum() < 3000
    assert set(found.lost) >= set(without.lost)
    assert without.identifiable - 0.15 * (1 + 10 * (noise == 0.5)) < found.identifiable <= without.identifiable < 0.9
    trusting = nslimb.confusions(sigma, noisy.gold.ratios, weak=noisy.samples.train_weak)
    assert trusting.ceiling > 0.95


def test_there_is_none_for_sets_and_where_no_weak_label_is_right() -> None:
    assert ceiling_of(drawn(nslimb.sigma.maximum(2), ambiguity=0.1)) is None
    run = drawn(nslimb.sigma.maximum(2))
    run.samples.train_weak[:] = (run.samples.train_weak + 1) % 10
    assert ceiling_of(run) is None


def test_tables_tell_what_can_be_reached() -> None:
    """The test share of each class that is told apart times its recall by the supervised network of the seed."""
    lost = Ceiling(identifiable=0.8, lost=[0, 3])
    made = [grid_run(method, seed) for method in ("sl", "supervised") for seed in ("1", "2")]
    for run in made:
        recall = [0.5 if run.cell.seed == "1" else 0.9] * 5 + [1.0] * 4 + [float("nan")]
        metrics = metrics_of(0.5, recall if run.supervised else None).model_copy(update={"ceiling": lost})
        object.__setattr__(run, "metrics", metrics)
    learned = {"1": 3 * 0.5 + 4 * 1.0 + 1, "2": 3 * 0.9 + 4 * 1.0 + 1}
    assert ceilings(made) == {("3", "0"): pytest.approx(100 * sum(learned.values()) / 20)}
    assert ceilings([run for run in made if not run.supervised]) == {("3", "0"): pytest.approx(80)}


@pytest.mark.parametrize(("noise", "samples", "kept"), [(0.05, None, 0), (0.05, 95, 5 * 3), (0.0, None, 5 * 3)])
def test_files_of_before_have_none_where_some_weak_labels_were_wrong(
    tmp_path: Path, noise: float, samples: int | None, kept: int
) -> None:
    """Those took every weak label for a right one."""
    values = tiny_values(tmp_path)
    for block in values["benchmarks"].values():
        block["noise"] = noise
    config = read_config(values, tmp_path)
    for cell, method in runs(config):
        write_whole(config, cell, method, 0.5)
    for run in gather(config, runs(config)):
        ceiling = Ceiling(identifiable=1.0, lost=[], samples=samples)
        write_schema(run.folder / names.METRICS, run.done.model_copy(update={"ceiling": ceiling}))
    assert collect(config)["runs"]["ceiling"].notna().sum() == kept
