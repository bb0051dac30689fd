"""Section 3 of the paper: what sigma and the partial risk say about each class, before any training.

Most names are imported on first use: a step that needs one of them does not depend on all.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# Now, since these modules are called like what they offer, and would stand in its place.
from nslimb.theory.confusions import Confusions, confusions
from nslimb.theory.shortcuts import Shortcuts, shortcuts

if TYPE_CHECKING:
    from nslimb.theory.bounds import ClassRiskBounds, class_risk_bounds
    from nslimb.theory.identify import Identifiability, identifiability, uniform_weak_ratios, weak_ratios
    from nslimb.theory.readings import reading_evidence
    from nslimb.theory.risk import partial_risk, risk_matrix
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

_HOME = {
    **dict.fromkeys(("ClassRiskBounds", "class_risk_bounds"), "bounds"),
    **dict.fromkeys(("Identifiability", "identifiability", "uniform_weak_ratios", "weak_ratios"), "identify"),
    **dict.fromkeys(("reading_evidence",), "readings"),
    **dict.fromkeys(("partial_risk", "risk_matrix"), "risk"),
    **dict.fromkeys(("generalisation_bound", "is_m_unambiguous", "total_risk_bound"), "totals"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nslimb.theory' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(f"nslimb.theory.{_HOME[name]}"), name)
