"""Early stopping by weak samples: no gold label is needed to see that a network gets worse."""

from __future__ import annotations

import math
from pathlib import Path

from torch import nn

from nslimb.learning.checkpoint import load_weights, save_model
from nslimb.learning.history import Epoch
from nslimb.learning.methods.base import Method


class EarlyStopping:
    """Stop ``patience`` epochs after the one with the highest weak likelihood on the validation samples.

    The weights of that epoch wait in ``folder / best.pt`` and are the result. None: train to the end, take the last.
    """

    def __init__(self, patience: int | None, folder: Path) -> None:
        self.patience, self.path = patience, folder / "best.pt"

    def over(self, history: list[Epoch]) -> bool:
        """Whether the best epoch so far is too long ago."""
        rows = _of_final_network(history)
        return self.patience is not None and bool(rows) and len(rows) - 1 - _best(rows) >= self.patience

    def keep(self, network: nn.Module, method: Method, history: list[Epoch]) -> None:
        """Keep the weights of the last epoch of ``history`` if it is the best so far."""
        rows = _of_final_network(history)
        if self.patience is not None and rows and _best(rows) == len(rows) - 1:
            save_model(self.path, network, method)

    def finish(self, network: nn.Module, method: Method) -> None:
        """Give the network the weights that were kept."""
        if self.patience is not None:
            kept = load_weights(self.path)
            network.load_state_dict(kept["network"])
            method.load_state_dict(kept["method"])


def best_likelihood(history: list[Epoch], patience: int | None) -> float:
    """The weak log-likelihood on the validation samples of the weights that a run ended with."""
    rows = _of_final_network(history)
    return _likelihood(rows[-1 if patience is None else _best(rows)])


def _of_final_network(history: list[Epoch]) -> list[Epoch]:
    return [row for row in history if row.phase == "training"]


def _best(rows: list[Epoch]) -> int:
    """The first epoch of the highest likelihood."""
    return max(range(len(rows)), key=lambda place: (_likelihood(rows[place]), -place))


def _likelihood(row: Epoch) -> float:
    """Of the validation samples, which there are where one stops by them."""
    return -math.inf if row.validation_log_likelihood is None else row.validation_log_likelihood
