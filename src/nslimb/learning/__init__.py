"""Learning from weak labels: losses, pseudolabels, methods and one training loop.

Names are imported on first use, so that a job which needs one of them does not pay for all.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nslimb.learning.loop import Probe, Trained, predict, train
    from nslimb.learning.methods import METHODS, Batch, Method, make_method
    from nslimb.learning.settings import Settings

__all__ = ["METHODS", "Batch", "Method", "Probe", "Settings", "Trained", "make_method", "predict", "train"]

_HOME = {
    **dict.fromkeys(("Probe", "Trained", "predict", "train"), "nslimb.learning.loop"),
    "Settings": "nslimb.learning.settings",
    **dict.fromkeys(("METHODS", "Batch", "Method", "make_method"), "nslimb.learning.methods"),
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'nslimb.learning' has no attribute {name!r}; it has {', '.join(__all__)}")
    return getattr(importlib.import_module(_HOME[name]), name)
