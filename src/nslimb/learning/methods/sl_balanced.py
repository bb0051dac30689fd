"""SL with samples weighed by how rare their weak labels are."""

from __future__ import annotations

from dataclasses import dataclass

from nslimb.learning.methods.base import WeakSettings
from nslimb.learning.methods.sl import Semantic


@dataclass(frozen=True)
class BalancedSettings(WeakSettings):
    """Weights p^-0.5 by the frequency p of a sample's weak label."""

    gamma: float = 0.5


class SlBalanced(Semantic):
    """Semantic loss in which samples with rare weak labels weigh more.

    Rare weak labels have small pre-images: their samples tell rare classes apart, and plain SL drowns them.
    """

    printed = "SL-balanced"
    Settings = BalancedSettings
