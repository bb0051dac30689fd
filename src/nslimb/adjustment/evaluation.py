"""Metrics of a trained classifier before and after each adjustment."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nslimb.adjustment.selection import Method, adjust, select
from nslimb.metrics import evaluate
from nslimb.sigma.component import Sigma

ADJUSTMENTS: tuple[Method, ...] = ("la", "carot")


def evaluate_adjustments(
    test_scores: Tensor,
    test_labels: NDArray[np.int64],
    validation_scores: Tensor,
    validation_weak: NDArray[np.int64],
    sigma: Sigma,
    ratios: Any,
) -> dict[str, dict[str, Any]]:
    """Metrics of ``none``, ``la`` and ``carot`` on test scores [t, c], settings chosen on weak validation samples.

    ``ratios`` are the estimated ones. Where they differ by position (HWF), single test images, whose position is not
    known, are adjusted by their mean over positions.
    """
    by_instance = torch.as_tensor(np.asarray(ratios)).reshape(-1, test_scores.shape[1]).mean(dim=0)
    result: dict[str, dict[str, Any]] = {"none": _metrics(test_scores, test_labels)}
    for method in ADJUSTMENTS:
        chosen = select(validation_scores, validation_weak, sigma, ratios, method)
        adjusted = adjust(test_scores, by_instance, chosen)
        result[method] = {
            **_metrics(adjusted, test_labels),
            "chosen": chosen.method,
            "eta": chosen.eta,
            "tau": chosen.tau,
            "validation_weak_accuracy": chosen.accuracy,
        }
        result["none"]["validation_weak_accuracy"] = chosen.baseline
    return result


def _metrics(log_scores: Tensor, labels: NDArray[np.int64]) -> dict[str, Any]:
    """Head, middle and tail are told by the test labels themselves, the same for every method."""
    return evaluate(log_scores.double().exp().cpu().numpy(), labels)
