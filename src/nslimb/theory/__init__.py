"""Section 3 of the paper: what sigma and the partial risk say about each class, before any training."""

from nslimb.theory.bounds import ClassRiskBounds, class_risk_bounds
from nslimb.theory.confusions import Confusions, confusions
from nslimb.theory.identify import Identifiability, identifiability, uniform_weak_ratios, weak_ratios
from nslimb.theory.readings import reading_evidence
from nslimb.theory.risk import partial_risk, risk_matrix
from nslimb.theory.shortcuts import Shortcuts, shortcuts
from nslimb.theory.totals import generalisation_bound, is_m_unambiguous, total_risk_bound

__all__ = [
    "ClassRiskBounds",
    "Confusions",
    "Identifiability",
    "Shortcuts",
    "class_risk_bounds",
    "confusions",
    "generalisation_bound",
    "identifiability",
    "is_m_unambiguous",
    "partial_risk",
    "reading_evidence",
    "risk_matrix",
    "shortcuts",
    "total_risk_bound",
    "uniform_weak_ratios",
    "weak_ratios",
]
