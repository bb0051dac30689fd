"""Metrics beyond the standard block, by name: functions of probabilities [n, c] and gold labels [n]."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nslimb.arrays import FloatArray, IntArray
from nslimb.registry import Registry

# A number, or a list or mapping of numbers; None where there is none.
Metric = Callable[[FloatArray, IntArray], Any]

METRICS: Registry[Metric] = Registry(
    "metric",
    {
        "brier": "nslimb.metrics.scoring:brier",
    },
)
