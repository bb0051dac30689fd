"""The marginal that a training method takes where it is given none."""

from __future__ import annotations

import warnings
from typing import Any

from torch import Tensor

from nslimb.marginals.estimate import NotIdentified, estimate_marginal
from nslimb.sigma.component import Sigma


def training_ratios(weak: Any, sigma: Sigma, noise: float = 0.0) -> Tensor:
    """Algorithm 1's most even ratios [c], or [M, c] where positions differ, of a method's own training samples."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotIdentified)  # training goes on with the most even ratios that fit
        return estimate_marginal(weak, sigma, sigma.groups, regularise="entropy", noise=noise).ratios
