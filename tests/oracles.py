"""Brute force over all c ** M label vectors, and hypothesis strategies for small problems."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch
from hypothesis import strategies as st
from torch import Tensor

from nslimb import Sigma

NEG_INF = float("-inf")


def all_vectors(sigma: Sigma) -> np.ndarray:
    """Every label vector, [c ** M, M]."""
    return np.array(list(product(range(sigma.num_classes), repeat=sigma.arity)))


def joint_log_probs(log_scores: Tensor) -> Tensor:
    """log P(y) of every label vector in the order of ``all_vectors``: [B, M, c] -> [B, c ** M]."""
    joint = log_scores[:, 0]
    for i in range(1, log_scores.shape[1]):
        joint = (joint.unsqueeze(2) + log_scores[:, i].unsqueeze(1)).flatten(1)
    return joint


def log_prob(log_scores: Tensor, table: np.ndarray, num_weak: int) -> Tensor:
    """log P(sigma = s) by listing; ``table`` holds the weak index of every vector or -1."""
    joint = joint_log_probs(log_scores)
    return torch.stack([safe_logsumexp(joint[:, table == s]) for s in range(num_weak)], dim=1)


def safe_logsumexp(values: Tensor) -> Tensor:
    """log-sum-exp over the last axis whose gradient is 0, not NaN, where all values are -inf."""
    peak = values.detach().amax(dim=1, keepdim=True).clamp_min(-1e300 if values.dtype == torch.float64 else -1e38)
    mass = (values - peak).exp().sum(dim=1)
    return torch.where(mass > 0, mass.where(mass > 0, 1.0).log() + peak.squeeze(1), NEG_INF)


def posterior(log_scores: Tensor, weak: Tensor, table: np.ndarray, vectors: np.ndarray) -> Tensor:
    """P(y_i = j | s) by summing the joint over the pre-image."""
    joint = joint_log_probs(log_scores)
    result = torch.zeros_like(log_scores)
    for b, s in enumerate(weak.tolist()):
        rows = np.flatnonzero(table == s)
        weights = joint[b, rows]
        if weights.max() == NEG_INF:
            continue
        weights = torch.softmax(weights, dim=0)
        for i in range(log_scores.shape[1]):
            result[b, i].index_add_(0, torch.from_numpy(vectors[rows, i]), weights)
    return result


@st.composite
def tables(draw: st.DrawFn, max_arity: int = 5, max_classes: int = 6, max_vectors: int = 1300) -> Sigma:
    """A random sigma: arity 1-5, 2-6 classes, some label vectors without a weak label."""
    arity = draw(st.integers(1, max_arity))
    classes = draw(st.integers(2, max_classes).filter(lambda c: c**arity <= max_vectors))
    weak = draw(st.integers(1, 5))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    invalid = draw(st.sampled_from([0.0, 0.0, 0.3, 0.9]))
    kind = draw(st.sampled_from(["table", "modulo", "position"]))
    values = rng.integers(weak, size=(classes,) * arity)
    valid = rng.random(values.shape) >= invalid
    valid.reshape(-1)[rng.integers(valid.size)] = True
    weights = rng.integers(-3, 4, size=arity)

    def function(labels: tuple[int, ...]) -> int | None:
        if not valid[labels]:
            return None
        if kind == "table":
            return int(values[labels])
        if kind == "modulo":
            return int(np.dot(weights, labels)) % weak
        return labels[seed % arity]

    sigma = Sigma.from_function(function, num_classes=classes, arity=arity)
    sigma.options["function"] = function
    return sigma


def weak_table(sigma: Sigma) -> np.ndarray:
    """Weak index of every label vector, by calling the function itself."""
    index = {label: i for i, label in enumerate(sigma.weak_labels)} | {None: -1}
    return np.array([index[sigma.options["function"](tuple(v))] for v in all_vectors(sigma).tolist()])


@st.composite
def log_scores_for(draw: st.DrawFn, sigma: Sigma, max_batch: int = 4) -> Tensor:
    """Scores in double precision: soft, tied, one-hot (0 and 1), with zeros, extreme, or not normalised."""
    batch = draw(st.integers(1, max_batch))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (batch, sigma.arity, sigma.num_classes)
    kind = draw(st.sampled_from(["soft", "soft", "ties", "one-hot", "zeros", "extreme", "unnormalised"]))
    logits = rng.normal(size=shape) * 3
    if kind == "ties":
        logits = rng.integers(0, 2, size=shape).astype(float)
    elif kind == "one-hot":
        logits = np.where(np.arange(shape[2]) == rng.integers(shape[2], size=shape[:2])[..., None], 0.0, NEG_INF)
    elif kind == "zeros":
        logits = np.where(rng.random(shape) < 0.4, NEG_INF, logits)
        logits[..., 0] = np.where(np.isneginf(logits).all(axis=-1), 0.0, logits[..., 0])
    elif kind == "extreme":
        logits = rng.choice([-1e4, 0.0, 1e4], size=shape)
    scores = torch.from_numpy(logits)
    return scores if kind == "unnormalised" else scores.log_softmax(dim=-1)


def weak_for(sigma: Sigma, batch: int) -> st.SearchStrategy[list[int]]:
    """A weak label (index) for each sample."""
    return st.lists(st.integers(0, len(sigma.weak_labels) - 1), min_size=batch, max_size=batch)
