"""marginals.json: the estimated ratios of a cell."""

from __future__ import annotations

from nslimb.experiment.runs.base import Ratios, Schema


class Marginals(Schema):
    """marginals.json: Algorithm 1 on a cell's weak labels."""

    ratios: Ratios
    log_likelihood: float
    iterations: int
    converged: bool
    not_identified: list[int]
    seconds: float
