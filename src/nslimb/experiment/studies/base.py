"""What a study is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from nslimb.experiment.cells import Run
    from nslimb.experiment.config import Config


def no_runs(_config: Config) -> list[Run]:
    """A study of the theory alone."""
    return []


@dataclass(frozen=True)
class Study:
    """The runs of a grid that a study looks at, how to compute its numbers, and how to draw them."""

    compute: Callable[[Config | None], pd.DataFrame]
    draw: Callable[[pd.DataFrame], Any]
    needs: Callable[[Config], list[Run]] = no_runs
