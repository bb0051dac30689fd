"""Transport over pre-images with ratios that are known: the cure of reasoning shortcuts that ratios can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from nslimb.checks import check_count
from nslimb.data.samples import Samples
from nslimb.errors import InvalidInput
from nslimb.learning.methods.ratios import FixedRatios
from nslimb.learning.methods.sot import Sot, SotSettings
from nslimb.marginals.training import training_ratios
from nslimb.sigma.component import Sigma


@dataclass(frozen=True)
class TransportSettings(SotSettings):
    """``ratios``: those that were given, or Algorithm 1's.

    In the grid, training starts with ``tau``, with each of ``other_taus``, and ``restarts`` times more with each of
    them from other weights; the start that explains the weak validation samples best is the result.
    """

    ratios: Literal["given", "estimated"] = "given"
    other_taus: tuple[float, ...] = (30.0,)
    restarts: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("restarts", self.restarts, least=0)
        if self.ratios not in ("given", "estimated"):
            raise InvalidInput("ratios", "'given' or 'estimated'", repr(self.ratios))


class Transport(FixedRatios, Sot):
    """Trains towards soft pseudolabels that explain the weak labels and together have the known ratios of the classes;
    of several starts the one that explains the weak validation samples best.
    """

    printed = "transport"
    needs = ("given_ratios", "estimated_ratios")
    Settings = TransportSettings
    settings: TransportSettings

    def __init__(self, sigma: Sigma, settings: TransportSettings, **given: Any) -> None:
        known = given.get(f"{settings.ratios}_ratios")
        if known is None and settings.ratios == "given":
            expected = "the ratios of the classes (ratios: in a configuration, ratios= or given_ratios= in Python)"
            raise InvalidInput("ratios", expected, None)
        super().__init__(sigma, settings, **{**given, "given_ratios": known})

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        if self.fixed is None:
            self.fixed = training_ratios(samples.train_weak, self.sigma, self.noise)

    @classmethod
    def starts(cls, settings: TransportSettings) -> Sequence[tuple[TransportSettings, int]]:
        """Each tau with each restart."""
        taus = dict.fromkeys((settings.tau, *settings.other_taus))
        return [(replace(settings, tau=tau), again) for tau in taus for again in range(settings.restarts + 1)]
