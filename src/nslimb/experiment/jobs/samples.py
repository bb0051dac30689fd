"""The step `samples`: draw a cell's weak samples; gold labels go to a file of their own."""

from __future__ import annotations

from pathlib import Path

from nslimb.data.once import ONCE, draw_once
from nslimb.data.samples import draw_samples, save
from nslimb.experiment.jobs.recipe import Host, Recipe, sigma_of, source_of, support_of


def make_samples(recipe: Recipe, host: Host, ready: str, samples: Path, gold: Path) -> None:
    """Draw the samples that a recipe describes; ``ready`` is the mark of their source."""
    sigma, tail = sigma_of(recipe, host), recipe["tail"]
    source = source_of(recipe, host, sigma, ready)
    if recipe["samples"] == ONCE:
        drawn, hidden = draw_once(source, sigma, recipe["seed"])
    else:
        drawn, hidden = draw_samples(
            source,
            sigma,
            recipe["samples"],
            recipe["seed"],
            rho=float(recipe["rho"]),
            validation=recipe["validation"],
            validation_from=recipe["validation_from"],
            reverse=tail == "reversed",
            order=None if isinstance(tail, str) else tuple(tail),
            noise=recipe.get("noise", 0.0),
            ambiguity=recipe.get("ambiguity", 0.0),
            support=support_of(recipe, host, sigma) if "support" in recipe else None,
        )
    save(drawn, samples)
    save(hidden, gold)
