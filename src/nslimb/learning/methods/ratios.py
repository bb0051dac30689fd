"""Where a method's label ratios come from: Algorithm 1, the truth, or SoLar's window over its own predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from nslimb.checks import check_ratios
from nslimb.data.samples import Samples
from nslimb.errors import InvalidInput
from nslimb.learning.methods.base import WeakMethod, WeakSettings
from nslimb.marginals.training import training_ratios
from nslimb.marginals.window import SlidingWindow
from nslimb.sigma.component import Sigma


class FixedRatios(WeakMethod):
    """Ratios [c], or [M, c] where positions differ, that stay as they are."""

    def __init__(self, sigma: Sigma, settings: Any, **given: Any) -> None:
        super().__init__(sigma, settings, **given)
        ratios = given.get(self.needs[0])
        self.known = None if ratios is None else torch.from_numpy(check_ratios(ratios, sigma.arity, sigma.num_classes))
        self.fixed = self.known

    @property
    def ratios(self) -> Tensor:
        if self.fixed is None:
            raise InvalidInput(self.needs[0], "ratios, or training samples to estimate them from", "neither so far")
        return self.fixed

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "ratios": self.ratios.tolist()}


class Alg1Ratios(FixedRatios):
    """Algorithm 1's, estimated from the training samples of each run where they are not given."""

    needs: ClassVar[tuple[str, ...]] = ("estimated_ratios",)

    @classmethod
    def asks(cls, settings: WeakSettings, sigma: Sigma, samples: Samples) -> Sequence[str]:
        """No estimate where wrong labels are allowed for: the grid's takes all labels to be right."""
        asked = super().asks(settings, sigma, samples)
        wary = cls.suspected(settings, sigma, samples) > 0
        return [need for need in asked if not (wary and need == "estimated_ratios")]

    @classmethod
    def suspected(cls, settings: WeakSettings, sigma: Sigma, samples: Samples) -> float:  # noqa: ARG003
        """The share of wrong labels that the estimate allows for."""
        return 0.0 if isinstance(settings.noise, str) else settings.noise

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        if self.known is None:
            suspected = self.suspected(self.settings, self.sigma, samples)
            self.fixed = training_ratios(samples.train_weak, self.sigma, suspected)


class GoldRatios(FixedRatios):
    """The true ones. An oracle."""

    oracle = True
    needs = ("gold_ratios",)

    def __init__(self, sigma: Sigma, settings: Any, **given: Any) -> None:
        if given.get("gold_ratios") is None:
            raise InvalidInput("gold_ratios", "the true ratios, for an oracle", None)
        super().__init__(sigma, settings, **given)


class WindowRatios(WeakMethod):
    """SoLar's moving window over the network's own predictions; ``settings.pre_epochs`` find them first."""

    def __init__(self, sigma: Sigma, settings: Any, **given: Any) -> None:
        super().__init__(sigma, settings, **given)
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

    def end_epoch(self, epoch: int, predict: Callable[[Any], Tensor]) -> bool:
        super().end_epoch(epoch, predict)
        there = torch.from_numpy(self.samples.train >= 0)
        predicted = predict(self.samples.train).argmax(-1)
        self.window.update(predicted, None if bool(there.all()) else there)
        return self.window.phase_ended

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), **self.window.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.window.load_state_dict(state)
