"""Mitigation at test time: logit adjustment, CAROT, one's own, and the choice between their settings."""

from nslimb.adjustment.base import ADJUSTMENTS, Adjustment, as_adjustment
from nslimb.adjustment.carot import Carot, Transported, carot
from nslimb.adjustment.logit import LogitAdjustment, logit_adjustment
from nslimb.adjustment.selection import Selection, adjust, select

__all__ = [
    "ADJUSTMENTS",
    "Adjustment",
    "Carot",
    "LogitAdjustment",
    "Selection",
    "Transported",
    "adjust",
    "as_adjustment",
    "carot",
    "logit_adjustment",
    "select",
]
