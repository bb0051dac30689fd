"""Which names of the classes explain the weak labels best, where a network tells classes apart and misnames them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nslimb.sigma.component import Sigma

_LOWEST = -10.0  # of a sample's log-likelihood: one that is misread must not decide alone
_LEAST_RATIO = 1e-4
_ROUNDING = 1e-3  # nats: names that differ by no more are ties
_SEARCHED = 500  # samples of the search; what it finds is compared on all of them


class Naming(NamedTuple):
    """Label j is to have the scores that label ``order[j]`` has now."""

    order: Tensor  # int64 [c]
    gain: float  # nats over all samples, against the names as they are


def best_naming(
    log_scores: Tensor, weak: Tensor, sigma: Sigma, ratios: Tensor, starts: int = 16, seed: int = 0
) -> Naming:
    """The permutation pi of the classes that maximises, over samples l with scores P and mean prediction p,

        sum_l ( log P(sigma(y) = s_l | scores P_pi) - sum_i KL( p_{i, pi} || r_i ) ).

    A network may find the classes without their names: a wrong permutation explains most weak labels, and no small
    step leads away from it. Pairs of names are swapped as long as that gains, from the names as they are and from
    ``starts`` random permutations; only labels that can stand at the same positions are swapped.

    Parameters
    ----------
    log_scores
        Log-probabilities [B, M, c].
    weak
        Weak labels as sigma's passes take them.
    sigma
        The symbolic component.
    ratios
        Known label ratios [c], or [M, c] where positions differ; without [M, c] positions are pooled.
    starts, seed
        Of the search.

    Returns
    -------
    Naming
        ``order`` and ``gain``; the names as they are and 0 where none are better.

    Examples
    --------
    >>> import nslimb
    >>> labels = torch.tensor([[0, 0], [0, 1], [1, 2], [2, 2], [0, 2], [1, 1]])
    >>> swapped = torch.tensor([1, 0, 2])[labels]
    >>> scores = (torch.nn.functional.one_hot(swapped, 3) * 0.9 + 0.1 / 3).log()
    >>> sigma = nslimb.sigma.total(2, num_classes=3)
    >>> best_naming(scores, sigma.apply(labels), sigma, torch.full((3,), 1 / 3)).order.tolist()
    [1, 0, 2]
    """
    swaps = _swaps(sigma)
    same = torch.arange(sigma.num_classes)
    if not len(swaps):
        return Naming(same, 0.0)
    some = log_scores[:_SEARCHED], weak[:_SEARCHED], sigma, ratios
    ends = [_climb(*some, order, swaps) for order in (same, *_shuffled(sigma, starts, seed))]
    orders = torch.stack([same, *ends]).unique(dim=0)
    values = torch.cat([_values(log_scores, weak, sigma, ratios, order.unsqueeze(0)) for order in orders])
    before = values[(orders == same).all(dim=1)].item()
    best = int(values.argmax())
    gain = float(values[best]) - before
    return Naming(orders[best], gain) if gain > _ROUNDING else Naming(same, 0.0)


def _shuffled(sigma: Sigma, number: int, seed: int) -> Iterator[Tensor]:
    """Random permutations [c] of the labels that can stand at the same positions."""
    rng = np.random.default_rng(seed)
    kinds = np.unique(sigma.accepted.T, axis=0, return_inverse=True)[1].reshape(-1)
    for _ in range(number):
        order = np.arange(sigma.num_classes)
        for kind in range(kinds.max() + 1):
            order[kinds == kind] = rng.permutation(order[kinds == kind])
        yield torch.from_numpy(order)


def _swaps(sigma: Sigma) -> Tensor:
    """All pairs of labels that can stand at the same positions, [K, 2]."""
    accepted = sigma.accepted
    first, second = np.triu_indices(sigma.num_classes, k=1)
    alike = (accepted[:, first] == accepted[:, second]).all(axis=0)
    return torch.from_numpy(np.stack([first, second], axis=1)[alike])


def _climb(log_scores: Tensor, weak: Tensor, sigma: Sigma, ratios: Tensor, order: Tensor, swaps: Tensor) -> Tensor:
    """The best swap again and again until none gains."""
    value = float(_values(log_scores, weak, sigma, ratios, order.unsqueeze(0)))
    while True:
        tried = order.repeat(len(swaps), 1).scatter(1, swaps, order[swaps.flip(1)])
        values = _values(log_scores, weak, sigma, ratios, tried)
        best = int(values.argmax())
        if float(values[best]) <= value + 1e-6 * (1 + abs(value)):
            return order
        order, value = tried[best], float(values[best])


def _values(log_scores: Tensor, weak: Tensor, sigma: Sigma, ratios: Tensor, orders: Tensor) -> Tensor:
    """What is maximised, for each of K permutations [K, c]."""
    number, arity = len(log_scores), sigma.arity
    moved = log_scores[..., orders.to(log_scores.device)].movedim(2, 0)  # [K, B, M, c]
    labels = weak.expand(len(orders), *weak.shape).flatten(0, 1)
    likelihood = sigma.log_likelihood(moved.flatten(0, 1), labels).clamp_min(_LOWEST).view(len(orders), number)
    mean = log_scores.exp().mean(dim=0)
    known = ratios.to(mean).clamp_min(_LEAST_RATIO)
    if known.dim() == 1:
        mean = mean.mean(dim=0, keepdim=True).expand(arity, -1)
    named = mean[:, orders.to(mean.device)]  # [M, K, c]
    distance = (named * (named.clamp_min(1e-12).log() - known.log().expand(arity, -1).unsqueeze(1))).sum(dim=(0, 2))
    return (likelihood.double().sum(dim=1) - number * distance.double()).cpu()
