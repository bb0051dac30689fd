"""The step `marginals`: Algorithm 1 on a cell's weak labels."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any

from nslimb.data.samples import load_samples
from nslimb.experiment.jobs.recipe import Host, Recipe, sigma_of
from nslimb.experiment.runs.base import write_schema
from nslimb.experiment.runs.marginals import Marginals
from nslimb.marginals.adam import AdamOptions
from nslimb.marginals.estimate import NotIdentified, estimate_marginal


def make_marginals(recipe: Recipe, host: Host, samples: Path, marginals: Path) -> None:
    """Estimate the hidden ratios from the weak labels of the training samples."""
    began = time.perf_counter()
    sigma = sigma_of(recipe, host)
    if "ratios" in recipe:  # Algorithm 1 takes labels to be independent, which they are not here
        known = Marginals(
            ratios=recipe["ratios"],
            log_likelihood=0.0,
            iterations=0,
            converged=True,
            not_identified=[],
            seconds=0.0,
            known=True,
        )
        write_schema(marginals, known)
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotIdentified)  # it is in the file
        found = estimate_marginal(load_samples(samples).train_weak, sigma, sigma.groups, **_options(recipe))
    content = Marginals(
        ratios=found.ratios.tolist(),
        log_likelihood=found.log_likelihood,
        iterations=found.iterations,
        converged=found.converged,
        not_identified=list(found.flat_classes),
        seconds=time.perf_counter() - began,
    )
    write_schema(marginals, content)


def _options(recipe: Recipe) -> dict[str, Any]:
    """How Algorithm 1 is solved: by the paper's Adam, or by Newton's method for the most even ratios that fit."""
    chosen = dict(recipe["estimator"])
    steps = chosen.pop("steps", None)
    return chosen if steps is None else {**chosen, "adam": AdamOptions(iterations=steps)}
