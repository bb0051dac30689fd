"""DeepProbLog's exact engine and ours: seconds of a training step, network and all. ``python prolog.py DATA``."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from common import BATCH, Data, is_there, network, pairs, tell
from torch import nn
from words import NOT_INSTALLED, OURS

import nslimb

TASK, STEP, DEEPPROBLOG = "MNIST-Add, N = 1", "training step, ms", "DeepProbLog, exact"
STEPS = 5
PROGRAM = """
nn(lenet, [X], Y, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]) :: digit(X, Y).
addition(X, Y, Z) :- digit(X, A), digit(Y, B), Z is A + B.
"""


class Images:
    """Images by number, as DeepProbLog asks for them."""

    def __init__(self, images: torch.Tensor) -> None:
        self.images = images

    def __getitem__(self, index: Any) -> torch.Tensor:
        return self.images[int(index[0])]


def theirs(data: Data) -> Callable[[int], None]:
    """A step of DeepProbLog on a batch; every sum's circuit is compiled once and kept."""
    sys.modules["pyswip"] = None  # type: ignore[assignment]  # of the other engine alone, which needs SWI-Prolog
    from deepproblog.engines import ExactEngine
    from deepproblog.model import Model
    from deepproblog.network import Network
    from deepproblog.query import Query
    from deepproblog.train import TrainObject
    from problog.logic import Constant, Term

    made = nn.Sequential(network(), nn.Softmax(1))
    wrapped = Network(made, "lenet", batching=True)
    wrapped.optimizer = torch.optim.Adam(made.parameters(), lr=1e-3)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "addition.pl")
        path.write_text(PROGRAM)
        model = Model(str(path), [wrapped])
    model.set_engine(ExactEngine(model), cache=True)
    model.add_tensor_source("train", Images(data.images))
    model.train()
    trainer = TrainObject(model)

    def image(name: str) -> Term:
        return Term("tensor", Term("train", Term(name)))

    def query(row: int) -> Query:
        (first, second), total = data.train[row].tolist(), int(data.sums[row])
        return Query(
            Term("addition", image("a"), image("b"), Constant(total)),
            substitution={Term("a"): Constant(first), Term("b"): Constant(second)},
        )

    def step(number: int) -> None:
        rows = range(number * BATCH, (number + 1) * BATCH)
        model.optimizer.zero_grad()
        trainer.get_loss([query(row) for row in rows], model.solver.semiring.cross_entropy)
        model.optimizer.step()

    return step


def ours(data: Data) -> Callable[[int], None]:
    """A step of ours on the same batch."""
    sigma, made = nslimb.sigma.total(2), network()
    optimizer = torch.optim.Adam(made.parameters(), lr=1e-3)

    def step(number: int) -> None:
        rows = slice(number * BATCH, (number + 1) * BATCH)
        logits = made(data.images[data.train[rows].flatten()]).view(BATCH, 2, -1)
        optimizer.zero_grad()
        nslimb.semantic_loss(logits.log_softmax(-1), data.sums[rows], sigma).mean().backward()
        optimizer.step()

    return step


def main(folder: Path) -> None:
    data = pairs(folder)
    steps = {OURS: ours(data)}
    if is_there("deepproblog"):
        steps[DEEPPROBLOG] = theirs(data)
    else:
        tell(TASK, DEEPPROBLOG, STEP, None, NOT_INSTALLED)
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for number in range(STEPS + 2):
        for name, step in steps.items():
            began = time.process_time()
            step(number)
            taken[name].append(time.process_time() - began)
    for name, times in taken.items():
        package = "" if name == OURS else "deepproblog"
        tell(TASK, name, STEP, 1e3 * median(times[2:]), "network and all", package)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
