"""Metrics against scikit-learn and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, precision_score, recall_score

from nslimb.errors import InvalidInput
from nslimb.metrics import calibration_error, evaluate, kullback_leibler, total_variation


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
