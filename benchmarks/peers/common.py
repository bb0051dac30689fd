"""What all peers share: data, network, batch, one thread, and rows of results as lines of JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

import nslimb
from nslimb.data import load
from nslimb.data.once import draw_once
from nslimb.networks import Classifier, build

BATCH = 64
REPEATS = 60  # of what is timed in turns
EPOCHS = 3  # of training
SEEDS = (1, 2, 3)  # of first weights and of the order of training

torch.set_num_threads(1)


class Data(NamedTuple):
    """MNIST-Add with N = 1: images [n, 1, 28, 28] as LeNet takes them, pairs of them, their sums, and gold labels."""

    images: torch.Tensor
    train: torch.Tensor  # [m, 2]
    sums: torch.Tensor  # [m]
    test: torch.Tensor  # [t, 2]
    gold: torch.Tensor  # [t, 2]


def pairs(folder: Path) -> Data:
    """Real MNIST, each image used once."""
    source = load("mnist", folder)
    samples, gold = draw_once(source, nslimb.sigma.total(2), SEEDS[0])
    images = torch.from_numpy(np.array(source.images)).unsqueeze(1).float() / 127.5 - 1
    parts = (samples.train, samples.train_weak, samples.test_tuples, gold.test_tuples)
    return Data(images, *map(torch.from_numpy, parts))


def network(seed: int = SEEDS[0]) -> Classifier:
    """LeNet with the same first weights for everyone."""
    return build("lenet", 10, seed)


@torch.no_grad()
def accuracies(trained: torch.nn.Module, data: Data) -> dict[str, float]:
    """Digits and sums right on the test pairs, in per cent."""
    trained.eval()
    logits = torch.cat([trained(data.images[part]) for part in data.test.flatten().split(2048)])
    predicted = logits.argmax(-1).view_as(data.gold)
    right = (predicted.sum(1) == data.gold.sum(1)).double().mean()
    digits = (predicted == data.gold).double().mean()
    return {"digits right, %": 100 * float(digits), "sums right, %": 100 * float(right)}


def in_turns(runs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """CPU milliseconds of each run: the fastest tenth of 60 turns, so that what else the machine does counts little."""
    taken: dict[str, list[float]] = {name: [] for name in runs}
    for run in runs.values():
        run()
    for _ in range(REPEATS):
        for name, run in runs.items():
            began = time.process_time()
            run()
            taken[name].append(time.process_time() - began)
    return {name: 1e3 * sorted(times)[REPEATS // 10] for name, times in taken.items()}


def is_there(module: str) -> bool:
    """Whether a peer is installed; what is measured of one that is not is a row that says so."""
    return find_spec(module) is not None


def tell(
    task: str,
    system: str,
    measure: str,
    value: float | None,
    remark: str = "",
    package: str = "",
    ratio: float | None = None,
) -> None:
    """One row of the result; ``ratio`` is how many times ours it took."""
    found = version(package) if package else ""
    row = {"task": task, "system": system, "version": found, "measure": measure, "value": value}
    print(json.dumps({**row, "times ours": ratio, "remark": remark}), flush=True)
