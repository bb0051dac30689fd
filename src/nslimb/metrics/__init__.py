"""How well a classifier does, and how far ratios are apart; names are imported on first use."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nslimb.metrics.confusion import confusion_matrix
    from nslimb.metrics.distances import kullback_leibler, total_variation
    from nslimb.metrics.registry import METRICS, Metric
    from nslimb.metrics.standard import calibration_error, evaluate

__all__ = [
    "METRICS",
    "Metric",
    "calibration_error",
    "confusion_matrix",
    "evaluate",
    "kullback_leibler",
    "total_variation",
]

_HOME = {
    "METRICS": "registry",
    "Metric": "registry",
    "calibration_error": "standard",
    "confusion_matrix": "confusion",
    "evaluate": "standard",
    "kullback_leibler": "distances",
    "total_variation": "distances",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nslimb.metrics' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(f"nslimb.metrics.{_HOME[name]}"), name)
