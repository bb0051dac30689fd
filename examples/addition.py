"""Digits learned from sums of N-digit numbers alone (MNIST-Add-N), exactly: python examples/addition.py 2.

Each image is used once. ``--source mnist`` takes the 70,000 digits (fetch them before: nslimb data fetch mnist).
"""

from __future__ import annotations

import torch
import typer
from rich.progress import track
from torch import Tensor

import nslimb
from nslimb.data import load
from nslimb.networks import Classifier, lenet

BATCH, LEARNING_RATE = 32, 1e-3


def main(digits: int, source: str = "mnist5k", epochs: int = 20, seed: int = 1) -> None:
    torch.manual_seed(seed)
    data = load(source)
    images = torch.from_numpy(data.images).unsqueeze(1).float() / 127.5 - 1
    labels, is_test = torch.from_numpy(data.labels), torch.from_numpy(data.is_test)
    if not (most := min(int(is_test.sum()), int((~is_test).sum())) // 2) >= digits >= 1:
        raise typer.BadParameter(f"{source} has images for numbers of 1 to {most} digits, not of {digits}")
    train, test = (in_tuples(is_test == part, 2 * digits) for part in (False, True))
    sigma = nslimb.sigma.addition(digits)
    sums = sigma.apply(labels[train])  # all that training sees of the labels
    network = lenet()
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE)
    print(f"{sigma}: {len(train)} sums to learn from, {len(test)} to test on")
    for _ in track(range(epochs), "training"):
        network.train()
        for rows in torch.randperm(len(train)).split(BATCH):
            loss = nslimb.semantic_loss(scores(network, images[train[rows]]), sums[rows], sigma).mean() / digits
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    network.eval()
    with torch.no_grad():
        predicted = torch.cat([scores(network, images[rows]).argmax(-1) for rows in test.split(BATCH)])
    right = sigma.explains(predicted, sigma.apply(labels[test])).double().mean().item()
    print(f"digits right: {(predicted == labels[test]).double().mean().item():.1%}, sums right: {right:.1%}")


def in_tuples(wanted: Tensor, size: int) -> Tensor:
    """The wanted images in random order, as many whole tuples as there are: indices [n, size]."""
    shuffled = wanted.nonzero().squeeze(1)[torch.randperm(int(wanted.sum()))]
    return shuffled[: len(shuffled) // size * size].view(-1, size)


def scores(network: Classifier, images: Tensor) -> Tensor:
    """Log-scores [B, M, c] of images [B, M, 1, 28, 28]."""
    return network(images.flatten(0, 1)).log_softmax(-1).view(*images.shape[:2], -1)


if __name__ == "__main__":
    typer.run(main)
