"""How the loop trains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Settings:
    """How to train; the defaults are the paper's."""

    network: str | Mapping[str, str] = "lenet"  # or one for each of sigma's spaces
    epochs: int = 100
    batch_size: int = 64
    learning_rate: float = 1e-3
    seed: int = 1
    augment: str = "none"  # or "affine", "flip-crop"
    normalisation: str = "auto"  # as the image source says
    device: str = "auto"
    mixed_precision: bool = False
    compile: bool = False
    patience: int | None = None  # epochs without a higher weak likelihood on the validation samples; None: no stopping
    threads: int | None = None  # of torch on the CPU; None: few, as the network is small

    def learned(self) -> dict[str, Any]:
        """Those that the weights depend on; where a network is trained is none of them."""
        unused = {"device", "threads"} | ({"patience"} if self.patience is None else set())
        return {key: value for key, value in asdict(self).items() if key not in unused}
