"""The recipe: what to train with where nothing else is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from nslimb.checks import check_count
from nslimb.data.samples import Samples
from nslimb.learning.methods.base import WeakSettings, finds_noise
from nslimb.learning.methods.prior import PriorSettings, SlPrior
from nslimb.learning.methods.sl_decay import DecaySettings
from nslimb.sigma.component import Sigma

# The share of wrong labels that the first ratios allow for: a handful of wrong labels must not make a class.
_SUSPECTED = 0.02


@dataclass(frozen=True)
class RecipeSettings(DecaySettings, PriorSettings):
    """Weights by weak label after ``gamma_after`` epochs, the prior as the first bias, and the noise as it shows.

    The steps shrink from the share ``decay_after`` of the epochs on.
    """

    gamma: float = 0.5
    gamma_after: int = 8
    psi: float = 0.0
    noise: float | Literal["auto"] = "auto"
    decay_after: float = 0.7

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("gamma_after", self.gamma_after, least=0)


class Recipe(SlPrior):
    """Our advice where nothing else is known: semantic loss that starts from the estimated label ratios; after some
    epochs rare weak labels weigh more, and wrong ones less.

    The start is the last layer's bias, at the logarithm of the ratios.

    Weights make rare weak labels heard, and wrong labels are rare ones. So the first epochs go without: the network
    learns the frequent classes, which is enough to see how many weak labels contradict what it is sure of. A few heavy
    samples move a network to and fro, so that the last third of the epochs takes ever smaller steps.
    """

    printed = "recipe"
    Settings = RecipeSettings
    settings: RecipeSettings

    @classmethod
    def suspected(cls, settings: WeakSettings, sigma: Sigma, samples: Samples) -> float:
        return _SUSPECTED if finds_noise(settings, sigma, samples) else super().suspected(settings, sigma, samples)

    def pace(self, done: float) -> float:
        return self.settings.pace(done)

    @property
    def weights_in_use(self) -> Tensor | None:
        return self.weights if self.epochs_done >= self.settings.gamma_after else None
