"""``python -m nslimb.experiment.jobs.measure < request.json``: time and peak memory of a few batches."""

from __future__ import annotations

import json
import resource
import sys
import tempfile
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nslimb.data.samples import draw_samples
from nslimb.experiment.jobs.recipe import Host, Recipe, sigma_of, source_of
from nslimb.learning.loop import train
from nslimb.learning.methods import make_method, method_class
from nslimb.learning.settings import Settings


def measure(recipe: Recipe, host: Host, protocol: str, method: str, batch: int) -> dict[str, float]:
    """Minutes an epoch of all samples, and this process's peak memory in MB.

    The few batches are trained on twice: the first time, which sets everything up, is not counted.
    """
    torch.set_num_threads(host.threads)
    sigma, number = sigma_of(recipe, host), recipe["samples"]
    source = source_of(recipe, host, sigma, "")
    taken = min(number, batch * recipe["batches"])
    samples, _ = draw_samples(source, sigma, taken, seed=1, validation=1)
    chosen = Settings(
        network=recipe["network"],
        epochs=2,
        batch_size=batch,
        device=host.device,
        threads=host.threads,
        normalisation=source.normalisation,
    )
    known = [field.name for field in fields(method_class(method).Settings)]
    options = {key: value for key, value in recipe["paper"].items() if key in known} if protocol == "paper" else {}
    ratios = np.full(sigma.num_classes, 1 / sigma.num_classes)
    made = make_method(method, sigma, estimated_ratios=ratios, **options)
    with tempfile.TemporaryDirectory() as folder:
        trained = train(source.images, samples, sigma, made, chosen, Path(folder), base=host.base)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)
    return {"minutes": trained.history[1].seconds * number / taken / 60, "peak_mb": peak}


def main() -> None:
    request: dict[str, Any] = json.load(sys.stdin)
    print(json.dumps(measure(host=Host.from_plain(request.pop("host")), **request)))


if __name__ == "__main__":
    main()
