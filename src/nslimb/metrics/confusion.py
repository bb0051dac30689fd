"""Counts of true against predicted classes, for the metrics and for the training loop."""

from __future__ import annotations

import numpy as np

from nslimb.arrays import IntArray


def confusion_matrix(labels: IntArray, predictions: IntArray, num_classes: int) -> IntArray:
    """Counts [true class, predicted class].

    Parameters
    ----------
    labels, predictions
        True and predicted classes, [n].
    num_classes
        c.

    Returns
    -------
    IntArray
        [c, c]: rows are true classes, columns predictions.
    """
    pairs = np.bincount(labels * num_classes + predictions, minlength=num_classes**2)
    return pairs.reshape(num_classes, num_classes)
