"""metrics.json: what a trained model does on the test images."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from nslimb.experiment.runs.base import Ratios, Schema


class RatioError(BaseModel):
    """Estimated against true label ratios."""

    total_variation: float
    kullback_leibler: float
    estimated: Ratios
    true: Ratios


class Ceiling(BaseModel):
    """What the drawn weak labels can tell at all, where they are right, with the true ratios."""

    identifiable: float  # the test share of the classes that are not lost
    lost: list[int]  # classes that the weak labels do not tell from a more frequent one
    samples: int | None = None  # with a right weak label, which alone count; None in files of before, where all did


class Metrics(Schema):
    """metrics.json: what a trained model does on the test images, by adjustment, ``none`` first."""

    source: str
    adjustments: dict[str, dict[str, Any]]
    ratios: RatioError
    ceiling: Ceiling | None  # None where sigma is too large for it
    shortcut: list[int] | None = None  # the reading of the classes that was learned, if another than the true one
    spaces: dict[str, float] | None = None  # accuracy by space, where there are several: images known to be of theirs
    settings: str  # digest of all settings that led here
    code: dict[str, str]  # digests of the code of each step
    seconds: float
