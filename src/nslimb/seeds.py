"""Randomness by name: one seed makes a generator for each purpose, the same on every run and in any order."""

from __future__ import annotations

import zlib

import numpy as np
import torch


def numpy_generator(seed: int, *purpose: str | int) -> np.random.Generator:
    """A numpy generator for this purpose, for example ``numpy_generator(1, "samples", "train")``."""
    return np.random.default_rng(np.random.SeedSequence([seed, *_words(purpose)]))


def torch_seed(seed: int, *purpose: str | int) -> int:
    """A seed for torch for this purpose."""
    return int(np.random.SeedSequence([seed, *_words(purpose)]).generate_state(1, np.uint64)[0] >> np.uint64(1))


def torch_generator(seed: int, *purpose: str | int) -> torch.Generator:
    """A torch generator on the CPU for this purpose."""
    return torch.Generator().manual_seed(torch_seed(seed, *purpose))


def _words(purpose: tuple[str | int, ...]) -> list[int]:
    return [zlib.crc32(str(part).encode()) for part in purpose]
