"""Does the theory's order of the classes, from hard to easy, show in the accuracies of a trained classifier?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations as all_permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kendalltau, rankdata, spearmanr

from nslimb.arrays import FloatArray
from nslimb.checks import check_count
from nslimb.errors import InvalidInput
from nslimb.seeds import numpy_generator


@dataclass(frozen=True)
class OrderAgreement:
    """Rank correlation of bounds and error rates: 1 for the same order, NaN where either is constant."""

    spearman: float
    kendall: float  # tau-b, which allows for ties
    spearman_p: float  # probability of at least this correlation in a random order
    kendall_p: float
    classes: int  # how many were compared


def order_agreement(bounds: Any, accuracy: Any, *, permutations: int = 10_000, seed: int = 1) -> OrderAgreement:
    """Compare risk bounds Phi_j [c] at a partial risk with measured accuracies [c] of the same classes.

    A class with a high bound should have a low accuracy, so bounds are compared with 1 - accuracy. Classes without an
    accuracy (NaN or None: they do not occur in the test set) are left out. Ties get mean ranks. The one-sided p-values
    are over random orders of the classes, or over all of them where there are no more than ``permutations``.

    >>> order_agreement([1.0, 0.4, 0.3, 0.3], [0.5, 0.9, 0.95, 0.97])
    OrderAgreement(spearman=0.9486..., kendall=0.9128..., spearman_p=0.0833..., kendall_p=0.0833..., classes=4)
    """
    predicted, measured = _array("bounds", bounds), _array("accuracy", accuracy)
    if predicted.shape != measured.shape:
        raise InvalidInput("accuracy", f"{len(predicted)} numbers, one for each bound", f"{len(measured)}")
    known = ~np.isnan(measured)
    if np.isnan(predicted[known]).any():
        raise InvalidInput("bounds", "a number for each class that has an accuracy", "NaN")
    predicted, wrong = predicted[known], 1 - measured[known]
    size = len(predicted)
    if size < 2 or np.ptp(predicted) == 0 or np.ptp(wrong) == 0:
        return OrderAgreement(math.nan, math.nan, math.nan, math.nan, size)
    orders = _orders(size, check_count("permutations", permutations), seed)
    ranks = rankdata(wrong)
    above = np.sign(wrong[:, None] - wrong)
    # Up to a positive factor and a shift that no order changes, these are the two correlations.
    rho = ranks[orders] @ rankdata(predicted)
    tau = np.einsum("nij,ij->n", above[orders[:, :, None], orders[:, None, :]], np.sign(predicted[:, None] - predicted))
    return OrderAgreement(
        spearman=float(spearmanr(predicted, wrong).statistic),
        kendall=float(kendalltau(predicted, wrong).statistic),
        spearman_p=float(np.mean(rho >= rho[0] - 1e-9)),
        kendall_p=float(np.mean(tau >= tau[0] - 1e-9)),
        classes=size,
    )


def _orders(size: int, permutations: int, seed: int) -> NDArray[np.int64]:
    """The given order first, then all others or as many random ones, [n, size]."""
    if math.factorial(size) <= permutations:
        return np.array(list(all_permutations(range(size))))
    rng = numpy_generator(seed, "order")
    drawn = rng.permuted(np.tile(np.arange(size), (permutations, 1)), axis=1)
    return np.concatenate([np.arange(size)[None], drawn])


def _array(argument: str, values: Any) -> FloatArray:
    try:
        array = np.asarray(values, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError) as error:
        raise InvalidInput(argument, "one number for each class", f"values that are no numbers ({error})") from error
    if array.ndim != 1 or not array.size or np.isinf(array).any():
        raise InvalidInput(argument, "one finite number for each class", f"shape {list(array.shape)}")
    return array
