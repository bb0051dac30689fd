"""The step `timing`: minutes an epoch for the runtime table."""

from __future__ import annotations

from dataclasses import fields
from itertools import product
from pathlib import Path

import numpy as np
import torch

from nslimb.data.samples import draw_samples
from nslimb.experiment.jobs.recipe import Host, Recipe, sigma_of, source_of
from nslimb.experiment.runs.base import write_schema
from nslimb.experiment.runs.timing import Timing
from nslimb.learning.loop import Settings, train
from nslimb.learning.methods import make_method, method_class

_MEASURED = (("SL", "sl"), ("LP", "ilp-alg1"))


def time_epoch(recipe: Recipe, host: Host, ready: str, batch: int, out: Path) -> None:
    """Minutes an epoch of SL and LP by the paper's protocol and by ours, extrapolated from a few batches."""
    torch.set_num_threads(host.threads)
    sigma, number = sigma_of(recipe, host), recipe["samples"]
    source = source_of(recipe, host, sigma, ready)
    taken = min(number, batch * recipe["batches"])
    samples, _ = draw_samples(source, sigma, taken, seed=1, validation=1)
    chosen = Settings(
        network=recipe["network"], epochs=1, batch_size=batch, device=host.device, normalisation=source.normalisation
    )
    minutes: dict[str, dict[str, float]] = {}
    for protocol, (label, name) in product(("paper", "exact"), _MEASURED):
        known = [field.name for field in fields(method_class(name).Settings)]
        options = {key: value for key, value in recipe["paper"].items() if key in known} if protocol == "paper" else {}
        method = make_method(name, sigma, estimated_ratios=np.full(sigma.num_classes, 1 / sigma.num_classes), **options)
        into = out.parent / f"{protocol}-{label}"
        described = f"{out.parent.name} {into.name}"
        trained = train(source.images, samples, sigma, method, chosen, into, base=host.base, description=described)
        minutes.setdefault(protocol, {})[label] = trained.history[0].seconds * number / taken / 60
    write_schema(out, Timing(minutes_per_epoch=minutes, samples=number, measured_on=taken))
