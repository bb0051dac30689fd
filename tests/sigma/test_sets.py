"""Weak labels that are sets or log-weights, against enumeration."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput
from nslimb.sigma import addition, family, maximum, total

SIGMA = maximum(arity=2, num_classes=3)
SCORES = torch.randn(4, 2, 3, generator=torch.Generator().manual_seed(0)).log_softmax(-1)


def sets_for(draw: st.DrawFn, number: int, size: int) -> Tensor:
    """Sets, none of them empty, or log-weights."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mask = rng.random((number, size)) < draw(st.sampled_from([0.1, 0.5, 1.0]))
    mask[np.arange(number), rng.integers(size, size=number)] = True
    if draw(st.booleans()):
        return torch.from_numpy(mask)
    return torch.from_numpy(np.where(mask, rng.normal(size=mask.shape) * 2, -np.inf))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Sigma, Tensor, Tensor]:
    sigma = draw(oracles.tables(max_arity=4, max_classes=4, max_vectors=300))
    scores = draw(oracles.log_scores_for(sigma))
    return sigma, scores, sets_for(draw, len(scores), len(sigma.weak_labels))


def weights_of(weak: Tensor) -> Tensor:
    return torch.where(weak, 0.0, -torch.inf).double() if weak.dtype == torch.bool else weak


def by_listing(sigma: Sigma, scores: Tensor, weak: Tensor) -> tuple[Tensor, np.ndarray]:
    """log P(y) + w of every label vector, -inf where it is not allowed: [B, c ** M], and the label vectors."""
    table = torch.from_numpy(oracles.weak_table(sigma))
    weights = weights_of(weak)[:, table.clamp_min(0)].masked_fill(table == -1, -torch.inf)
    return oracles.joint_log_probs(scores) + weights, oracles.all_vectors(sigma)


