"""Mitigation at test time: logit adjustment, CAROT, and the choice between their settings."""

from nslimb.adjustment.carot import Carot, carot
from nslimb.adjustment.logit import logit_adjustment
from nslimb.adjustment.selection import Selection, adjust, select

__all__ = ["Carot", "Selection", "adjust", "carot", "logit_adjustment", "select"]
