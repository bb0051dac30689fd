"""SOT: soft pseudolabels by transport over pre-images, with ratios of three origins."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nslimb.checks import check_count, check_number
from nslimb.data.samples import Samples
from nslimb.learning.methods.pseudolabelling import Pseudolabelling, PseudolabelSettings
from nslimb.learning.methods.ratios import Alg1Ratios, GoldRatios, WindowRatios
from nslimb.learning.transport import soft_pseudolabels
from nslimb.sigma.component import Sigma


@dataclass(frozen=True)
class SotSettings(PseudolabelSettings):
    """``eta`` smooths the pseudolabels, ``tau`` is the pull of the ratios."""

    eta: float = 1.0
    tau: float = 10.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("eta", self.eta, above=True)
        check_number("tau", self.tau)


@dataclass(frozen=True)
class SotEmpSettings(SotSettings):
    """``pre_epochs`` find the ratios before the network starts anew."""

    pre_epochs: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("pre_epochs", self.pre_epochs, least=0)


def pools(sigma: Sigma, ratios: Tensor) -> bool | list[int]:
    """Which positions share a marginal, given ratios [c] or [M, c]: all, or those of a group with equal ratios."""
    if ratios.dim() == 1:
        return True
    groups = sigma.groups or (0,) * sigma.arity
    index: dict[tuple[int, tuple[float, ...]], int] = {}
    rows = zip(groups, map(tuple, ratios.tolist()), strict=True)
    return [index.setdefault(row, len(index)) for row in rows]


class NotConverged(UserWarning):
    """Training went on with soft pseudolabels that are not the solution."""


class Sot(Pseudolabelling):
    """The transport; positions that share a marginal are pooled."""

    milliseconds_per_label = 0.05  # at most 0.04 in the published runs
    Settings = SotSettings
    settings: SotSettings

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        self.converged: list[Tensor] = []  # of each batch of this epoch

    def targets(self, log_scores: Tensor, weak: Tensor) -> Tensor:
        ratios, (eta, tau) = self.ratios, (self.settings.eta, self.settings.tau)
        pooled = ratios is not None and pools(self.sigma, ratios)
        found = soft_pseudolabels(log_scores, weak, self.sigma, ratios, eta=eta, tau=tau, pooled=pooled)
        self.converged.append(found.converged)
        return found.q

    def end_epoch(self, epoch: int, predict: Callable[[Any], Tensor]) -> bool:
        missed = int((~torch.stack(self.converged)).sum()) if self.converged else 0
        if missed:
            warnings.warn(
                f"the soft pseudolabels of {missed} of the epoch's {len(self.converged)} batches did not converge, and "
                f"were trained on as they were; a larger eta (here {self.settings.eta:g}) is easier to solve",
                NotConverged,
                stacklevel=2,
            )
        self.converged = []
        return super().end_epoch(epoch, predict)


class SotEmp(WindowRatios, Sot):
    """Trains towards soft pseudolabels, an entropic transport over all label vectors, with the label ratios of SoLar's
    moving window over the network's own predictions.
    """

    printed = "SOT(EMP)"
    Settings = SotEmpSettings


class SotAlg1(Alg1Ratios, Sot):
    """Soft pseudolabels by entropic transport, with the label ratios that Algorithm 1 estimates from weak labels."""

    printed = "SOT(ALG1)"


class SotGold(GoldRatios, Sot):
    """Soft pseudolabels by entropic transport, with the true label ratios: an oracle."""

    printed = "SOT(GOLD)"
