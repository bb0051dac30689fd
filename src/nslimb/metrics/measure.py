"""The standard block and further metrics of one classifier, as plain numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from nslimb.arrays import FloatArray, IntArray
from nslimb.errors import InvalidInput
from nslimb.metrics.registry import Metric
from nslimb.metrics.standard import evaluate


def measure(probabilities: FloatArray, labels: IntArray, metrics: Sequence[tuple[str, Metric]] = ()) -> dict[str, Any]:
    """The standard metrics of scores [n, c] on gold labels [n], then each of ``metrics`` under its name.

    Examples
    --------
    >>> def top_score(probabilities, labels):
    ...     return probabilities.max(axis=1).mean()
    >>> measure(np.array([[0.7, 0.3], [0.1, 0.9]]), np.array([0, 1]), [("top_score", top_score)])["top_score"]
    0.8
    """
    measured = evaluate(probabilities, labels)
    for name, metric in metrics:
        if name in measured:
            raise InvalidInput("metrics", f"each name once, and none of {', '.join(measured)}", repr(name))
        if not callable(metric):
            raise InvalidInput(f"metric {name}", "a function of probabilities [n, c] and labels [n]", repr(metric))
        try:
            value = metric(probabilities, labels)
        except Exception as error:
            raise InvalidInput(f"metric {name}", "a number", f"{type(error).__name__}: {error}") from error
        measured[name] = _plain(name, value)
    return measured


def _plain(name: str, value: Any) -> Any:
    """Numbers as JSON has them."""
    if value is None:
        return None
    if isinstance(value, Real) and np.isfinite(float(value)):
        return int(value) if isinstance(value, (int, np.integer)) else float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(name, part) for key, part in value.items()}
    if isinstance(value, np.ndarray):
        return _plain(name, value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(name, part) for part in value]
    expected = "a finite number or None, or a list or mapping of them"
    raise InvalidInput(f"metric {name}", expected, f"{value!r} of type {type(value).__name__}")
