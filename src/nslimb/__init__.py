"""nslimb: find, measure and cure learning imbalances in neurosymbolic learning.

Names are imported on first use, so that ``nslimb --help`` or a small job does not pay for torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nslimb import errors, marginals, sigma
    from nslimb.learning.pseudolabels import pseudolabels
    from nslimb.learning.semantic import semantic_loss
    from nslimb.marginals import estimate_marginal
    from nslimb.sigma import Sigma

__version__ = "0.1.0"

__all__ = ["Sigma", "__version__", "errors", "estimate_marginal", "marginals", "pseudolabels", "semantic_loss", "sigma"]

_HOME = {
    "Sigma": "nslimb.sigma",
    "estimate_marginal": "nslimb.marginals",
    "pseudolabels": "nslimb.learning.pseudolabels",
    "semantic_loss": "nslimb.learning.semantic",
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
