"""RECORDS: logits debiased by a class prior that is read off a momentum-averaged feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from nslimb.data.samples import Samples
from nslimb.errors import InvalidInput
from nslimb.learning.methods.base import Batch, WeakMethod, WeakSettings
from nslimb.learning.methods.sl import semantic_losses
from nslimb.sigma.component import Sigma


class Records:
    """Debias logits by log of the prior softmax(head(mean feature)).

    The mean feature follows the batches with ``momentum``. The paper trains *and* predicts with debiased logits;
    ``debias_training=False`` is what its released MAX and SUM code does in effect: training sees the plain logits, only
    predictions are debiased, and the mean starts from (1 - momentum) times the first batch.

    >>> head = nn.Linear(1, 2, bias=False)
    >>> _ = head.weight.data.copy_(torch.tensor([[0.0], [1.0]]))
    >>> records = Records()
    >>> features = torch.tensor([[2.0], [4.0]])
    >>> records.train(head(features), features, head)  # the mean feature is 3: a prior of softmax(0, 3)
    tensor([[3.0486, 2.0486],
            [3.0486, 4.0486]], grad_fn=<SubBackward0>)
    """

    def __init__(self, momentum: float = 0.9, debias_training: bool = True) -> None:
        if not 0 <= momentum < 1:
            raise InvalidInput("momentum", "a number from 0 to below 1", momentum)
        self.momentum = momentum
        self.debias_training = debias_training
        self.mean: Tensor | None = None

    def train(self, logits: Tensor, features: Tensor, head: nn.Module) -> Tensor:
        """Take in a training batch's features [..., d]; returns the logits [..., c] to compute the loss from."""
        if features.shape[:-1] != logits.shape[:-1] or features.numel() == 0:
            expected = f"at least one feature vector for each of the logits {list(logits.shape)}"
            raise InvalidInput("features", expected, f"shape {list(features.shape)}")
        batch_mean = features.detach().flatten(0, -2).mean(dim=0)
        if self.mean is not None:
            # A mean from a checkpoint comes on the CPU.
            self.mean = self.momentum * self.mean.to(batch_mean) + (1 - self.momentum) * batch_mean
        elif self.debias_training:
            self.mean = batch_mean
        else:
            self.mean = (1 - self.momentum) * batch_mean
        return self.predict(logits, head) if self.debias_training else logits

    def predict(self, logits: Tensor, head: nn.Module) -> Tensor:
        """Debiased logits; unchanged while no training batch has been seen."""
        return logits if self.mean is None else logits - self.log_prior(head)

    @torch.no_grad()
    def log_prior(self, head: nn.Module) -> Tensor:
        """log softmax(head(mean feature)), [c]."""
        if self.mean is None:
            raise InvalidInput("RECORDS", "a training batch before its prior is asked for", "none so far")
        scores: Tensor = head(self.mean.to(next(head.parameters())))
        return scores.log_softmax(-1)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint must hold."""
        return {"mean": self.mean}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where ``state_dict`` was taken."""
        self.mean = state["mean"]


@dataclass(frozen=True)
class RecordsSettings(WeakSettings):
    """``momentum`` of the mean feature, and whether training debiases too, not prediction alone."""

    momentum: float = 0.9
    debias_training: bool = True


class Debiased(WeakMethod):
    """RECORDS around SL."""

    printed = "RECORDS"
    Settings = RecordsSettings
    settings: RecordsSettings

    def __init__(self, sigma: Sigma, settings: RecordsSettings) -> None:
        super().__init__(sigma, settings)
        self.records = Records(settings.momentum, settings.debias_training)

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        self.records.mean = None

    def sample_losses(self, batch: Batch) -> Tensor:
        logits = self.records.train(batch.logits, batch.features, batch.head)
        return semantic_losses(self, batch._replace(logits=logits))

    def debias(self, logits: Tensor, head: nn.Module) -> Tensor:
        return self.records.predict(logits, head)

    def state_dict(self) -> dict[str, Any]:
        return self.records.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.records.load_state_dict(state)
