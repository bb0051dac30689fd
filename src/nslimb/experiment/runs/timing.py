"""timing.json: a measurement of the runtime table."""

from __future__ import annotations

from nslimb.experiment.runs.base import Schema


class Timing(Schema):
    """timing.json: minutes an epoch and peak memory by protocol and algorithm."""

    minutes_per_epoch: dict[str, dict[str, float]]
    peak_mb: dict[str, dict[str, float]]
    samples: int
    measured_on: int
