"""Logit adjustment: scores divided by a power of the label ratios."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from nslimb.adjustment.base import Adjustment, Setting
from nslimb.adjustment.inputs import check_instance_scores, check_positive, check_settings
from nslimb.checks import check_ratios


def logit_adjustment(log_scores: Tensor, ratios: Any, tau: Any) -> Tensor:
    """log softmax(log P - tau log r): [n, c] -> [n, c], or [T, n, c] for a vector of T values of tau.

    A class of ratio 0 cannot occur and gets probability 0. tau = 0 changes nothing else. Logits in place of log P
    would differ by a number a row: the predictions are the same.

    Parameters
    ----------
    log_scores
        Log-probabilities [n, c].
    ratios
        Label ratios [c].
    tau
        The strength, a number or a vector [T].

    Returns
    -------
    Tensor
        Log-probabilities [n, c], or [T, n, c].

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> logit_adjustment(torch.tensor([[0.6, 0.4]]).log(), ratios=[0.75, 0.25], tau=1.0).exp()
    tensor([[0.3333, 0.6667]])
    """
    scores = check_instance_scores(log_scores)
    given = torch.from_numpy(check_ratios(ratios, None, scores.shape[-1])).to(scores.device)
    strength = check_positive("tau", tau, allow_zero=True).to(scores.device)
    impossible = given == 0
    # In double precision, and never all -inf: tau log r may be 1e5 times larger than what tells classes apart.
    finite = scores.double().clamp_min(-1e30)
    adjusted = finite - strength[..., None, None] * given.masked_fill(impossible, 1.0).log()
    return adjusted.masked_fill(impossible, float("-inf")).log_softmax(-1).to(scores.dtype)


class LogitAdjustment(Adjustment):
    """Logit adjustment at test time: subtracts tau times the logarithm of the estimated label ratios from the scores.

    On the paper's grid: 20 values of tau, evenly spaced in logarithm from 1e-5 to 1e4.
    """

    name = "la"
    printed = "LA"

    def grid(self) -> list[dict[str, float]]:
        return [{"tau": tau} for tau in torch.logspace(-5, 4, 20, dtype=torch.float64).tolist()]

    def strength(self, setting: Setting) -> tuple[float, ...]:
        return (setting["tau"],)

    def apply(self, log_scores: Tensor, ratios: Any, settings: Sequence[Setting]) -> Tensor:
        (taus,) = check_settings(settings, ("tau",), allow_zero=True)
        return logit_adjustment(log_scores, ratios, taus)
