"""marginals.json: the ratios of a cell, estimated or known."""

from __future__ import annotations

from nslimb.experiment.runs.base import Ratios, Schema


class Marginals(Schema):
    """marginals.json: Algorithm 1 on a cell's weak labels; or, where label vectors are listed, the known ratios."""

    ratios: Ratios
    log_likelihood: float
    iterations: int
    converged: bool
    not_identified: list[int]
    seconds: float
    known: bool = False  # not estimated; files of before do not tell
