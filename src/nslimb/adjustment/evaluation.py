"""Metrics of a trained classifier before and after each adjustment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from nslimb.adjustment.base import ADJUSTMENTS, Adjustment, as_adjustment
from nslimb.adjustment.inputs import check_instance_scores
from nslimb.adjustment.selection import CHANCE, PAPER_BATCH, Criterion, Rule, adjust, check_rule, select
from nslimb.arrays import IntArray
from nslimb.checks import as_integers, check_count, check_log_scores, check_range, check_ratios
from nslimb.errors import InvalidInput
from nslimb.metrics.measure import measure
from nslimb.metrics.registry import Metric
from nslimb.sigma.component import Sigma

_PAPER_TEST_BATCH = 128
_RESERVED = ("chosen", "setting", "validation_weak_accuracy", "unadjusted_accuracy", "test_weak_accuracy")


@dataclass(frozen=True)
class AdjustmentProtocol:
    """How settings are chosen and test scores adjusted.

    ``rule``, ``criterion`` and ``chance`` are those of ``nslimb.select``. With ``rule="paper"`` validation samples
    come in batches of ``batch`` and test images in batches of ``test_batch``, shuffled by ``seed``; 32 and 128 if not
    given. Else all are adjusted together.
    """

    rule: Rule = "least-change"
    criterion: Criterion = "accuracy"
    chance: float = CHANCE
    batch: int | None = None
    test_batch: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        check_count("seed", self.seed, least=0)
        for name, default in (("batch", PAPER_BATCH), ("test_batch", _PAPER_TEST_BATCH)):
            value = getattr(self, name)
            check_rule(self.rule, self.criterion, name, value)
            if value is None and self.rule == "paper":
                object.__setattr__(self, name, default)


def evaluate_adjustments(
    test_scores: Tensor,
    test_labels: IntArray,
    validation_scores: Tensor,
    validation_weak: Any,
    sigma: Sigma,
    ratios: Any,
    adjustments: Mapping[str, Adjustment] | None = None,
    metrics: Sequence[tuple[str, Metric]] = (),
    protocol: AdjustmentProtocol | None = None,
    test_tuples: tuple[Tensor, IntArray] | None = None,
) -> dict[str, dict[str, Any]]:
    """Metrics by adjustment, ``none`` first, with settings chosen on weak validation samples [B, M, c] and [B].

    Test images are single, [t, c] with labels [t]. Where the estimated ``ratios`` differ by position ([M, c], as in
    HWF), an image alone does not tell which ratios are its own: ``none`` is still measured on single images, and the
    adjustments on ``test_tuples``, scores [u, M, c] and labels [u, M]. ``unadjusted_accuracy`` is then the accuracy of
    these images before adjustment.

    There may be no validation samples where there are no adjustments whose settings they would choose.

    ``adjustments`` are all registered ones if not given. Each entry has the standard metrics, further ``metrics``
    under their names, ``chosen`` (the adjustment's name or "none"), ``setting`` and ``validation_weak_accuracy``.
    """
    protocol = AdjustmentProtocol() if protocol is None else protocol
    tried = {name: as_adjustment(name) for name in ADJUSTMENTS} if adjustments is None else adjustments
    for name in ("none", *_RESERVED):
        if name in tried or name in dict(metrics):
            raise InvalidInput("adjustments, metrics", "names other than those of the result itself", repr(name))
    Sigma.check(sigma, families=True)
    labels = _labels("test_labels", test_labels, check_instance_scores(test_scores))
    check_log_scores(validation_scores, sigma.arity, sigma.num_classes)
    weak = sigma.check_weak(validation_weak, len(validation_scores), validation_scores.device)
    by_position = check_ratios(ratios, sigma.arity, sigma.num_classes).ndim == 2
    scores, gold = _adjusted_on(test_scores, labels, test_tuples, sigma, by_position)
    right = sigma.explains(validation_scores.argmax(dim=-1), weak).double().mean() if len(weak) else None
    result = {"none": _measure(test_scores, labels, metrics, "none", {}, None if right is None else float(right))}
    for name, adjustment in tried.items():
        choice = select(
            validation_scores,
            weak,
            sigma,
            ratios,
            adjustment,
            rule=protocol.rule,
            criterion=protocol.criterion,
            chance=protocol.chance,
            batch=protocol.batch,
            seed=protocol.seed,
        )
        moved = adjust(scores, ratios, choice, batch=protocol.test_batch, seed=protocol.seed)
        chosen = "none" if choice.method == "none" else name
        result[name] = _measure(moved, gold, metrics, chosen, choice.setting, choice.accuracy)
        if by_position:
            result[name]["unadjusted_accuracy"] = float(np.mean(scores.argmax(dim=-1).cpu().numpy() == gold))
    return result


def _measure(
    log_scores: Tensor,
    labels: IntArray,
    metrics: Sequence[tuple[str, Metric]],
    chosen: str,
    setting: dict[str, float],
    weak_accuracy: float | None,
) -> dict[str, Any]:
    """Head, middle and tail are told by the test labels themselves, the same for every method."""
    probabilities = log_scores.double().exp().cpu().numpy()
    measured = measure(probabilities.reshape(-1, probabilities.shape[-1]), labels.reshape(-1), metrics)
    return {**measured, "chosen": chosen, "setting": setting, "validation_weak_accuracy": weak_accuracy}


def _adjusted_on(
    test_scores: Tensor, labels: IntArray, test_tuples: Any, sigma: Sigma, by_position: bool
) -> tuple[Tensor, IntArray]:
    """The scores that are adjusted, and their labels."""
    shape = f"[u, {sigma.arity}, {sigma.num_classes}]"
    if not by_position:
        if test_tuples is not None:
            expected = "none, as the ratios are the same at every position: single images are adjusted"
            raise InvalidInput("test_tuples", expected, "tuples of test images")
        return test_scores, labels
    if not isinstance(test_tuples, tuple) or len(test_tuples) != 2:
        expected = f"scores {shape} and labels of test images in tuples, as the ratios differ by position"
        given = "none" if test_tuples is None else f"an object of type {type(test_tuples).__name__}"
        raise InvalidInput("test_tuples", expected, given)
    scores = check_log_scores(test_tuples[0], sigma.arity, sigma.num_classes)
    return scores, _labels("test_tuples", test_tuples[1], scores)


def _labels(argument: str, labels: Any, scores: Tensor) -> IntArray:
    """Gold labels, one for each row of the scores [..., c]."""
    *shape, classes = scores.shape
    expected = f"labels 0 to {classes - 1} of shape {shape}"
    checked = as_integers(argument, labels, expected)
    if list(checked.shape) != shape:
        raise InvalidInput(argument, expected, f"shape {list(checked.shape)}")
    check_range(argument, checked, classes, expected)
    return checked.cpu().numpy()
