"""The step `train`: one method on one cell."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from nslimb.data.samples import Samples, load_gold, load_samples
from nslimb.data.source import ImageSource
from nslimb.errors import BrokenFile
from nslimb.experiment import names
from nslimb.experiment.jobs.recipe import Host, Recipe, digest_of, sigma_of, source_of
from nslimb.experiment.provenance import git_commit, job_environment, versions
from nslimb.experiment.runs.base import read_schema, write_schema
from nslimb.experiment.runs.marginals import Marginals
from nslimb.experiment.runs.run import RunFile
from nslimb.files import held
from nslimb.learning.loop import Probe, Trained, train
from nslimb.learning.methods import method_class
from nslimb.learning.methods.base import Method
from nslimb.learning.restarts import best_start, forget_starts
from nslimb.learning.settings import Settings
from nslimb.memory import keep_freed_memory
from nslimb.seeds import torch_seed
from nslimb.sigma.component import Sigma


def method_of(recipe: Recipe, host: Host, sigma: Sigma, samples: Samples, cell: Path) -> Method:
    """The method of a recipe with the inputs that it asks for; gold labels are opened for oracles alone."""
    made = method_class(recipe["method"]["method"], host.base)
    return _method(recipe, made, made.Settings(**recipe["method"]["settings"]), sigma, samples, cell)


def _method(recipe: Recipe, made: type[Method], settings: Any, sigma: Sigma, samples: Samples, cell: Path) -> Method:
    given: dict[str, Any] = {}
    asked = made.asks(settings, sigma, samples)
    if "estimated_ratios" in asked:
        given["estimated_ratios"] = read_schema(cell / names.MARGINALS, Marginals).ratios
    if "given_ratios" in asked:
        given["given_ratios"] = recipe["ratios"]
    if made.oracle:
        gold = load_gold(cell / names.GOLD)
        given |= {"gold_ratios": gold.ratios, "gold_labels": gold.train}
    return made(sigma, settings, **{key: given[key] for key in asked})


def settings_of(recipe: Recipe, host: Host, source: ImageSource) -> Settings:
    """How the loop is to train."""
    return Settings(
        network=recipe["network"],
        seed=recipe["seed"],
        normalisation=source.normalisation,
        device=host.device,
        threads=host.threads,
        **recipe["training"],
    )


def train_run(
    recipe: Recipe, host: Host, run: Mapping[str, Any], ready: str, into: Path, start_from: Path | None = None
) -> None:
    """Train a method: history.csv, model.pt and run.yaml in ``into``, below its cell's folder.

    ``run`` says which it is: ``cell``, ``method`` (its name in the grid) and ``grid``.
    """
    began = time.perf_counter()
    torch.set_num_threads(host.threads)
    keep_freed_memory()
    cell = into.parent
    sigma, samples = sigma_of(recipe, host), load_samples(cell / names.SAMPLES)
    source = source_of(recipe, host, sigma, ready)
    test_labels = load_gold(cell / names.GOLD).test  # for columns of the history; no method sees them
    made = method_class(recipe["method"]["method"], host.base)
    starts = made.starts(made.Settings(**recipe["method"]["settings"]))
    settings = settings_of(recipe, host, source)

    def begin(number: int, folder: Path) -> Trained:
        own, again = starts[number]
        seed = torch_seed(settings.seed, "restart", again) if again else settings.seed
        several = f", start {number + 1} of {len(starts)}" if len(starts) > 1 else ""
        return train(
            source.images,
            samples,
            sigma,
            _method(recipe, made, own, sigma, samples, cell),
            replace(settings, seed=seed),
            folder,
            test=Probe(samples.test, test_labels, host.look_every),
            start_from=start_from,
            base=host.base,
            take_up=len(starts) > 1,
            description=f"{run['cell_path']}/{into.name}{several}",
        )

    with held(into / ".lock"):  # a job that outlived its scheduler may still be training this run
        (into / names.MODEL).unlink(missing_ok=True)  # a stale one: the workflow wants it anew
        if len(starts) > 1:
            forget_starts(into, digest_of(recipe))
        try:
            trained, chosen = best_start(begin, len(starts), into)
        except BrokenFile as error:  # the checkpoint: all else has been read
            print(f"{error}. Starting anew")
            error.path.unlink()
            trained, chosen = best_start(begin, len(starts), into)
    estimated = read_schema(cell / names.MARGINALS, Marginals)
    described = RunFile(
        cell=run["cell"],
        method=run["method"],
        oracle=trained.method.oracle,
        protocol=recipe["protocol"],
        grid=run["grid"],
        source={"name": source.name, "origin": source.origin, "digest": source.checksum()},
        recipe=dict(recipe),
        device=str(next(trained.network.parameters()).device),
        versions=versions(),
        environment=job_environment(),
        commit=git_commit(),
        start=chosen if len(starts) > 1 else None,
        seconds={
            "training": round(trained.seconds, 3),
            "estimation": round(estimated.seconds, 3),
            "job": round(time.perf_counter() - began, 3),
        },
        ended=round(time.time(), 3),
    )
    write_schema(into / names.RUN_FILE, described)
