"""The one place that imports torchvision.

A CPU build of torch next to the registry's torchvision, which is compiled for CUDA, cannot load
torchvision's compiled operators; ``import torchvision`` then fails while it registers shape rules for two
of them. Data sets, transforms and classification models need neither, so the two schemas are declared
here, only where they are missing, before the import. Calling such an operator still fails, as it must.

Use it as ``from nslimb.vision import torchvision``, inside the function that needs it: the import takes
seconds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    import torchvision

__all__ = ["torchvision"]

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)
_declared: list[Any] = []


def __getattr__(name: str) -> Any:
    if name != "torchvision":
        raise AttributeError(f"module 'nslimb.vision' has no attribute {name!r}; it has 'torchvision'")
    try:
        module = importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
        _declare_missing_operators()
        module = importlib.import_module("torchvision")
    globals()[name] = module
    return module


def _declare_missing_operators() -> None:
    """Declare the schemas; the library object must live as long as they are wanted."""
    library = torch.library.Library("torchvision", "DEF")
    for schema in _SCHEMAS:
        library.define(schema)
    _declared.append(library)
