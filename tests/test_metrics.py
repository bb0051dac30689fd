"""Metrics against scikit-learn and by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, brier_score_loss, confusion_matrix, precision_score, recall_score

import nslimb.metrics
from nslimb.errors import InvalidInput
from nslimb.metrics import METRICS, calibration_error, evaluate, kullback_leibler, total_variation
from nslimb.metrics.measure import measure


@given(st.integers(0, 10**6), st.integers(2, 13))
def test_metrics_agree_with_scikit_learn(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=300)
    scores = rng.dirichlet(np.ones(classes), size=300) + 0.3 * np.eye(classes)[labels]
    scores /= scores.sum(axis=1, keepdims=True)
    found = evaluate(scores, labels)
    predicted = scores.argmax(axis=1)
    present = np.unique(labels)
    options = {"labels": present, "average": "macro", "zero_division": 0.0}
    assert found["accuracy"] == pytest.approx(accuracy_score(labels, predicted))
    assert found["macro_recall"] == pytest.approx(recall_score(labels, predicted, **options))
    assert found["macro_precision"] == pytest.approx(precision_score(labels, predicted, **options))
    assert found["confusion_matrix"] == confusion_matrix(labels, predicted, labels=range(classes)).tolist()
    recalls = recall_score(labels, predicted, labels=present, average=None)
    assert [found["class_accuracy"][k] for k in present] == pytest.approx(recalls.tolist())
    assert found["worst_class"] == pytest.approx(recalls.min())
    assert found["geometric_mean"] == pytest.approx(np.prod(recalls) ** (1 / len(present)))


def test_many_medium_and_few_are_three_four_and_three_of_ten() -> None:
    labels = np.repeat(np.arange(10), 10)
    right = np.arange(100) % 10 < np.repeat(np.arange(10), 10)  # class k has accuracy k / 10
    predicted = np.where(right, labels, (labels + 1) % 10)
    ratios = np.arange(10, 0, -1) / 55  # class 0 is the head
    found = evaluate(np.eye(10)[predicted], labels, ratios)
    assert (found["many"], found["medium"], found["few"]) == pytest.approx((0.1, 0.45, 0.8))


def test_ratios_by_position_are_averaged() -> None:
    scores, labels = np.eye(4)[[0, 1, 2, 0]], np.array([0, 1, 2, 3])
    by_position = np.array([[0.4, 0.6, 0.0, 0.0], [0.0, 0.0, 0.9, 0.1]])
    assert evaluate(scores, labels, by_position)["few"] == 0.0
    assert evaluate(scores, labels, by_position)["many"] == 1.0
    with pytest.raises(InvalidInput, match="probabilities: expected finite numbers"):
        evaluate(scores * np.nan, labels)


def test_a_class_that_does_not_occur_has_no_accuracy() -> None:
    found = evaluate(np.eye(3)[[0, 1, 1]], np.array([0, 1, 0]))
    assert found["class_accuracy"] == [0.5, 1.0, None]
    assert found["macro_recall"] == 0.75
    assert found["few"] is None


def test_calibration_error_by_hand() -> None:
    scores = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [1.0, 0.0]])
    labels = np.array([0, 1, 0, 0])
    # Bins: two at 0.9 with accuracy 0.5, one at 0.6 with accuracy 1, one at 1.0 with accuracy 1.
    assert calibration_error(scores, labels) == pytest.approx((2 * 0.4 + 1 * 0.4 + 0) / 4)


def test_distances_between_ratios() -> None:
    truth, estimate = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.5, 0.25])
    assert total_variation(estimate, truth) == pytest.approx(0.25)
    assert kullback_leibler(truth, estimate) == pytest.approx(0.5 * np.log(2))
    assert kullback_leibler(estimate, truth) == np.inf
    assert total_variation(np.stack([truth, estimate]), truth) == pytest.approx(0.125)


def test_shapes_are_checked() -> None:
    with pytest.raises(InvalidInput, match=r"shapes \[n, c\] and \[n\], n at least 1, got \[3, 2\] and \[2\]"):
        evaluate(np.ones((3, 2)), np.zeros(2, dtype=np.int64))


@given(st.integers(0, 10**6), st.integers(2, 5))
def test_the_brier_score_by_hand_and_by_scikit_learn(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    labels, scores = rng.integers(classes, size=40), rng.dirichlet(np.ones(classes), size=40)
    found = METRICS.get("brier")(scores, labels)
    by_hand = [
        sum((p - (k == label)) ** 2 for k, p in enumerate(row)) for row, label in zip(scores, labels, strict=True)
    ]
    assert found == pytest.approx(np.mean(by_hand))
    if classes == 2:  # scikit-learn's own takes one of the two classes
        assert found == pytest.approx(2 * brier_score_loss(labels, scores[:, 1], pos_label=1))


def test_further_metrics_stand_beside_the_standard_ones_as_plain_numbers() -> None:
    scores, labels = np.eye(3)[[0, 1, 1]], np.array([0, 1, 0])
    metrics = [
        ("brier", METRICS.get("brier")),
        ("counts", lambda p, y: np.bincount(y, minlength=p.shape[1])),
        ("named", lambda p, y: {0: np.float32(0.5), "b": (1, None), "c": [[np.int8(1)], np.array(0.25)]}),
    ]
    found = measure(scores, labels, metrics)
    standard = evaluate(scores, labels)
    assert list(found) == [*standard, "brier", "counts", "named"]
    assert {name: found[name] for name in standard} == standard
    assert found["brier"] == pytest.approx(2 / 3)
    assert found["counts"] == [2, 1, 0]
    assert found["named"] == {"0": 0.5, "b": [1, None], "c": [[1], 0.25]}
    assert json.loads(json.dumps(found)) == found


@pytest.mark.parametrize(
    ("name", "metric", "message"),
    [
        ("accuracy", lambda p, y: 1.0, "metrics: expected each name once, and none of accuracy, .*, got 'accuracy'"),
        ("first", lambda p, y: 1.0, "metrics: expected each name once.*got 'first'"),
        ("mine", 3, r"metric mine: expected a function of probabilities \[n, c\] and labels \[n\], got 3"),
        ("mine", lambda p: 1.0, "metric mine: expected a number, got TypeError: .*argument"),
        ("mine", lambda p, y: 1 / 0, "metric mine: expected a number, got ZeroDivisionError: division by zero"),
        ("mine", lambda p, y: "good", "metric mine: expected a finite number or None.*got 'good' of type str"),
        ("mine", lambda p, y: float("nan"), "metric mine: expected a finite number or None.*got nan of type float"),
        ("mine", lambda p, y: {"a": [np.inf]}, "metric mine: expected a finite number or None.*got inf"),
    ],
)
def test_bad_metrics_are_refused(name: str, metric: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        measure(np.eye(2), np.array([0, 1]), [("first", lambda p, y: 0), (name, metric)])


def test_the_training_loop_loads_no_metric_but_the_confusion_matrix() -> None:
    code = (
        "import sys, nslimb.metrics.confusion\n"
        "print(*sorted(name for name in sys.modules if name.startswith('nslimb.metrics.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["nslimb.metrics.confusion"]


def test_names_of_the_package() -> None:
    for name in nslimb.metrics.__all__:
        assert getattr(nslimb.metrics, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'f1'; it has METRICS, "):
        nslimb.metrics.f1  # noqa: B018
    with pytest.raises(InvalidInput, match=r"metric: expected one of brier, or your own as path/to/file\.py:object"):
        METRICS.get("f1")
