"""ILP: cross-entropy to pseudolabels of the linear program, with ratios that are given or follow SoLar's window."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from nslimb.checks import check_ratios
from nslimb.data.samples import Samples
from nslimb.errors import InvalidInput
from nslimb.learning.methods.base import Batch, WeakMethod, WeakSettings
from nslimb.learning.methods.sl import semantic_losses
from nslimb.learning.programs import Encoding
from nslimb.learning.pseudolabels import pseudolabels
from nslimb.marginals.training import training_ratios
from nslimb.marginals.window import SlidingWindow
from nslimb.sigma.component import Sigma


@dataclass(frozen=True)
class IlpSettings(WeakSettings):
    """``encoding`` of the program, its tolerance ``epsilon`` in counts of a batch, and epochs of SL before it."""

    encoding: Encoding = "hull"
    epsilon: float = 0.99
    integer: bool = False
    warm_up: int = 0


@dataclass(frozen=True)
class EmpSettings(IlpSettings):
    """``pre_epochs`` find the ratios before the network starts anew."""

    pre_epochs: int = 20


class Pseudolabelling(WeakMethod):
    """What the three have in common; in the first ``warm_up`` epochs of the final network the loss is SL's."""

    milliseconds_per_label = 1.0  # at most 0.95 was measured over MAX, SUM and HWF up to M = 7, in both protocols
    settings: IlpSettings

    def __init__(self, sigma: Sigma, settings: IlpSettings) -> None:
        super().__init__(sigma, settings)
        self.epochs_done = 0

    @property
    def ratios(self) -> Tensor:
        raise NotImplementedError

    def sample_losses(self, batch: Batch) -> Tensor:
        if self.pre_epochs <= self.epochs_done < self.pre_epochs + self.settings.warm_up:
            return semantic_losses(self, batch)
        log_scores = batch.logits.log_softmax(-1)
        began = time.perf_counter()
        solved = pseudolabels(
            log_scores.detach(),
            batch.weak,
            self.sigma,
            self.ratios,
            epsilon=self.settings.epsilon,
            encoding=self.settings.encoding,
            proofs=self.settings.proofs,
            integer=self.settings.integer,
        )
        self.lp_seconds += time.perf_counter() - began
        return -(solved.q * log_scores).sum(dim=-1).mean(dim=-1)

    def end_epoch(self, epoch: int, predict: Callable[[], Tensor]) -> bool:  # noqa: ARG002
        self.epochs_done = epoch + 1
        return False

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        self.epochs_done = 0

    def state_dict(self) -> dict[str, Any]:
        return {"epochs_done": self.epochs_done}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.epochs_done = int(state["epochs_done"])


class IlpEmp(Pseudolabelling):
    """ILP(EMP): ratios from SoLar's moving window over the network's own predictions."""

    printed = "ILP(EMP)"
    Settings = EmpSettings
    settings: EmpSettings

    def __init__(self, sigma: Sigma, settings: EmpSettings) -> None:
        super().__init__(sigma, settings)
        self.pre_epochs = settings.pre_epochs
        self.window = self._fresh_window()

    def _fresh_window(self) -> SlidingWindow:
        apart = self.sigma.groups is not None
        return SlidingWindow(self.sigma.num_classes, self.sigma.arity if apart else None, self.pre_epochs)

    @property
    def ratios(self) -> Tensor:
        return self.window.ratios

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        self.window = self._fresh_window()

    def end_epoch(self, epoch: int, predict: Callable[[], Tensor]) -> bool:
        super().end_epoch(epoch, predict)
        self.window.update(predict().argmax(-1))
        return self.window.phase_ended

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), **self.window.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.window.load_state_dict(state)


class GivenRatios(Pseudolabelling):
    """Ratios that stay as they are."""

    Settings = IlpSettings

    def __init__(self, sigma: Sigma, settings: IlpSettings, ratios: Any) -> None:
        super().__init__(sigma, settings)
        self.fixed = None if ratios is None else torch.from_numpy(check_ratios(ratios, sigma.arity, sigma.num_classes))

    @property
    def ratios(self) -> Tensor:
        if self.fixed is None:
            raise InvalidInput("ratios", "ratios, or training samples to estimate them from", "neither so far")
        return self.fixed

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "ratios": self.ratios.tolist()}


class IlpAlg1(GivenRatios):
    """ILP(ALG1): ratios from Algorithm 1."""

    printed = "ILP(ALG1)"
    needs = ("estimated_ratios",)

    def __init__(self, sigma: Sigma, settings: IlpSettings, estimated_ratios: Any = None) -> None:
        super().__init__(sigma, settings, estimated_ratios)

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        if self.fixed is None:
            self.fixed = training_ratios(samples.train_weak, self.sigma)


class IlpGold(GivenRatios):
    """ILP(GOLD): the true ratios. An oracle."""

    printed = "ILP(GOLD)"
    oracle = True
    needs = ("gold_ratios",)

    def __init__(self, sigma: Sigma, settings: IlpSettings, gold_ratios: Any = None) -> None:
        if gold_ratios is None:
            raise InvalidInput("gold_ratios", "the true ratios for ilp-gold", None)
        super().__init__(sigma, settings, gold_ratios)
