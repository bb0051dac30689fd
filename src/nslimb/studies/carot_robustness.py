"""What CAROT loses when the ratios it is given are wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from nslimb.adjustment.carot import carot
from nslimb.adjustment.inputs import check_instance_scores
from nslimb.arrays import FloatArray
from nslimb.checks import as_integers, check_count, check_range, check_ratios
from nslimb.errors import InvalidInput
from nslimb.seeds import numpy_generator

# From ratios that are all but right to ratios that have little to do with the truth.
_LEAST, _MOST = 0.01, 2.0


@dataclass(frozen=True, eq=False)
class CarotRobustness:
    """Test accuracy of CAROT for each of n random ratio vectors."""

    ratios: FloatArray  # [n, c]
    divergence: FloatArray  # [n], KL(r || r_hat)
    accuracy: FloatArray  # [n], NaN where CAROT did not converge
    converged: NDArray[np.bool_]  # [n]
    unadjusted: float  # accuracy of the scores as they are
    with_truth: float  # accuracy of CAROT with r itself


def carot_robustness(
    log_scores: Tensor, labels: Any, ratios: Any, eta: float, tau: float, *, number: int = 500, seed: int = 1
) -> CarotRobustness:
    """CAROT's accuracy on scores [n, c] with gold ``labels`` [n], given wrong ratios instead of the true ``ratios`` r.

    A wrong vector is r_hat_j proportional to r_j exp(s z_j), z standard normal, with s from 0.01 to 2, evenly in
    logarithm: from all but right to far off.

    >>> import torch
    >>> scores = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.2, 0.8]]).log()
    >>> found = carot_robustness(scores, [0, 1, 0, 1], [0.5, 0.5], eta=0.1, tau=10.0, number=3)
    >>> found.unadjusted, found.with_truth, found.accuracy.shape
    (0.75, 1.0, (3,))
    """
    scores = check_instance_scores(log_scores)
    expected = f"{len(scores)} labels 0 to {scores.shape[1] - 1}"
    gold = as_integers("labels", labels, expected)
    if gold.shape != (len(scores),):
        raise InvalidInput("labels", expected, f"shape {list(gold.shape)}")
    check_range("labels", gold, scores.shape[1], expected)
    truth = check_ratios(ratios, None, scores.shape[1])
    rng = numpy_generator(seed, "carot robustness")
    strength = np.geomspace(_LEAST, _MOST, check_count("number", number))
    shift = strength[:, None] * rng.standard_normal((number, len(truth)))
    wrong = truth * np.exp(shift - shift.max(axis=1, keepdims=True))
    wrong /= wrong.sum(axis=1, keepdims=True)
    found = [_accuracy(scores, gold, row, eta, tau) for row in (truth, *wrong)]
    accuracy = np.array(found)
    occurring = truth > 0
    return CarotRobustness(
        ratios=wrong,
        divergence=(truth[occurring] * np.log(truth[occurring] / wrong[:, occurring])).sum(axis=1),
        accuracy=accuracy[1:],
        converged=~np.isnan(accuracy[1:]),
        unadjusted=float((scores.argmax(dim=1) == gold).double().mean()),
        with_truth=float(accuracy[0]),
    )


def _accuracy(scores: Tensor, gold: Tensor, ratios: FloatArray, eta: float, tau: float) -> float:
    solved = carot(scores, ratios, eta, tau)
    if not bool(solved.converged):
        return float("nan")
    return float((solved.scores.argmax(dim=1) == gold).double().mean())
