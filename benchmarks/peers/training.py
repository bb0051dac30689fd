"""Ours and ABLkit: the same network, data, batch and epochs. ``python training.py nslimb|ablkit DATA``."""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path
from statistics import mean, stdev

import torch
from common import BATCH, EPOCHS, SEEDS, Data, accuracies, is_there, network, pairs, tell
from torch import nn
from words import NOT_INSTALLED, OURS

import nslimb

TASK = "MNIST-Add, N = 1"


def train_ours(data: Data, seed: int) -> tuple[nn.Module, float]:
    """Exact semantic loss; the network and the seconds an epoch."""
    torch.manual_seed(seed)
    sigma, made = nslimb.sigma.total(2), network(seed)
    optimizer = torch.optim.Adam(made.parameters(), lr=1e-3)
    made.train()
    began = time.process_time()
    for _ in range(EPOCHS):
        for rows in torch.randperm(len(data.train)).split(BATCH):
            logits = made(data.images[data.train[rows].flatten()]).view(len(rows), 2, -1)
            loss = nslimb.semantic_loss(logits.log_softmax(-1), data.sums[rows], sigma).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return made, (time.process_time() - began) / EPOCHS


def train_ablkit(data: Data, seed: int) -> tuple[nn.Module, float]:
    """Abduction of the most confident labels; a segment is a batch of 64 sums, learned in one step of 128 images."""
    from ablkit.bridge import SimpleBridge
    from ablkit.learning import ABLModel, BasicNN
    from ablkit.reasoning import KBBase, Reasoner

    class Addition(KBBase):
        def logic_forward(self, labels: list[int]) -> int:
            return sum(labels)

    logging.disable(logging.CRITICAL)
    torch.manual_seed(seed)
    made = network(seed)
    optimizer = torch.optim.Adam(made.parameters(), lr=1e-3)
    base = BasicNN(made, nn.CrossEntropyLoss(), optimizer, batch_size=2 * BATCH, num_epochs=1, stop_loss=None)
    knowledge = Addition(pseudo_label_list=list(range(10)))
    bridge = SimpleBridge(ABLModel(base), Reasoner(knowledge, dist_func="confidence"), metric_list=[])
    images = [[data.images[i] for i in pair] for pair in data.train.tolist()]
    began = time.process_time()
    bridge.train((images, None, data.sums.tolist()), loops=EPOCHS, segment_size=BATCH, eval_interval=EPOCHS + 1)
    return made, (time.process_time() - began) / EPOCHS


def main(system: str, folder: Path) -> None:
    if system == "ablkit" and not is_there("ablkit"):
        tell(TASK, "ABLkit", "epoch, s", None, NOT_INSTALLED)
        return
    data = pairs(folder)
    train = train_ablkit if system == "ablkit" else train_ours
    named = {"system": "ABLkit", "package": "ablkit"} if system == "ablkit" else {"system": OURS}
    seconds, found = [], []
    for seed in SEEDS:
        trained, taken = train(data, seed)
        seconds.append(taken)
        found.append(accuracies(trained, data))
    tell(TASK, measure="epoch, s", value=min(seconds), **named)
    for measure in found[0]:
        values = [each[measure] for each in found]
        spread = f"standard error {stdev(values) / len(values) ** 0.5:.2f}"
        remark = f"after {EPOCHS} epochs of {len(data.train)} sums, mean of {len(SEEDS)} seeds, {spread}"
        tell(TASK, measure=measure, value=mean(values), remark=remark, **named)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
