"""SL with ever smaller steps."""

from __future__ import annotations

from dataclasses import dataclass

from nslimb.checks import check_number
from nslimb.errors import InvalidInput
from nslimb.learning.methods.base import WeakSettings
from nslimb.learning.methods.sl import Semantic


@dataclass(frozen=True)
class DecaySettings(WeakSettings):
    """From the share ``decay_after`` of the epochs on the learning rate falls in a line towards 0; 1 keeps it."""

    decay_after: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if check_number("decay_after", self.decay_after) > 1:
            raise InvalidInput("decay_after", "a share of the epochs, from 0 to 1", self.decay_after)

    def pace(self, done: float) -> float:
        """The share of the learning rate that is left when this share of the epochs is done."""
        return 1.0 if done <= self.decay_after else (1 - done) / (1 - self.decay_after)


class SlDecay(Semantic):
    """Semantic loss, with steps that shrink in the second half of the epochs.

    A sum of many digits is right only if all of them are: what the last steps of a constant size move to and fro is
    little for a digit, and much for the sum.
    """

    printed = "SL, decay"
    Settings = DecaySettings
    settings: DecaySettings

    def pace(self, done: float) -> float:
        return self.settings.pace(done)
