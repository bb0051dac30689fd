"""Cross-entropy to pseudolabels, after some epochs of SL."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nslimb.checks import check_count
from nslimb.errors import InvalidInput
from nslimb.learning.methods.base import Batch, WeakMethod, WeakSettings
from nslimb.learning.methods.sl import semantic_losses


@dataclass(frozen=True)
class PseudolabelSettings(WeakSettings):
    """``warm_up``: epochs of the final network whose loss is SL's, before there are scores to lean on.

    Pseudolabels themselves allow for no wrong labels. ``noise`` enters the likelihood of the warm-up, the weights by
    ``gamma``, and the label ratios where the method estimates them itself by Algorithm 1; nothing else.
    """

    warm_up: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("warm_up", self.warm_up, least=0)
        if self.noise == "auto":
            raise InvalidInput("noise", "a share from 0 to below 1: pseudolabels have no likelihood to tell it", "auto")


class Pseudolabelling(WeakMethod):
    """What the linear program and the transport have in common."""

    settings: PseudolabelSettings

    def sample_losses(self, batch: Batch) -> Tensor:
        if self.pre_epochs <= self.epochs_done < self.pre_epochs + self.settings.warm_up:
            return semantic_losses(self, batch)
        log_scores = batch.logits.log_softmax(-1)
        targets = self.targets(log_scores.detach(), batch.weak)
        # A label of another space has the score -inf, and no mass.
        losses = -torch.where(targets > 0, targets * log_scores, 0.0).sum(dim=-1)
        return losses.mean(dim=-1) if batch.used is None else losses.sum(dim=-1) / batch.used.sum(dim=-1)

    def targets(self, log_scores: Tensor, weak: Tensor) -> Tensor:
        """The pseudolabels of a batch, [B, M, c]."""
        raise NotImplementedError
