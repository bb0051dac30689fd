"""SL: semantic loss over k proofs or, exactly, the whole pre-image."""

from __future__ import annotations

from torch import Tensor

from nslimb.learning.methods.base import Batch, WeakMethod, WeakSettings
from nslimb.learning.semantic import semantic_loss, with_noise


class Semantic(WeakMethod):
    """Semantic loss: the negative logarithm of the probability that the network gives to the observed weak label, over
    all label vectors that explain it (protocol ``exact``) or the most probable one alone (``paper``).
    """

    printed = "SL"
    Settings = WeakSettings

    def sample_losses(self, batch: Batch) -> Tensor:
        return semantic_losses(self, batch)


def semantic_losses(method: WeakMethod, batch: Batch) -> Tensor:
    """The semantic loss with a method's settings, [B]; a method that estimates its noise is told the likelihoods."""
    chosen = method.settings
    scores = batch.logits.log_softmax(-1)
    losses = semantic_loss(scores, batch.weak, method.sigma, chosen.proofs, chosen.form)
    if method.likelihoods is not None:
        method.likelihoods[batch.rows] = -losses.detach()
    return with_noise(losses, method.noise, len(method.sigma.weak_labels)) if method.noise else losses
