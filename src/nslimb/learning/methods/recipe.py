"""The recipe: what to train with where nothing else is known."""

from __future__ import annotations

from dataclasses import dataclass

from nslimb.learning.methods.prior import PriorSettings, SlPrior


@dataclass(frozen=True)
class RecipeSettings(PriorSettings):
    """Weights by weak label, and the prior as the first bias."""

    gamma: float = 0.5
    psi: float = 0.0


class Recipe(SlPrior):
    """SL whose samples are weighed by the rarity of their weak labels and whose last bias starts at the log-ratios."""

    printed = "recipe"
    Settings = RecipeSettings
