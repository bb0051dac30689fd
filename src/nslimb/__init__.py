"""nslimb: find, measure and cure learning imbalances in neurosymbolic learning.

Names are imported on first use, so that ``nslimb --help`` or a small job does not pay for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nslimb import adjustment, errors, marginals, sigma, theory
    from nslimb.adjustment import adjust, carot, logit_adjustment, select
    from nslimb.classifier import WeakClassifier
    from nslimb.diagnosis import diagnose
    from nslimb.learning.methods.records import Records
    from nslimb.learning.pseudolabels import pseudolabels
    from nslimb.learning.semantic import semantic_loss
    from nslimb.learning.transport import soft_pseudolabels
    from nslimb.marginals import SlidingWindow, estimate_marginal
    from nslimb.sigma import Sigma
    from nslimb.theory import (
        class_risk_bounds,
        confusions,
        generalisation_bound,
        identifiability,
        is_m_unambiguous,
        shortcuts,
        total_risk_bound,
    )

__version__ = "0.2.0"

__all__ = [
    "Records",
    "Sigma",
    "SlidingWindow",
    "WeakClassifier",
    "__version__",
    "adjust",
    "adjustment",
    "carot",
    "class_risk_bounds",
    "confusions",
    "diagnose",
    "errors",
    "estimate_marginal",
    "generalisation_bound",
    "identifiability",
    "is_m_unambiguous",
    "logit_adjustment",
    "marginals",
    "pseudolabels",
    "select",
    "semantic_loss",
    "shortcuts",
    "sigma",
    "soft_pseudolabels",
    "theory",
    "total_risk_bound",
]

_HOME = {
    "Records": "nslimb.learning.methods.records",
    "Sigma": "nslimb.sigma",
    "SlidingWindow": "nslimb.marginals",
    "WeakClassifier": "nslimb.classifier",
    "adjust": "nslimb.adjustment",
    "carot": "nslimb.adjustment",
    "class_risk_bounds": "nslimb.theory",
    "confusions": "nslimb.theory",
    "diagnose": "nslimb.diagnosis",
    "estimate_marginal": "nslimb.marginals",
    "generalisation_bound": "nslimb.theory",
    "identifiability": "nslimb.theory",
    "is_m_unambiguous": "nslimb.theory",
    "logit_adjustment": "nslimb.adjustment",
    "pseudolabels": "nslimb.learning.pseudolabels",
    "select": "nslimb.adjustment",
    "semantic_loss": "nslimb.learning.semantic",
    "shortcuts": "nslimb.theory.shortcuts",
    "soft_pseudolabels": "nslimb.learning.transport",
    "total_risk_bound": "nslimb.theory",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(importlib.import_module(_HOME[name]), name)
    elif name in __all__:
        value = importlib.import_module(f"nslimb.{name}")
    else:
        raise AttributeError(f"module 'nslimb' has no attribute {name!r}; it has {', '.join(__all__)}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
