"""The block of metrics that every run has: how well a classifier does, class by class."""

from __future__ import annotations

from typing import Any

import numpy as np

from nslimb.arrays import FloatArray, IntArray
from nslimb.errors import InvalidInput
from nslimb.metrics.confusion import confusion_matrix

_BINS = 15


def evaluate(probabilities: FloatArray, labels: IntArray, ratios: FloatArray | None = None) -> dict[str, Any]:
    """All metrics of scores [n, c] on gold labels [n].

    ``accuracy`` is plain accuracy, which is the paper's "weighted" one. ``macro_recall`` is the mean of the accuracies
    of the classes that occur; ``worst_class`` and ``geometric_mean`` are over them too. ``many``, ``medium`` and
    ``few`` are the mean class accuracies of the head, middle and tail by ``ratios`` (3, 4 and 3 of 10 classes; by
    frequency in ``labels`` if not given; ratios [M, c] by their mean over positions). A class that does not occur has
    accuracy None.

    Parameters
    ----------
    probabilities
        [n, c].
    labels
        [n].
    ratios
        Which classes are frequent: [c], or [M, c].

    Returns
    -------
    dict
        Numbers by name; ``class_accuracy`` [c] and ``confusion_matrix`` [c, c] as lists.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.
    """
    if probabilities.ndim != 2 or labels.shape != (len(probabilities),) or len(labels) == 0:
        given = f"{list(probabilities.shape)} and {list(labels.shape)}"
        raise InvalidInput("probabilities, labels", "shapes [n, c] and [n], n at least 1", given)
    if not np.isfinite(probabilities).all():
        raise InvalidInput("probabilities", "finite numbers", "NaN or infinity")
    classes = probabilities.shape[1]
    predictions = probabilities.argmax(axis=1)
    matrix = confusion_matrix(labels, predictions, classes)
    occurring = matrix.sum(axis=1) > 0
    recall = np.divide(np.diag(matrix), matrix.sum(axis=1), out=np.full(classes, np.nan), where=occurring)
    predicted = matrix.sum(axis=0)
    precision = np.divide(np.diag(matrix), predicted, out=np.zeros(classes), where=predicted > 0)
    frequency = matrix.sum(axis=1) if ratios is None else np.reshape(ratios, (-1, classes)).mean(axis=0)
    return {
        "accuracy": float(np.mean(predictions == labels)),
        "macro_recall": float(np.mean(recall[occurring])),
        "macro_precision": float(np.mean(precision[occurring])),
        "worst_class": float(np.min(recall[occurring])),
        "geometric_mean": float(np.prod(recall[occurring]) ** (1 / occurring.sum())),
        **_by_frequency(recall, frequency),
        "calibration_error": calibration_error(probabilities, labels),
        "class_accuracy": [None if np.isnan(value) else float(value) for value in recall],
        "confusion_matrix": matrix.tolist(),
    }


def _by_frequency(recall: FloatArray, frequency: FloatArray) -> dict[str, float | None]:
    """Mean class accuracy of the most, middling and least frequent classes; ties in the order of the classes."""
    order = np.argsort(-frequency, kind="stable")
    ends = round(0.3 * len(order))
    parts = {"many": order[:ends], "medium": order[ends : len(order) - ends], "few": order[len(order) - ends :]}
    means: dict[str, float | None] = {}
    for name, members in parts.items():
        known = recall[members][~np.isnan(recall[members])]
        means[name] = float(known.mean()) if len(known) else None
    return means


def calibration_error(probabilities: FloatArray, labels: IntArray) -> float:
    """Expected calibration error: |accuracy - confidence| over 15 equal bins of confidence, weighted by their size.

    Parameters
    ----------
    probabilities
        [n, c].
    labels
        [n].

    Returns
    -------
    float
        From 0 to 1.
    """
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == labels
    # Bins are open below and closed above, so that a confidence of 1 has one.
    bins = np.clip(np.ceil(confidence * _BINS).astype(np.int64) - 1, 0, _BINS - 1)
    difference = np.bincount(bins, weights=right - confidence, minlength=_BINS)
    return float(np.abs(difference).sum() / len(labels))
