"""SL: semantic loss over k proofs or, exactly, the whole pre-image."""

from __future__ import annotations

from torch import Tensor

from nslimb.learning.methods.base import Batch, WeakMethod, WeakSettings
from nslimb.learning.semantic import semantic_loss


class Semantic(WeakMethod):
    """The semantic loss, nothing else."""

    printed = "SL"
    Settings = WeakSettings

    def sample_losses(self, batch: Batch) -> Tensor:
        return semantic_losses(self, batch)


def semantic_losses(method: WeakMethod, batch: Batch) -> Tensor:
    """The semantic loss with a method's settings, [B]."""
    chosen = method.settings
    scores = batch.logits.log_softmax(-1)
    return semantic_loss(scores, batch.weak, method.sigma, chosen.proofs, chosen.form, noise=method.noise)
