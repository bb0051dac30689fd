"""Random ratios and confusion matrices, and the partial risk by listing."""

from __future__ import annotations

import numpy as np
from oracles import all_vectors

from nslimb import Sigma


def random_ratios(rng: np.random.Generator, classes: int) -> np.ndarray:
    return rng.dirichlet(np.ones(classes)) * 0.9 + 0.1 / classes


def random_confusion(rng: np.random.Generator, classes: int) -> np.ndarray:
    """Rows that are soft, deterministic, nearly right, or a permutation of the classes."""
    soft = rng.dirichlet(np.full(classes, 0.5), size=classes)
    sharp = np.eye(classes)[rng.integers(classes, size=classes)]
    permuted = np.eye(classes)[rng.permutation(classes)]
    base = [soft, sharp, np.eye(classes), permuted][rng.integers(4)]
    share = rng.choice([0.0, 0.01, 0.1, 0.5])
    return (1 - share) * base + share * [soft, permuted][rng.integers(2)]


def listed_partial_risk(sigma: Sigma, ratios: np.ndarray, confusion: np.ndarray) -> float:
    """1 - sum over all y and y' with the same weak label of P(y) P(y' | y), over P(y is valid)."""
    vectors = all_vectors(sigma)
    weak = sigma.apply(vectors)
    truth = ratios[vectors].prod(axis=1) * (weak >= 0)
    seen = np.ones((len(vectors), len(vectors)))
    for i in range(sigma.arity):
        seen *= confusion[vectors[:, None, i], vectors[None, :, i]]
    return float(1 - (truth @ (seen * (weak[:, None] == weak)).sum(axis=1)) / truth.sum())
