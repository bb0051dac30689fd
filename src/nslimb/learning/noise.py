"""How many weak labels are wrong, told by held-out weak samples."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma

# A network is surer than it should be. Cooled down by one of these, its mistakes look less like wrong labels.
_TEMPERATURES = (1.0, 1.5, 2.0, 3.0, 4.0)
_STEPS = 50
_MOST = 0.5


@torch.no_grad()
def estimate_noise(log_scores: Tensor, weak: Any, sigma: Sigma) -> float:
    """The share e of weak labels that were redrawn uniformly, by maximum likelihood over e and a temperature T.

    With P_T(s) the probability of the weak label s under the scores [B, M, c] at temperature T, and S weak labels,

        max over e and T of  sum_b log((1 - e) P_T(s_b) + e / S).

    The samples must be held out: on those that a network was trained on it has learned the wrong labels too. The
    steps of expectation and maximisation over e go for all T at once, from e = 0.1 on; the result is at most 0.5.

    >>> sigma = Sigma.from_function(max, num_classes=4, arity=2)
    >>> generator = torch.Generator().manual_seed(0)
    >>> labels = torch.randint(4, (2000, 2), generator=generator)
    >>> weak = sigma.apply(labels)
    >>> weak[:100] = torch.randint(4, (100,), generator=generator)  # 5 % redrawn
    >>> scores = (8 * torch.nn.functional.one_hot(labels, 4).double()).log_softmax(-1)
    >>> round(estimate_noise(scores, weak, sigma), 2)
    0.05
    """
    if len(log_scores) == 0:
        raise InvalidInput("log_scores", "at least one held-out sample", "none")
    number = len(sigma.weak_labels)
    observed = torch.stack(
        [sigma.log_likelihood((log_scores.double() / t).log_softmax(-1), weak) for t in _TEMPERATURES]
    ).exp()
    share = torch.full((len(_TEMPERATURES), 1), 0.1, dtype=torch.float64, device=observed.device)
    for _ in range(_STEPS):
        mixed = (1 - share) * observed + share / number
        share = (share / number / mixed).mean(dim=1, keepdim=True).clamp(max=_MOST)
    value = ((1 - share) * observed + share / number).log().mean(dim=1)
    return float(share[value.argmax()])
