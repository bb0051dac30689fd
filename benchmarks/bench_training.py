"""Cost of a training epoch with each loss against supervised training on the same images."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from measure import Claim, report

import nslimb
from nslimb.data import draw_samples, load
from nslimb.learning import Settings, make_method, train

EPOCHS = 5
# What joins the loss after some epochs joins it here with the first, so that it is measured.
AT_ONCE = {"sl-prior": {"psi_after": 0}, "recipe": {"gamma_after": 0}}


def epoch_seconds(folder: Path, arity: int) -> dict[str, float]:
    """Median seconds of an epoch of each method; the methods take turns, one run each, twice."""
    source = load("mnist5k", folder)
    sigma = nslimb.sigma.maximum(arity)
    samples, gold = draw_samples(source, sigma, 3000, seed=1)
    times: dict[str, list[float]] = {}
    for turn in range(2):
        for name in ("supervised", "sl", "sl-balanced", "sl-prior", "recipe", "sot-alg1", "ilp-alg1"):
            given = {"estimated_ratios": np.full(10, 0.1), "gold_labels": gold.train, **AT_ONCE.get(name, {})}
            method = make_method(name, sigma, **given)
            done = train(
                source.images, samples, sigma, method, Settings(epochs=EPOCHS), folder / f"{name}-{arity}-{turn}"
            )
            times.setdefault(name, []).extend(row.seconds for row in done.history)
    return {name: float(np.median(values)) for name, values in times.items()}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        seconds = epoch_seconds(Path(folder), 3)
    claims = [
        Claim(
            f"MAX-3: an epoch of {name} / {base}",
            seconds[name] / seconds[base],
            limit,
            f"{seconds[name]:.2f} s / {seconds[base]:.2f} s",
        )
        for name, base, limit in (
            ("sl", "supervised", 1.25),
            ("ilp-alg1", "supervised", 2.5),
            ("sl-balanced", "sl", 1.05),
            ("sl-prior", "sl", 1.15),
            ("recipe", "sl", 1.15),
            ("sot-alg1", "sl", 2.0),
        )
    ]
    report("training, LeNet, 3,000 samples, one thread", claims)


if __name__ == "__main__":
    main()
