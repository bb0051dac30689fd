"""A loss that knows the prior: where the network starts, and what its mean prediction must explain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nslimb.checks import check_bool, check_count, check_number
from nslimb.data.samples import Samples
from nslimb.errors import InvalidInput
from nslimb.learning.methods.base import Batch, WeakSettings
from nslimb.learning.methods.ratios import Alg1Ratios
from nslimb.learning.methods.sl import semantic_losses
from nslimb.learning.semantic import with_noise
from nslimb.marginals.likelihood import WeakLikelihood
from nslimb.marginals.observations import observed_likelihood
from nslimb.networks import Classifier
from nslimb.sigma.component import Sigma

_LEAST_RATIO = 1e-4
_MOMENTUM = 0.9


@dataclass(frozen=True)
class PriorSettings(WeakSettings):
    """``bias``: start the last layer's bias at log r; ``psi``: the weight of the term on the mean prediction.

    The term joins the loss after ``psi_after`` epochs.
    """

    bias: bool = True
    psi: float = 1.0
    psi_after: int = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool("bias", self.bias)
        check_number("psi", self.psi)
        check_count("psi_after", self.psi_after, least=0)


class SlPrior(Alg1Ratios):
    """Semantic loss that starts from the estimated label ratios and asks the mean prediction to explain weak labels.

    The start is the last layer's bias, at the logarithm of the ratios.

    With m the moving average of the predictions (momentum 0.9, from the ratios r on; the gradient is that of the newest
    batch) and p the observed frequencies of the weak labels, the loss gains psi times -sum_s p_s log Psi_s(m): what
    weak labels tell of the marginal is held, and nothing else is. With a noise rate e it is (1 - e) Psi_s(m) + e / S.
    """

    printed = "SL-prior"
    Settings = PriorSettings
    settings: PriorSettings

    def __init__(self, sigma: Sigma, settings: PriorSettings, **given: Any) -> None:
        super().__init__(sigma, settings, **given)
        self.mean: Tensor | None = None  # [M, c]
        self.seen: Tensor | None = None  # indices of the weak labels that occur
        self.shares: Tensor | None = None  # their frequencies, or those that the likelihood counts
        self.alike: Tensor | None = None  # which positions share a marginal, bool [M, M]; None: all do
        self.likelihood: WeakLikelihood | None = None  # in their place, for sets and families

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        if self.settings.psi == 0:
            return
        self.mean = self.ratios.expand(self.sigma.arity, -1).float()
        self.alike = _alike(self.sigma.groups)
        self.likelihood = observed_likelihood(samples.train_weak, self.sigma, None, False, 0.0)
        if self.likelihood is not None:
            self.shares = torch.from_numpy(self.likelihood.shares)
            return
        counts = np.bincount(samples.train_weak, minlength=len(self.sigma.weak_labels))
        self.seen = torch.from_numpy(np.flatnonzero(counts))
        self.shares = torch.from_numpy(counts[counts > 0] / counts.sum()).float()

    def begin_network(self, network: nn.Module) -> None:
        if not self.settings.bias:
            return
        layer = network.last_layer if isinstance(network, Classifier) else None
        if layer is None or layer.bias is None:
            raise InvalidInput("network", "a last linear layer with a bias", type(network).__name__)
        by_class = self.ratios.expand(self.sigma.arity, -1).mean(dim=0)
        prior = (by_class + _LEAST_RATIO).log()
        with torch.no_grad():
            layer.bias.copy_(prior - prior.mean())

    def sample_losses(self, batch: Batch) -> Tensor:
        return semantic_losses(self, batch)

    def loss(self, batch: Batch) -> Tensor:
        losses = super().loss(batch)
        if self.settings.psi == 0 or self.epochs_done < self.settings.psi_after:
            return losses
        return losses + self.settings.psi * self.mean_loss(batch)

    def mean_loss(self, batch: Batch) -> Tensor:
        """-sum_s p_s log Psi_s of the moving mean prediction, given that there is a weak label; a scalar."""
        if self.mean is None:
            raise InvalidInput("samples", "training samples before the first batch", "none so far")
        before = self._at_hand(self.mean, batch.logits.device)
        newest = _shared(_mean_prediction(batch, before), self.alike)
        mean = _MOMENTUM * before + (1 - _MOMENTUM) * newest
        self.mean = mean.detach()
        if self.shares is None:
            raise InvalidInput("samples", "training samples before the first batch", "none so far")
        if self.likelihood is not None:
            log_probs = self.likelihood.log_probs(mean.log().unsqueeze(0))[0]
            return -(self.shares.to(log_probs) * log_probs).sum()
        log_psi = self.sigma.log_prob(mean.log().unsqueeze(0))[0].log_softmax(0)
        observed = -log_psi[self.seen]
        losses = with_noise(observed, self.noise, len(log_psi)) if self.noise else observed
        return (self.shares * losses).sum()

    def _at_hand(self, mean: Tensor, device: torch.device) -> Tensor:
        """The mean on the batch's device; what goes with it is moved there once, not with each batch."""
        if self.shares is not None and self.shares.device != device:
            self.shares = self.shares.to(device)
            self.seen = None if self.seen is None else self.seen.to(device)
            self.alike = None if self.alike is None else self.alike.to(device)
        return mean.to(device)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "mean": self.mean}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.mean = state["mean"]


def _mean_prediction(batch: Batch, before: Tensor) -> Tensor:
    """The mean prediction of each position [M, c]; what it was ``before`` where no sample of the batch has it."""
    predicted = batch.logits.softmax(-1)
    if batch.used is None:
        return predicted.mean(dim=0)
    number = batch.used.sum(dim=0).unsqueeze(-1)
    mean = (predicted * batch.used.unsqueeze(-1)).sum(dim=0) / number.clamp_min(1)
    return torch.where(number > 0, mean, before)


def _alike(groups: tuple[int, ...] | None) -> Tensor | None:
    """Which positions share a marginal, [M, M]; None where all do."""
    if groups is None:
        return None
    member = torch.tensor(groups)
    return member.unsqueeze(1) == member


def _shared(by_position: Tensor, alike: Tensor | None) -> Tensor:
    """Means [M, c] over the positions that share a marginal."""
    if alike is None:
        return by_position.mean(dim=0, keepdim=True).expand_as(by_position)
    same = alike.to(by_position)
    return (same / same.sum(dim=1, keepdim=True)) @ by_position
