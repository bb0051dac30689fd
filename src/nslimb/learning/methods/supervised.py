"""The ceiling: cross-entropy to gold labels."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from nslimb.errors import InvalidInput
from nslimb.files import digest
from nslimb.learning.methods.base import Batch, Method, NoSettings
from nslimb.learning.methods.sl_decay import DecaySettings
from nslimb.sigma.component import Sigma


class Supervised(Method):
    """The same network trained on the hidden labels: an oracle, which shows what the network can do.

    The loss is the cross-entropy to gold labels [m, M].
    """

    printed = "supervised (oracle)"
    oracle = True
    needs = ("gold_labels",)

    def __init__(self, sigma: Sigma, settings: NoSettings, **given: Any) -> None:
        super().__init__(sigma, settings, **given)
        if given.get("gold_labels") is None:
            raise InvalidInput("gold_labels", "the gold labels of the training samples for supervised", None)
        self.labels = torch.as_tensor(given["gold_labels"])

    def loss(self, batch: Batch) -> Tensor:
        gold = self.labels.to(batch.logits.device)[batch.rows]
        losses = nn.functional.cross_entropy(
            batch.logits.flatten(0, 1), gold.flatten(), reduction="none", ignore_index=-1
        ).view(gold.shape)
        return losses.mean(dim=-1) if batch.used is None else losses.sum(dim=-1) / batch.used.sum(dim=-1)

    def describe(self) -> dict[str, Any]:
        return {"labels": digest(self.labels.numpy().tobytes())}


class SupervisedDecay(Supervised):
    """The same with the shrinking steps of ``sl-decay``: what is left to gain there by seeing the labels."""

    printed = "supervised, decay (oracle)"

    def pace(self, done: float) -> float:
        return DecaySettings().pace(done)
