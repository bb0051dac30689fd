"""How Algorithm 1 as the paper runs it, Adam on softmax logits, depends on learning rate and temperature."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nslimb.adjustment.inputs import check_positive
from nslimb.arrays import FloatArray
from nslimb.checks import check_count
from nslimb.marginals.estimate import NotIdentified, estimate_marginal
from nslimb.seeds import numpy_generator
from nslimb.sigma.component import Sigma
from nslimb.theory.identify import weak_ratios

LEARNING_RATES = (0.1, 0.01, 0.001, 0.0001)
TEMPERATURES = (0.1, 0.5, 1.0, 2.0, 5.0)
# torch.optim.Adam's own.
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8
# Weak labels in number so that nothing but the rank of Psi's Jacobian leaves a direction open.
_MANY = 1e15


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Total variation between estimated and true ratios for A learning rates, B temperatures and n starts."""

    learning_rates: FloatArray  # [A]
    temperatures: FloatArray  # [B]
    ratios: FloatArray  # [A, B, n, c], the estimates
    total_variation: FloatArray  # [A, B, n]
    mean: FloatArray  # [A, B], over the starts
    variance: FloatArray  # [A, B]
    newton: float  # total variation of our own solver, which has none of these settings


def sensitivity(
    sigma: Sigma,
    ratios: Any,
    *,
    learning_rates: Sequence[float] = LEARNING_RATES,
    temperatures: Sequence[float] = TEMPERATURES,
    starts: int = 20,
    steps: int = 10_000,
    seed: int = 1,
) -> Sensitivity:
    """Run Adam on u with r = softmax(u / temperature) for every setting and start, all of them in one batch.

    The weak ratios are exact, Psi_sigma(r) for the true ``ratios`` r [c] above 0, so that what remains is the solver's
    own error. Starts are the same for every setting: u standard normal. Settings and steps default to the paper's.

    >>> found = sensitivity(Sigma.from_function(max, 3, 2), [0.5, 0.3, 0.2], starts=2, steps=200)
    >>> found.mean.shape, bool(found.mean[0, 2] < 1e-3), found.newton < 1e-6
    ((4, 5), True, True)
    """
    shares = weak_ratios(sigma, ratios)
    truth = np.asarray(ratios, dtype=np.float64)
    rates = check_positive("learning_rates", list(learning_rates))
    scales = check_positive("temperatures", list(temperatures))
    initial = numpy_generator(seed, "sensitivity").standard_normal((check_count("starts", starts), sigma.num_classes))
    shape = (len(rates), len(scales), starts, sigma.num_classes)
    logits = torch.from_numpy(initial).expand(shape).reshape(-1, sigma.num_classes).clone()
    rate, scale = (part.expand(shape[:3]).reshape(-1, 1) for part in (rates[:, None, None], scales[None, :, None]))
    found = _adam(sigma, torch.from_numpy(shares), logits, rate, scale, check_count("steps", steps))
    estimates = found.numpy().reshape(shape)
    distance = 0.5 * np.abs(estimates - truth).sum(axis=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotIdentified)
        own = estimate_marginal(_MANY * shares, sigma, counts=True).ratios.numpy()
    return Sensitivity(
        learning_rates=rates.numpy(),
        temperatures=scales.numpy(),
        ratios=estimates,
        total_variation=distance,
        mean=distance.mean(axis=-1),
        variance=distance.var(axis=-1),
        newton=float(0.5 * np.abs(own - truth).sum()),
    )


def _adam(sigma: Sigma, shares: Tensor, logits: Tensor, rate: Tensor, scale: Tensor, steps: int) -> Tensor:
    """Adam on the logits [n, c], each row with a rate and a temperature [n, 1] of its own; the ratios [n, c] at last.

    The gradient of sum_j p_j log Psi_j in log r are the expected counts N; through the softmax it is
    (N - r sum N) / temperature.
    """
    impossible = ~torch.from_numpy(sigma.accepted.any(axis=0))
    seen = shares > 0
    weights = shares[seen]
    first, second = torch.zeros_like(logits), torch.zeros_like(logits)
    for step in range(1, steps + 1):
        log_ratios = (logits / scale).masked_fill_(impossible, float("-inf")).log_softmax(-1)
        scores = log_ratios.unsqueeze(1).expand(-1, sigma.arity, -1).requires_grad_()
        with torch.enable_grad():
            value = (sigma.log_prob(scores)[:, seen] @ weights).sum()
        counts = torch.autograd.grad(value, scores)[0].sum(dim=1)
        gradient = (log_ratios.exp() * counts.sum(dim=1, keepdim=True) - counts) / scale
        first.lerp_(gradient, 1 - _BETA_1)
        second.mul_(_BETA_2).addcmul_(gradient, gradient, value=1 - _BETA_2)
        spread = (second / (1 - _BETA_2**step)).sqrt_().add_(_EPSILON)
        logits -= rate / (1 - _BETA_1**step) * first / spread
    return (logits / scale).masked_fill_(impossible, float("-inf")).softmax(-1)
