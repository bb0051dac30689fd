"""A method of one's own for transport.yaml: half of the loss is SL's, half the cross-entropy to soft pseudolabels."""

from __future__ import annotations

from torch import Tensor

from nslimb.learning.methods.base import Batch
from nslimb.learning.methods.sl import semantic_losses
from nslimb.learning.methods.sot import SotAlg1


class SotMixture(SotAlg1):
    """SL and transport, half and half."""

    printed = "mixture"

    def sample_losses(self, batch: Batch) -> Tensor:
        return (semantic_losses(self, batch) + super().sample_losses(batch)) / 2
