"""Transport over pre-images with ratios that are known: the cure of reasoning shortcuts that ratios can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from nslimb.checks import check_count, check_number
from nslimb.errors import InvalidInput
from nslimb.learning.methods.ratios import Alg1Ratios
from nslimb.learning.methods.sot import Sot, SotSettings
from nslimb.sigma.component import Sigma


@dataclass(frozen=True)
class TransportSettings(SotSettings):
    """``ratios``: those that were given, or Algorithm 1's.

    Training starts with ``eta`` and ``tau``, then with each of ``other_taus`` in place of tau and each of
    ``other_etas`` in place of eta, and ``restarts`` times more with each of them from other weights; the start that
    explains the weak validation samples best is the result. A larger tau finds the ratios where the labels are not
    fitted otherwise; a smaller eta makes up its mind where all readings look alike at first, as the bits of a parity.
    """

    ratios: Literal["given", "estimated"] = "given"
    other_taus: tuple[float, ...] = (30.0,)
    other_etas: tuple[float, ...] = (0.3,)
    restarts: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("restarts", self.restarts, least=0)
        for tau in check_several("other_taus", self.other_taus):
            check_number("other_taus", tau)
        for eta in check_several("other_etas", self.other_etas):
            check_number("other_etas", eta, above=True)
        if self.ratios not in ("given", "estimated"):
            raise InvalidInput("ratios", "'given' or 'estimated'", repr(self.ratios))


def check_several(argument: str, values: Any) -> tuple[Any, ...]:
    """A tuple or a list of settings as a tuple."""
    if not isinstance(values, (tuple, list)):
        raise InvalidInput(argument, "a tuple or a list", repr(values))
    return tuple(values)


class Transport(Alg1Ratios, Sot):
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

    @classmethod
    def starts(cls, settings: TransportSettings) -> Sequence[tuple[TransportSettings, int]]:
        """Each tau and each eta with each restart."""
        tried = [(settings.eta, settings.tau)]
        tried += [(settings.eta, tau) for tau in settings.other_taus]
        tried += [(eta, settings.tau) for eta in settings.other_etas]
        return [
            (replace(settings, eta=eta, tau=tau), again)
            for eta, tau in dict.fromkeys(tried)
            for again in range(settings.restarts + 1)
        ]
