"""Logit adjustment: scores divided by a power of the label ratios."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nslimb.adjustment.inputs import check_instance_scores, check_positive
from nslimb.checks import check_ratios


def logit_adjustment(log_scores: Tensor, ratios: Any, tau: Any) -> Tensor:
    """log softmax(log P - tau log r): [n, c] -> [n, c], or [T, n, c] for a vector of T values of tau.

    A class of ratio 0 cannot occur and gets probability 0. tau = 0 changes nothing else.

    >>> logit_adjustment(torch.tensor([[0.6, 0.4]]).log(), ratios=[0.75, 0.25], tau=1.0).exp()
    tensor([[0.3333, 0.6667]])
    """
    scores = check_instance_scores(log_scores)
    log_ratios = torch.from_numpy(check_ratios(ratios, None, scores.shape[-1])).to(scores).log()
    strength = check_positive("tau", tau, allow_zero=True).to(scores)
    impossible = log_ratios == float("-inf")
    adjusted = scores - strength[..., None, None] * log_ratios.masked_fill(impossible, 0.0)
    return adjusted.masked_fill(impossible, float("-inf")).log_softmax(-1)