@given(problems())
def test_likelihood_and_gradient_match_enumeration(problem: tuple[Sigma, Tensor, Tensor]) -> None:
    sigma, scores, weak = problem
    leaf = scores.clone().requires_grad_()
    ours, theirs = sigma.log_likelihood(leaf, weak), oracles.safe_logsumexp(by_listing(sigma, leaf, weak)[0])
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    if bool((scores.logsumexp(-1).abs() < 1e-6).all()):  # raw scores are refused there
        torch.testing.assert_close(nslimb.semantic_loss(scores, weak, sigma), -theirs.detach(), rtol=1e-10, atol=1e-10)
    (gradient,) = torch.autograd.grad(ours.sum(), leaf)
    (expected,) = torch.autograd.grad(theirs.sum(), leaf)
    expected = expected.where(scores > oracles.NEG_INF, 0.0)
    torch.testing.assert_close(gradient, expected, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(sigma.posterior(scores, weak), expected, rtol=1e-8, atol=1e-8)


@given(problems(), st.integers(1, 6))
def test_the_best_are_those_of_the_union(problem: tuple[Sigma, Tensor, Tensor], k: int) -> None:
    sigma, scores, weak = problem
    joint, vectors = by_listing(sigma, scores, weak)
    found = sigma.best(scores, weak, k)
    expected = torch.nn.functional.pad(joint.sort(dim=1, descending=True).values[:, :k], (0, max(0, k - len(vectors))))
    expected[:, len(vectors) :] = -torch.inf
    torch.testing.assert_close(found.log_probs, expected, rtol=1e-10, atol=1e-10)
    index = {tuple(vector): i for i, vector in enumerate(vectors.tolist())}
    for b, row in enumerate(found.labels.tolist()):
        listed = [tuple(vector) for vector in row if vector[0] >= 0]
        assert len(set(listed)) == len(listed) == int((expected[b] > -torch.inf).sum())
        for rank, vector in enumerate(listed):
            torch.testing.assert_close(joint[b, index[vector]], found.log_probs[b, rank])
    mass = sigma.log_likelihood(scores, weak, proofs=k)
    torch.testing.assert_close(mass, oracles.safe_logsumexp(expected), rtol=1e-10, atol=1e-10)


@given(problems())
def test_members_explain(problem: tuple[Sigma, Tensor, Tensor]) -> None:
    sigma, scores, weak = problem
    vectors = torch.from_numpy(oracles.all_vectors(sigma))
    table = oracles.weak_table(sigma)
    allowed = weights_of(weak) > -torch.inf
    ours = sigma.explains(vectors.unsqueeze(1), weak)
    assert ours.shape == (len(vectors), len(scores))
    for i, s in enumerate(table.tolist()):
        assert ours[i].tolist() == [s >= 0 and bool(row[s]) for row in allowed]
    sizes = [int(sum((table == s).sum() for s in np.flatnonzero(row))) for row in allowed.numpy()]
    assert sigma.preimage_sizes(weak) == tuple(sizes)


@given(problems())
def test_all_is_valid_and_one_is_itself(problem: tuple[Sigma, Tensor, Tensor]) -> None:
    sigma, scores, _ = problem
    size = len(sigma.weak_labels)
    everything = torch.ones(len(scores), size, dtype=torch.bool)
    torch.testing.assert_close(sigma.log_likelihood(scores, everything), sigma.log_valid(scores))
    single = torch.arange(len(scores)) % size
    mask = torch.nn.functional.one_hot(single, size).bool()
    torch.testing.assert_close(sigma.log_likelihood(scores, mask), sigma.log_likelihood(scores, single))


def test_values_are_encoded_and_decoded() -> None:
    weak = SIGMA.encode([{0, 2}, 1, frozenset({1, 2})])
    assert weak.tolist() == [[True, False, True], [False, True, False], [False, True, True]]
    assert SIGMA.decode(weak) == [{0, 2}, {1}, {1, 2}]
    of_sets = Sigma.from_function(lambda y: frozenset(y), num_classes=2, arity=2)
    assert of_sets.encode([frozenset({0, 1})]).dtype == torch.int64  # itself a weak label


@pytest.mark.parametrize("weighted", [False, True])
def test_families_take_sets_of_one_member(weighted: bool) -> None:
    sigma = family({"max": maximum(2, 3), "sum": total(3, 3)})
    mask = sigma.encode([("max", {0, 2}), ("sum", {1, 2, 5}), ("max", 1)])
    weak = torch.where(mask, torch.arange(1.0, 1 + mask.shape[1]), -torch.inf).double() if weighted else mask
    scores = torch.randn(3, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).log_softmax(-1)
    leaf = scores.clone().requires_grad_()
    expected = []
    for row, weights in zip(leaf, weights_of(weak), strict=True):
        terms = []
        for s in torch.isfinite(weights).nonzero().flatten().tolist():
            name, outcome = sigma.weak_labels[s]  # type: ignore[misc]
            function, arity = {"max": (max, 2), "sum": (sum, 3)}[name]  # type: ignore[index]
            vectors = [y for y in product(range(3), repeat=arity) if function(y) == outcome]  # type: ignore[operator]
            terms += [sum(row[i, label] for i, label in enumerate(y)) + weights[s] for y in vectors]
        expected.append(torch.stack(terms).logsumexp(0))
    theirs, ours = torch.stack(expected), sigma.log_likelihood(leaf, weak)
    torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(*(torch.autograd.grad(value.sum(), leaf)[0] for value in (ours, theirs)))
    found = sigma.best(scores, weak, 4)
    assert bool(sigma.explains(found.labels[:, 0], weak).all())
    assert found.labels[:, 0, 2].ge(0).tolist() == [False, True, False]
    with pytest.raises(InvalidInput, match="several members"):
        sigma.log_likelihood(scores, torch.ones_like(mask))


@pytest.mark.parametrize(
    ("weak", "expected"),
    [
        ([[True, False, False], [False] * 3, [True] * 3, [True] * 3], "at least one weak label .* none at index"),
        ([[0.0, 0.0, -np.inf]] * 3 + [[-np.inf] * 3], "at least one weak label .* none at index"),
        ([[0.0, 0.0, np.nan]] * 4, "log-weights below"),
        ([[0.0, np.inf, 0.0]] * 4, "log-weights below"),
        ([[True, False]] * 4, r"bool array \[..., 3\]"),
        ([[True] * 3] * 5, "4 sets of weak labels"),
    ],
)
@pytest.mark.parametrize(
    "call",
    [
        lambda weak: SIGMA.log_likelihood(SCORES, weak),
        lambda weak: SIGMA.posterior(SCORES, weak),
        lambda weak: SIGMA.best(SCORES, weak, 1),
        lambda weak: nslimb.semantic_loss(SCORES, weak, SIGMA),
    ],
)
def test_bad_sets_are_refused(weak: Any, expected: str, call: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidInput, match=expected):
        call(weak)


def test_what_needs_single_labels_refuses_sets() -> None:
    mask = torch.ones(4, 3, dtype=torch.bool)
    for weak in (mask, mask.double()):
        for options in ({"form": "bce"}, {"engine": "scallop"}, {"noise": 0.1}):
            with pytest.raises(InvalidInput, match="one weak label a sample"):
                nslimb.semantic_loss(SCORES, weak, SIGMA, **options)  # type: ignore[arg-type]
    sums = addition(1)
    with pytest.raises(InvalidInput, match=r"indices into sigma\.symbols"):
        sums.log_likelihood(torch.zeros(1, 2, 10).log_softmax(-1), torch.ones(1, 2, dtype=torch.bool))
    with pytest.raises(InvalidInput, match="an empty set"):
        SIGMA.encode([{1}, set()])
    with pytest.raises(InvalidInput, match="weak labels of sigma, or sets"):
        SIGMA.encode([{1, 7}])
