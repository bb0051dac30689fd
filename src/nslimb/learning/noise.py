"""How many weak labels are wrong, told by how well the others are explained."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from nslimb.errors import InvalidInput

_STEPS = 200
_MOST = 0.5


class NoiseRate(NamedTuple):
    """A share of wrong weak labels, and by how many nats it explains all of them better than none does."""

    rate: float
    gain: float


@torch.no_grad()
def estimate_noise(log_likelihoods: Tensor, num_weak: int) -> NoiseRate:
    """The share e of weak labels that were redrawn uniformly, by maximum likelihood.

    With P_l the probability that a classifier gives to the weak label of sample l, and S weak labels in all,

        max over e in [0, 1/2] of  sum_l log((1 - e) P_l + e / S).

    A classifier that is learning tells best on the samples as they come, before it learns them by heart.

    Parameters
    ----------
    log_likelihoods
        log P_l, [m].
    num_weak
        S.

    Returns
    -------
    NoiseRate
        ``rate`` e, and ``gain``, its log-likelihood less that of e = 0.

    Examples
    --------
    >>> sure, wrong = torch.full((95,), 0.99), torch.full((5,), 1e-9)
    >>> found = estimate_noise(torch.cat([sure, wrong]).log(), num_weak=10)
    >>> round(found.rate, 3), round(found.gain)
    (0.056, 73)
    """
    if log_likelihoods.dim() != 1 or len(log_likelihoods) == 0:
        raise InvalidInput("log_likelihoods", "one number for each sample, [m]", list(log_likelihoods.shape))
    chance, uniform = log_likelihoods.double().exp(), 1 / num_weak
    rate = torch.full((), 0.1, dtype=torch.float64, device=chance.device)
    for _ in range(_STEPS):  # expectation and maximisation
        rate = (rate * uniform / ((1 - rate) * chance + rate * uniform)).mean().clamp(max=_MOST)
    gain = (((1 - rate) * chance + rate * uniform).log() - log_likelihoods.double()).sum()
    return NoiseRate(float(rate), float(gain))
