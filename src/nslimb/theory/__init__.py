"""Section 3 of the paper: what sigma and the partial risk say about each class, before any training."""

from nslimb.theory.bounds import ClassRiskBounds, class_risk_bounds
from nslimb.theory.risk import partial_risk, risk_matrix

__all__ = ["ClassRiskBounds", "class_risk_bounds", "partial_risk", "risk_matrix"]
