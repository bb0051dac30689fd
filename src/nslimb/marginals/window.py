"""SoLar's moving window: the marginal read off the classifier's own predictions."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nslimb.checks import as_integers, check_count, check_range
from nslimb.errors import InvalidInput


class SlidingWindow:
    """Ratios r that follow the predictions: r <- (1 - g) r + g * histogram, once an epoch, from uniform.

    The schedule has two phases: in the first ``pre_epochs`` updates g is ``pre_momentum`` and the network is only there
    to find r; then a fresh network starts, r is kept, and g is ``momentum``. ``phase_ended`` is True right after
    the update that ends the first phase: the moment to start the network anew.

    ``arity=None`` keeps one r [c] over all instances; with an arity every position has its own, [M, c] (HWF).

    Examples
    --------
    >>> window = SlidingWindow(num_classes=2, pre_epochs=0, momentum=0.5)
    >>> window.update(torch.tensor([[0, 0], [0, 1]]))
    tensor([0.6250, 0.3750], dtype=torch.float64)
    """

    def __init__(
        self,
        num_classes: int,
        arity: int | None = None,
        pre_epochs: int = 20,
        pre_momentum: float = 0.05,
        momentum: float = 0.01,
    ) -> None:
        shape = [check_count("num_classes", num_classes)]
        if arity is not None:
            shape.insert(0, check_count("arity", arity))
        for name, value in (("pre_momentum", pre_momentum), ("momentum", momentum)):
            if not 0 <= value <= 1:
                raise InvalidInput(name, "a number from 0 to 1", value)
        check_count("pre_epochs", pre_epochs, least=0)
        self.ratios = torch.full(shape, 1 / num_classes, dtype=torch.float64)
        self.updates = 0
        self.pre_epochs, self.pre_momentum, self.momentum = pre_epochs, pre_momentum, momentum

    @property
    def settings(self) -> list[float]:
        """The schedule, as plain values."""
        return [self.pre_epochs, self.pre_momentum, self.momentum]

    def reset(self) -> None:
        """Start again from uniform."""
        self.ratios = torch.full_like(self.ratios, 1 / self.ratios.shape[-1])
        self.updates = 0

    @property
    def phase_ended(self) -> bool:
        """Whether the last update was the last of the pre-estimation."""
        return 0 < self.pre_epochs == self.updates

    def update(self, predictions: Any, there: Tensor | None = None) -> Tensor:
        """Take in the predicted labels [n, M] of an epoch's training instances; returns the new ratios.

        ``there`` [n, M] says which of them count, where some do not.
        """
        classes = self.ratios.shape[-1]
        per_position = self.ratios.dim() == 2
        columns = str(len(self.ratios)) if per_position else "M"
        expected = f"predicted labels 0 to {classes - 1} of shape [n, {columns}], n at least 1"
        labels = as_integers("predictions", predictions, expected).cpu()
        if labels.dim() != 2 or len(labels) == 0 or (per_position and labels.shape[1] != len(self.ratios)):
            raise InvalidInput("predictions", expected, f"shape {list(labels.shape)}")
        check_range("predictions", labels, classes, expected)
        seen = _shares(torch.nn.functional.one_hot(labels, classes).double(), there, per_position)
        weight = self.pre_momentum if self.updates < self.pre_epochs else self.momentum
        self.ratios = torch.where(seen.isnan(), self.ratios, (1 - weight) * self.ratios + weight * seen)
        self.updates += 1
        return self.ratios

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint must hold."""
        return {"ratios": self.ratios, "updates": self.updates}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where ``state_dict`` was taken."""
        if state["ratios"].shape != self.ratios.shape:
            given = f"shape {list(state['ratios'].shape)}"
            raise InvalidInput("state['ratios']", f"shape {list(self.ratios.shape)}", given)
        self.ratios, self.updates = state["ratios"].double(), int(state["updates"])


def _shares(predicted: Tensor, there: Tensor | None, per_position: bool) -> Tensor:
    """How often each label is predicted, [c] or by position [M, c]; NaN at a position without an instance."""
    if there is not None:
        counts = (predicted * there.cpu().unsqueeze(-1)).sum(dim=0)
        counts = counts if per_position else counts.sum(dim=0)
        return counts / counts.sum(dim=-1, keepdim=True)
    seen = predicted.mean(dim=0)
    return seen if per_position else seen.mean(dim=0)
