"""run.yaml: where a run comes from."""

from __future__ import annotations

from typing import Any

from nslimb.experiment.runs.base import Schema


class RunFile(Schema):
    """run.yaml: where a run comes from."""

    cell: dict[str, str]
    method: str  # its name in the grid
    oracle: bool
    protocol: str
    grid: str
    source: dict[str, str]
    recipe: dict[str, Any]  # everything that the weights depend on
    device: str
    versions: dict[str, str]
    environment: dict[str, str]
    commit: str
    seconds: dict[str, float]
    ended: float | None = None  # when training ended, in seconds since 1970; files of before do not tell
    start: int | None = None  # which of several starts explained the weak validation samples best
