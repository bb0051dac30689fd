"""Transport that looks, now and then, whether other names of the classes explain the weak labels better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from nslimb.checks import check_count
from nslimb.learning.methods.transport import Transport, TransportSettings, check_several
from nslimb.learning.naming import best_naming
from nslimb.networks import Classifier

_LEAST_GAIN = 10.0  # nats by which other names must explain the samples better


@dataclass(frozen=True)
class NamedSettings(TransportSettings):
    """``rename_after``: the epochs after which names are looked at."""

    rename_after: tuple[int, ...] = (10, 20)

    def __post_init__(self) -> None:
        super().__post_init__()
        for epoch in check_several("rename_after", self.rename_after):
            check_count("rename_after", epoch)


class TransportNamed(Transport):
    """Transport over pre-images with known ratios that now and then renames the classes, where other names explain the
    weak labels better.

    A network may tell the classes apart and misname them: a wrong permutation of the digits satisfies most equations
    between them, and no small step leads away from it. The rows of the last layer are then put in another order. Of
    several networks, a space each, names stay as they are.
    """

    printed = "transport, renamed"
    Settings = NamedSettings
    settings: NamedSettings
    last_layer: nn.Linear | None = None

    def begin_network(self, network: nn.Module) -> None:
        super().begin_network(network)
        layer = network.last_layer if isinstance(network, Classifier) else None
        self.last_layer = layer if isinstance(layer, nn.Linear) else None

    def end_epoch(self, epoch: int, predict: Callable[[Any], Tensor]) -> bool:
        if self.last_layer is not None and epoch + 1 in self.settings.rename_after:
            scores = predict(self.samples.train)
            weak = self.sigma.check_weak(self.samples.train_weak, len(scores), scores.device)
            found = best_naming(scores, weak, self.sigma, self.ratios, seed=epoch)
            if found.gain > _LEAST_GAIN:
                self._rename(self.last_layer, found.order)
        return super().end_epoch(epoch, predict)

    @torch.no_grad()
    def _rename(self, layer: nn.Linear, order: Tensor) -> None:
        for rows in (layer.weight, layer.bias):
            if rows is not None:
                rows.copy_(rows[order.to(rows.device)])
