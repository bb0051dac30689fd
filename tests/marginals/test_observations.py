"""Algorithm 1 from sets of weak labels and for families: against direct maximisation of listed likelihoods."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput
from nslimb.marginals.likelihood import WeakLikelihood
from nslimb.sigma import family, maximum, total

IDENTITY = Sigma.from_function(lambda y: y[0], num_classes=4, arity=1)


def listed_likelihood(ratios: np.ndarray, parts: list[tuple[Sigma, np.ndarray]]) -> float:
    """The mean log of the weighted probability of what was observed, given a weak label: weights [m, S] a part."""
    found = []
    for sigma, weights in parts:
        vectors = np.array(list(product(range(sigma.num_classes), repeat=sigma.arity)))
        table = sigma.apply(vectors)
        mass = ratios[vectors].prod(axis=1)
        psi = np.array([mass[table == s].sum() for s in range(len(sigma.weak_labels))])
        found.append(np.log(weights @ (psi / psi.sum())))
    return float(np.concatenate(found).mean())


def maximised(parts: list[tuple[Sigma, np.ndarray]], size: int) -> float:
    """The largest likelihood that softmax logits reach from several starts."""

    def loss(logits: np.ndarray) -> float:
        shares = np.exp(logits - logits.max())
        return -listed_likelihood(shares / shares.sum(), parts)

    starts = [np.zeros(size), *np.random.default_rng(0).normal(size=(4, size))]
    return max(-minimize(loss, start, tol=1e-12).fun for start in starts)


def drawn_sets(rng: np.random.Generator, weak: np.ndarray, size: int, q: float) -> np.ndarray:
    mask = rng.random((len(weak), size)) < q
    mask[np.arange(len(weak)), weak] = True
    return mask


PARTLY_INVALID = Sigma.from_function(lambda y: None if y == (0, 0) else sum(y), num_classes=3, arity=2)


@pytest.mark.parametrize("sigma", [IDENTITY, maximum(3, 3), PARTLY_INVALID], ids=["identity", "max", "partly invalid"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sets_reach_the_listed_maximum(sigma: Sigma, weighted: bool) -> None:
    rng = np.random.default_rng(1)
    size = sigma.num_classes
    hidden = rng.choice(size, p=rng.dirichlet(np.full(size, 3)), size=(4000, sigma.arity))
    weak = sigma.apply(hidden)
    weak = weak[weak >= 0][:300]
    mask = drawn_sets(rng, weak, len(sigma.weak_labels), 0.2)
    observed: Any = np.where(mask, rng.normal(size=mask.shape), -np.inf) if weighted else mask
    found = nslimb.estimate_marginal(observed, sigma)
    weights = np.exp(observed) if weighted else mask.astype(float)
    assert found.log_likelihood == pytest.approx(maximised([(sigma, weights)], size), abs=1e-6)


def test_sets_of_one_are_single_labels() -> None:
    sigma = maximum(2, 4)
    weak = sigma.apply(np.random.default_rng(0).integers(4, size=(500, 2)))
    sets = np.eye(4, dtype=bool)[weak]
    for options in ({}, {"regularise": "entropy"}, {"noise": 0.1}):
        single = nslimb.estimate_marginal(weak, sigma, **options)  # type: ignore[arg-type]
        several = nslimb.estimate_marginal(sets, sigma, **options)  # type: ignore[arg-type]
        assert several.log_likelihood == pytest.approx(single.log_likelihood, abs=1e-7)
        np.testing.assert_allclose(several.ratios, single.ratios, atol=1e-3)


def test_true_ratios_come_back_from_candidate_sets() -> None:
    rng = np.random.default_rng(2)
    ratios = np.array([0.5, 0.3, 0.15, 0.05])
    weak = rng.choice(4, p=ratios, size=20_000)
    found = nslimb.estimate_marginal(drawn_sets(rng, weak, 4, 0.3), IDENTITY)
    np.testing.assert_allclose(found.ratios, ratios, atol=0.02)
    everything = np.ones((50, 4), dtype=bool)
    with pytest.warns(nslimb.marginals.NotIdentified):
        open_ = nslimb.estimate_marginal(everything, IDENTITY)
    np.testing.assert_allclose(open_.ratios, 0.25, atol=1e-6)
    assert len(open_.flat) == 3


MEMBERS = {"max": maximum(3, 3), "sum": total(2, 3), "odd": Sigma.from_function(lambda y: y[0] % 2 or None, 3, 2)}


@pytest.mark.parametrize("sets", [False, True])
def test_families_reach_the_listed_maximum(sets: bool) -> None:
    rng = np.random.default_rng(3)
    sigma = family(MEMBERS)
    values: list[Any] = []
    parts = []
    for name, member in MEMBERS.items():
        weak = member.apply(rng.choice(3, p=[0.2, 0.3, 0.5], size=(120, member.arity)))
        mask = drawn_sets(rng, weak[weak >= 0], len(member.weak_labels), 0.2 if sets else 0.0)
        values += [(name, {member.weak_labels[s] for s in np.flatnonzero(row)}) for row in mask]
        parts.append((member, mask.astype(float)))
    if not sets:
        values = [(name, next(iter(outcome))) for name, outcome in values]
    found = nslimb.estimate_marginal(sigma.encode(values), sigma)
    assert found.log_likelihood == pytest.approx(maximised(parts, 3), abs=1e-6)
    if not sets:
        counts = np.bincount(sigma.encode(values), minlength=len(sigma.weak_labels))
        again = nslimb.estimate_marginal(counts, sigma, counts=True)
        np.testing.assert_allclose(again.ratios, found.ratios, atol=1e-9)


def test_candidates_of_many_samples() -> None:
    """A member for each sample: the true label vector and two others."""
    rng = np.random.default_rng(4)
    ratios = np.array([0.1, 0.2, 0.3, 0.4])
    hidden = rng.choice(4, p=ratios, size=(600, 2))
    lists = [[tuple(y), *map(tuple, rng.integers(4, size=(2, 2)).tolist())] for y in hidden.tolist()]
    sigma = Sigma.from_candidates(lists, num_classes=4)
    found = nslimb.estimate_marginal(sigma.encode(lists), sigma)
    np.testing.assert_allclose(found.ratios, ratios, atol=0.06)


def test_slopes_are_derivatives() -> None:
    rng = np.random.default_rng(5)
    sigma = family(MEMBERS)
    weak = torch.from_numpy(rng.permutation(len(sigma.weak_labels)))
    likelihood = WeakLikelihood.from_weak(weak, sigma, None, False)
    ratios = np.array([[0.2, 0.5, 0.3]])
    values, slopes = likelihood.log_probs_and_slopes(ratios)
    step = 1e-6
    for label in range(3):
        moved = ratios.copy()
        moved[0, label] *= np.exp(step)
        np.testing.assert_allclose(
            (likelihood.log_probs_and_slopes(moved)[0] - values) / step, slopes[:, 0, label], atol=1e-5
        )
    scores = torch.from_numpy(np.log(np.tile(ratios, (3, 1))))[None]
    np.testing.assert_allclose(likelihood.log_probs(scores)[0], values, atol=1e-12)


def test_bad_input() -> None:
    with pytest.raises(InvalidInput, match="noise"):
        nslimb.estimate_marginal([0, 1], family(MEMBERS), noise=0.1)
    with pytest.raises(InvalidInput, match="at least one weak label"):
        nslimb.estimate_marginal(np.zeros((2, 4), dtype=bool), IDENTITY)
    with pytest.raises(InvalidInput, match="counts"):
        nslimb.estimate_marginal(np.ones((2, 4), dtype=bool), IDENTITY, counts=True)
