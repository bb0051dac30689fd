"""How sensitive Algorithm 1 is to its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from nslimb import sigma as components
from nslimb.adjustment.inputs import check_positive
from nslimb.arrays import FloatArray
from nslimb.checks import check_count
from nslimb.experiment.config import Config
from nslimb.experiment.studies.base import Study
from nslimb.marginals.likelihood import WeakLikelihood
from nslimb.marginals.starts import best_start
from nslimb.plotting import COLOURS, legend_above, panels, styled
from nslimb.seeds import numpy_generator
from nslimb.sigma.component import Sigma
from nslimb.theory.identify import weak_ratios
from nslimb.theory.inputs import check_positive_ratios

LEARNING_RATES = (0.1, 0.01, 0.001, 0.0001)
TEMPERATURES = (0.1, 0.5, 1.0, 2.0, 5.0)
# torch.optim.Adam's own.
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8
# The shares here are exact, as if from endlessly many weak labels. With so large a number of them, even a small misfit
# of a local maximum is more than chance allows, so that the search for the global one goes on.
_MANY = 1e9


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Total variation between estimated and true ratios for A learning rates, B temperatures and n starts."""

    learning_rates: FloatArray  # [A]
    temperatures: FloatArray  # [B]
    truth: FloatArray  # [A, B, c], the true ratios of each run
    ratios: FloatArray  # [A, B, n, c], the estimates
    total_variation: FloatArray  # [A, B, n]
    mean: FloatArray  # [A, B], over the starts
    variance: FloatArray  # [A, B]
    newton: float  # mean over the runs of the total variation of our own solver, which has none of these settings


def sensitivity(
    sigma: Sigma,
    ratios: Any = None,
    *,
    learning_rates: Sequence[float] = LEARNING_RATES,
    temperatures: Sequence[float] = TEMPERATURES,
    starts: int = 20,
    steps: int = 10_000,
    seed: int = 1,
) -> Sensitivity:
    """Run Adam on u with r = softmax(u / temperature) for every setting and start, all of them in one batch.

    A run is a learning rate with a temperature. As in the paper, each run has true ratios of its own, drawn at random
    (uniformly from the simplex; the paper does not say how), and ``starts`` points to start from, u standard normal.
    With ``ratios`` [c] above 0 these are the true ones of every run. The weak ratios are exact, Psi_sigma(r), so that
    what remains is the solver's own error. Settings and steps default to the paper's.

    Examples
    --------
    >>> found = sensitivity(Sigma.from_function(max, 3, 2), [0.5, 0.3, 0.2], starts=2, steps=200)
    >>> found.mean.shape, bool(found.mean[0, 2] < 1e-3), found.newton < 1e-6
    ((4, 5), True, True)
    """
    size = Sigma.check(sigma).num_classes
    rates = check_positive("learning_rates", list(learning_rates))
    scales = check_positive("temperatures", list(temperatures))
    shape = (len(rates), len(scales), check_count("starts", starts), size)
    if ratios is None:
        truth = numpy_generator(seed, "sensitivity", "truth").dirichlet(np.ones(size), size=shape[:2])
    else:
        truth = np.broadcast_to(check_positive_ratios(ratios, size), (*shape[:2], size))
    shares = np.stack([weak_ratios(sigma, row) for row in truth.reshape(-1, size)])
    logits = torch.from_numpy(numpy_generator(seed, "sensitivity", "starts").standard_normal(shape)).reshape(-1, size)
    rate, scale = (part.expand(shape[:3]).reshape(-1, 1) for part in (rates[:, None, None], scales[None, :, None]))
    likelihood = WeakLikelihood.from_weak(np.ones(len(sigma.weak_labels)), sigma, None, counts=True)
    with torch.inference_mode(False), torch.enable_grad():
        repeated = np.repeat(shares, starts, axis=0)
        found = _adam(likelihood, repeated, logits, rate, scale, check_count("steps", steps))
        own = np.stack([best_start(replace(likelihood, shares=row, samples=_MANY))[0][0] for row in shares])
    estimates = found.numpy().reshape(shape)
    distance = 0.5 * np.abs(estimates - truth[:, :, None]).sum(axis=-1)
    return Sensitivity(
        learning_rates=rates.numpy(),
        temperatures=scales.numpy(),
        truth=truth,
        ratios=estimates,
        total_variation=distance,
        mean=distance.mean(axis=-1),
        variance=distance.var(axis=-1),
        newton=float(0.5 * np.abs(own.reshape(truth.shape) - truth).sum(axis=-1).mean()),
    )


def _adam(
    likelihood: WeakLikelihood, shares: FloatArray, logits: Tensor, rate: Tensor, scale: Tensor, steps: int
) -> Tensor:
    """Adam on the logits [n, c], each row with shares, a rate and a temperature of its own; the ratios [n, c] at last.

    With N the gradient of l in log r, that through the softmax is (N - r sum N) / temperature.
    """
    impossible = ~torch.from_numpy(likelihood.possible[0])
    logits = logits.clone()
    first, second = torch.zeros_like(logits), torch.zeros_like(logits)
    for step in range(1, steps + 1):
        ratios = (logits / scale).masked_fill_(impossible, float("-inf")).softmax(-1)
        slopes = torch.from_numpy(likelihood.values_and_slopes(ratios.numpy()[:, None], shares)[1][:, 0])
        gradient = (ratios * slopes.sum(dim=1, keepdim=True) - slopes) / scale
        first.lerp_(gradient, 1 - _BETA_1)
        second.mul_(_BETA_2).addcmul_(gradient, gradient, value=1 - _BETA_2)
        spread = (second / (1 - _BETA_2**step)).sqrt_().add_(_EPSILON)
        logits -= rate / (1 - _BETA_1**step) * first / spread
    return (logits / scale).masked_fill_(impossible, float("-inf")).softmax(-1)


def compute(_config: Config | None = None) -> pd.DataFrame:
    """Algorithm 1 with Adam on MAX-3 by learning rate and temperature, for random true ratios from 20 starts each."""
    found = sensitivity(components.maximum(3))
    index = pd.MultiIndex.from_product(
        [found.learning_rates, found.temperatures], names=["learning_rate", "temperature"]
    )
    values = {"mean": found.mean.ravel(), "variance": found.variance.ravel(), "newton": found.newton}
    frame: pd.DataFrame = pd.DataFrame(values, index=index).reset_index()
    return frame


@styled
def draw(frame: pd.DataFrame) -> Any:
    figure, axes = panels(2, height=2.4, columns=2)
    for axis, measure in zip(axes, ("mean", "variance"), strict=True):
        for colour, (rate, rows) in zip(COLOURS, frame.groupby("learning_rate", sort=False), strict=False):
            values = rows[measure].clip(lower=1e-16)
            axis.plot(
                range(len(rows)), values, "o-", color=colour, markersize=3, linewidth=1, label=f"Adam, rate {rate}"
            )
        axis.set_xticks(range(len(rows)), [f"{value:g}" for value in rows["temperature"]])
        axis.set(xlabel="temperature", ylabel=f"{measure} of the total variation", yscale="log")
    axes[0].axhline(max(frame["newton"].iloc[0], 1e-16), color="black", linestyle=":", label="Newton (no settings)")
    legend_above(figure)
    return figure


STUDY = Study(compute, draw)
