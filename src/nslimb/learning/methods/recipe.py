"""The recipe: what to train with where nothing else is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nslimb.learning.methods.prior import PriorSettings, SlPrior


@dataclass(frozen=True)
class RecipeSettings(PriorSettings):
    """Weights by weak label, the prior as the first bias, and as many wrong labels as held-out samples tell of."""

    gamma: float = 0.5
    noise: float | Literal["auto"] = "auto"
    psi: float = 0.0


class Recipe(SlPrior):
    """SL whose samples are weighed by the rarity of their weak labels and whose last bias starts at the log-ratios."""

    printed = "recipe"
    Settings = RecipeSettings
