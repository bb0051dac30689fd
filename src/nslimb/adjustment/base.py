"""What an adjustment is: a grid of settings, and scores adjusted by all of them at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from nslimb.errors import InvalidInput
from nslimb.registry import Registry

Setting = Mapping[str, float]


class Adjustment(ABC):
    """Scores of a batch of instances changed in the light of the label ratios, with settings that are to be chosen.

    A setting is a mapping such as ``{"tau": 1.0}``. One's own is a class with ``name``, ``printed``, ``grid`` and
    ``apply``; ``nslimb.select`` and the grid take it as ``path/to/file.py:Class``.

    Examples
    --------
    >>> class Temper(Adjustment):
    ...     name, printed = "temper", "Temper"
    ...     def grid(self):
    ...         return [{"power": 0.5}, {"power": 2.0}]
    ...     def apply(self, log_scores, ratios, settings):
    ...         powers = torch.tensor([setting["power"] for setting in settings])
    ...         return (powers[:, None, None] * log_scores).log_softmax(-1)
    >>> Temper().apply(torch.tensor([[0.8, 0.2]]).log(), [0.5, 0.5], Temper().grid()).exp()
    tensor([[[0.6667, 0.3333]],
    <BLANKLINE>
            [[0.9412, 0.0588]]])
    """

    name: str  # in configurations and results
    printed: str  # in tables and figures

    @abstractmethod
    def grid(self) -> list[dict[str, float]]:
        """The settings to choose from, in the order in which the paper's rule tries them."""

    @abstractmethod
    def apply(self, log_scores: Tensor, ratios: Any, settings: Sequence[Setting]) -> Tensor:
        """Log-scores [n, c] of instances seen together by K settings: [K, n, c]; ratios [c] are an array of sum 1."""

    def apply_batches(self, batches: Tensor, ratios: Any, settings: Sequence[Setting]) -> Tensor:
        """The same for batches of one size, each by itself: [b, n, c] to [K, b, n, c]."""
        return torch.stack([self.apply(batch, ratios, settings) for batch in batches], dim=1)

    def strength(self, setting: Setting) -> tuple[float, ...]:  # noqa: ARG002
        """A key, smallest for the mildest setting, for those that change equally many predictions; else grid order."""
        return ()

    def in_paper(self) -> Adjustment:
        """This adjustment as the paper computes it, for the protocol that follows the paper."""
        return self


ADJUSTMENTS: Registry[type[Adjustment]] = Registry(
    "adjustment",
    {
        "la": "nslimb.adjustment.logit:LogitAdjustment",
        "carot": "nslimb.adjustment.carot:Carot",
    },
)


def as_adjustment(given: Any, base: Path | None = None) -> Adjustment:
    """An adjustment from a registered name, ``path/to/file.py:object`` (seen from ``base``), a class or an object.

    Parameters
    ----------
    given
        A registered name, ``path/to/file.py:object``, a class or an object.
    base
        The folder that such a path starts from; by default the working directory.

    Returns
    -------
    Adjustment
        An object with a grid of settings, ready to be applied.

    Raises
    ------
    InvalidInput
        If it is no adjustment; the message lists those that are known.
    """
    found = ADJUSTMENTS.get(given, base) if isinstance(given, str) else given
    if isinstance(found, type) and issubclass(found, Adjustment):
        try:
            found = found()
        except TypeError as error:  # a method that is missing, or an argument
            raise InvalidInput("adjustment", "a class that needs no arguments", f"{given!r}: {error}") from error
    if not isinstance(found, Adjustment):
        known = ", ".join(ADJUSTMENTS)
        expected = f"one of {known}, or a subclass of nslimb.adjustment.Adjustment"
        what = f"{given!r}, which is" if isinstance(given, str) else ""
        raise InvalidInput("adjustment", expected, f"{what} an object of type {type(found).__name__}".strip())
    for attribute in ("name", "printed"):
        if not isinstance(getattr(found, attribute, None), str):
            raise InvalidInput("adjustment", f"an attribute {attribute!r} of text", f"{type(found).__name__} without")
    return found
