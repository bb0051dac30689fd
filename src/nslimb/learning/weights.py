"""Weights of weak samples: rare weak labels have small pre-images, and so tell rare classes apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.arrays import FloatArray
from nslimb.checks import check_number
from nslimb.errors import InvalidInput
from nslimb.sigma.noise import clean_share

CAP = 20.0
MOST_GAMMA = 30.0  # with which the weight of a label that is seen once in a billion samples is still finite


def check_gamma(gamma: Any) -> None:
    """Refuse powers of which weights could not be computed."""
    if check_number("gamma", gamma) > MOST_GAMMA:
        raise InvalidInput("gamma", f"a number of at most {MOST_GAMMA:g}, so that weights stay finite", gamma)


def weak_weights(weak: Any, gamma: float, noise: float = 0.0, num_weak: int | None = None) -> FloatArray:
    """Weights [m] of samples with weak labels [m] (or sequences [m, L]): p^-gamma, p the frequency of the label.

    Of sets [m, S] it is the frequency of the set, so that all weigh the same where all sets differ.

    Normalised to mean 1, then capped at 20. With a share ``noise`` e of wrong labels, drawn uniformly from ``num_weak``
    S of them, each weight is first multiplied by the share of its label that is clean, max(0, 1 - e / (S p)).

    Examples
    --------
    >>> weak_weights([0, 1, 1, 1], gamma=1.0).round(3)
    array([2.   , 0.667, 0.667, 0.667])
    """
    labels = np.asarray(weak)
    if labels.ndim == 0 or len(labels) == 0:
        raise InvalidInput("weak", "at least one weak label", f"shape {list(labels.shape)}")
    _, place, counts = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    share = counts / len(labels)
    weights = share**-gamma
    if noise:
        if num_weak is None:
            raise InvalidInput("num_weak", "the number of weak labels, where noise is above 0", None)
        weights = weights * clean_share(share, noise, num_weak)
    each = weights[place.reshape(-1)]
    return np.asarray(np.minimum(each / each.mean(), CAP))
