"""RECORDS: logits debiased by a class prior that is read off a momentum-averaged feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from nslimb.checks import check_choice, check_share
from nslimb.data.samples import Samples
from nslimb.errors import InvalidInput
from nslimb.learning.methods.base import Batch, WeakMethod, WeakSettings
from nslimb.learning.methods.sl import semantic_losses
from nslimb.sigma.component import Sigma

Debias = Literal["both", "train", "predict", "none"]
# Added to the prior before its logarithm: nothing is debiased by more than 20.7.
_LEAST_PRIOR = 1e-9


class Records:
    """Debias logits by log(prior + 1e-9), the prior softmax(head(mean feature)).

    The mean feature follows the batches with ``momentum``, from the first batch on. ``debias="both"`` trains and
    predicts with debiased logits, which is the method; ``"train"`` and ``"predict"`` do so in one place alone, and
    ``"none"`` nowhere, which is plain SL.

    Examples
    --------
    >>> head = nn.Linear(1, 2, bias=False)
    >>> _ = head.weight.data.copy_(torch.tensor([[0.0], [1.0]]))
    >>> records = Records()
    >>> features = torch.tensor([[2.0], [4.0]])
    >>> records.train(head(features), features, head)  # the mean feature is 3: a prior of softmax(0, 3)
    tensor([[3.0486, 2.0486],
            [3.0486, 4.0486]], grad_fn=<SubBackward0>)
    """

    def __init__(self, momentum: float = 0.9, debias: Debias = "both") -> None:
        check_share("momentum", momentum, "a number from 0 to below 1")
        check_choice("debias", debias, get_args(Debias))
        self.momentum, self.debias = momentum, debias
        self.mean: Tensor | None = None

    def train(self, logits: Tensor, features: Tensor, head: nn.Module, used: Tensor | None = None) -> Tensor:
        """Take in a training batch's features [..., d]; returns the logits [..., c] to compute the loss from.

        ``used`` [...] says which of them are there, where some are not.
        """
        if features.shape[:-1] != logits.shape[:-1] or features.numel() == 0:
            expected = f"at least one feature vector for each of the logits {list(logits.shape)}"
            raise InvalidInput("features", expected, f"shape {list(features.shape)}")
        seen = features.detach()
        batch_mean = (seen.flatten(0, -2) if used is None else seen[used]).mean(dim=0)
        if self.mean is None:
            self.mean = batch_mean
        else:  # one from a checkpoint comes on the CPU
            self.mean = self.momentum * self.mean.to(batch_mean) + (1 - self.momentum) * batch_mean
        return logits - self.log_prior(head) if self.debias in ("both", "train") else logits

    def predict(self, logits: Tensor, head: nn.Module) -> Tensor:
        """Debiased logits; unchanged while no training batch has been seen."""
        debiased = self.mean is not None and self.debias in ("both", "predict")
        return logits - self.log_prior(head) if debiased else logits

    @torch.no_grad()
    def log_prior(self, head: nn.Module) -> Tensor:
        """log(softmax(head(mean feature)) + 1e-9), [c]."""
        if self.mean is None:
            raise InvalidInput("RECORDS", "a training batch before its prior is asked for", "none so far")
        scores: Tensor = head(self.mean.to(next(head.parameters())))
        return (scores.softmax(-1) + _LEAST_PRIOR).log()

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint must hold."""
        return {"mean": self.mean}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where ``state_dict`` was taken."""
        self.mean = state["mean"]


@dataclass(frozen=True)
class RecordsSettings(WeakSettings):
    """``momentum`` of the mean feature, and where logits are debiased."""

    momentum: float = 0.9
    debias: Debias = "both"

    def __post_init__(self) -> None:
        super().__post_init__()
        Records(self.momentum, self.debias)  # refuses what it cannot work with


class Debiased(WeakMethod):
    """Semantic loss on logits from which a running estimate of the network's own bias is subtracted."""

    printed = "RECORDS"
    Settings = RecordsSettings
    settings: RecordsSettings

    def __init__(self, sigma: Sigma, settings: RecordsSettings, **given: Any) -> None:
        super().__init__(sigma, settings, **given)
        self.records = Records(settings.momentum, settings.debias)

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        self.records.mean = None

    def sample_losses(self, batch: Batch) -> Tensor:
        logits = self.records.train(batch.logits, batch.features, batch.head, batch.used)
        return semantic_losses(self, batch._replace(logits=logits))

    def debias(self, logits: Tensor, head: nn.Module) -> Tensor:
        return self.records.predict(logits, head)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), **self.records.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.records.load_state_dict(state)
