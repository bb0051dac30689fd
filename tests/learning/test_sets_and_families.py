"""Pseudolabels for weak labels that are sets or log-weights, and for families, against programs over listed proofs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from torch import Tensor

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput
from nslimb.sigma import Family, family, maximum, total

IDENTITY = Sigma.from_function(lambda y: y[0], num_classes=4, arity=1)


def masks(rng: np.random.Generator, number: int, size: int, share: float = 0.4) -> np.ndarray:
    """Sets that hold at least one."""
    mask = rng.random((number, size)) < share
    mask[np.arange(number), rng.integers(size, size=number)] = True
    return mask


def allowed(sigma: Sigma, weak: Tensor) -> list[list[tuple[tuple[int, ...], float]]]:
    """For each sample its label vectors, as long as its member is, with their log-weights; by calling ``apply``."""
    found = []
    for row in weak:
        weights = row if row.dim() else torch.where(torch.arange(len(sigma.weak_labels)) == row, 0.0, -torch.inf)
        if row.dtype == torch.bool:
            weights = torch.where(row, 0.0, -torch.inf)
        member, length = None, sigma.arity
        if isinstance(sigma, Family):
            member = sigma.weak_labels[int(weights.argmax())][0]  # type: ignore[index]
            length = sigma.lengths[sigma.members.index(member)]
        vectors = []
        for vector in product(range(sigma.num_classes), repeat=length):
            padded = [*vector, *(0,) * (sigma.arity - length)]
            s = int(sigma.apply([padded], member)[0] if isinstance(sigma, Family) else sigma.apply([padded])[0])
            if s >= 0 and weights[s] > -torch.inf:
                vectors.append((vector, float(weights[s])))
        found.append(vectors)
    return found


def solve_listed(sigma: Sigma, scores: Tensor, weak: Tensor, ratios: np.ndarray, epsilon: float) -> float | None:
    """The optimum of eq. (5) with one column for each listed label vector, or None where there is none."""
    columns = [(b, vector) for b, vectors in enumerate(allowed(sigma, weak)) for vector, _ in vectors]
    cost = [-sum(float(scores[b, i, j]) for i, j in enumerate(vector)) for b, vector in columns]
    equal = np.array([[b == sample for b, _ in columns] for sample in range(len(scores))], dtype=float)
    size = sigma.num_classes
    counts = np.zeros((sigma.arity * size, len(columns)))
    for k, (_, vector) in enumerate(columns):
        counts[[i * size + j for i, j in enumerate(vector)], k] = 1
    there = np.array([[len(vectors[0][0]) > i for vectors in allowed(sigma, weak)] for i in range(sigma.arity)])
    target = (there.sum(axis=1)[:, None] * ratios).reshape(-1)
    solved = linprog(
        cost,
        np.concatenate([counts, -counts]),
        np.concatenate([target + epsilon, epsilon - target]),
        equal,
        np.ones(len(scores)),
    )
    return float(solved.fun) if solved.status == 0 else None


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_partial_labels_are_solars_program(seed: int) -> None:
    """min <-log P, Q> with Q >= 0, rows that sum to 1, Q = 0 outside the candidate sets, and columns n r."""
    rng = np.random.default_rng(seed)
    number = int(rng.integers(3, 9))
    truth = rng.integers(4, size=number)
    mask = rng.random((number, 4)) < 0.4
    mask[np.arange(number), truth] = True
    ratios = np.bincount(truth, minlength=4) / number
    scores = torch.from_numpy(rng.normal(size=(number, 1, 4)) * 2).log_softmax(-1)
    cost = -scores[:, 0].numpy().reshape(-1)
    rows = np.kron(np.eye(number), np.ones(4))
    columns = np.kron(np.ones(number), np.eye(4))
    bounds = [(0, 1 if inside else 0) for inside in mask.reshape(-1)]
    equal, right = np.concatenate([rows, columns]), np.concatenate([np.ones(number), number * ratios])
    solar = linprog(cost, A_eq=equal, b_eq=right, bounds=bounds)
    ours = nslimb.pseudolabels(scores, mask, IDENTITY, ratios, epsilon=0.0)
    assert ours.status == "optimal"
    assert ours.objective == pytest.approx(solar.fun, abs=1e-7)
    np.testing.assert_allclose(ours.q[:, 0].numpy()[~mask], 0, atol=1e-9)
    np.testing.assert_allclose(ours.q[:, 0].sum(0).numpy(), number * ratios, atol=1e-6)


PROBLEMS: list[Sigma] = [
    maximum(2, 3),
    total(3, 2),
    family({"max": maximum(3, 3), "sum": total(3, 3)}),
    family({"max": maximum(2, 3), "sum": total(3, 3), "one": maximum(1, 3)}),
    Sigma.from_candidates([[(0, 1), (1, 0)], [(2,), (1,)], [(1, 1), (0, 2), (2, 2)]], num_classes=3),
]


@st.composite
def problems(draw: st.DrawFn, weighted: bool) -> tuple[Sigma, Tensor, Tensor, np.ndarray]:
    """A sigma, scores, weak labels (integers, sets or perhaps log-weights), and ratios."""
    sigma = draw(st.sampled_from(PROBLEMS))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    number, size = int(rng.integers(2, 6)), len(sigma.weak_labels)
    weak: Any = torch.from_numpy(rng.integers(size, size=number))
    kind = draw(st.sampled_from(["one", "sets", "weights"] if weighted else ["one", "sets"]))
    if kind != "one":
        mask = masks(rng, number, size)
        if isinstance(sigma, Family):  # of one member each
            owner = np.array([sigma.members.index(name) for name, _ in sigma.weak_labels])  # type: ignore[misc]
            mask &= owner == owner[weak.numpy()][:, None]
            mask[np.arange(number), weak.numpy()] = True
        weak = torch.from_numpy(mask)
        if kind == "weights":
            weak = torch.from_numpy(np.where(mask, rng.normal(size=mask.shape) * 2, -np.inf))
    shape = (number, sigma.arity, sigma.num_classes)
    scores = torch.from_numpy(rng.normal(size=shape) * 2).log_softmax(-1)
    return sigma, scores, weak, rng.dirichlet(np.ones(sigma.num_classes) * 2)


@settings(max_examples=40, deadline=None)
@given(problems(weighted=False), st.sampled_from([0.3, 0.99, 3.0]))
def test_the_linear_program_matches_listing(problem: tuple[Sigma, Tensor, Tensor, np.ndarray], epsilon: float) -> None:
    sigma, scores, weak, ratios = problem
    expected = solve_listed(sigma, scores, weak, ratios, epsilon)
    found = nslimb.pseudolabels(scores, weak, sigma, ratios, epsilon=epsilon)
    if expected is None:
        assert found.status == "widened"
        assert found.epsilon > epsilon
    else:
        assert found.status == "optimal"
        assert found.objective == pytest.approx(expected, abs=1e-6)
    sums = found.q.sum(dim=-1)
    used = sigma.used(sigma.check_weak(weak, len(scores), scores.device))
    wanted = torch.ones_like(sums) if used is None else used.to(sums)
    torch.testing.assert_close(sums, wanted, rtol=0, atol=1e-6)
    one = nslimb.pseudolabels(scores, weak, sigma, ratios, proofs=1)
    best = sigma.best(scores, weak, 1).labels[:, 0]
    torch.testing.assert_close(one.q.argmax(-1).where(best >= 0, -1), best)
    torch.testing.assert_close(one.q.sum(dim=-1), wanted)


@settings(max_examples=40, deadline=None)
@given(problems(weighted=True), st.sampled_from([0.3, 1.0, 2.5]), st.booleans())
def test_soft_pseudolabels_meet_their_conditions(
    problem: tuple[Sigma, Tensor, Tensor, np.ndarray], eta: float, pooled: bool
) -> None:
    """q is the listed posterior at (log P + v + w) / eta, and v = -tau log(counts / (number r))."""
    sigma, scores, weak, ratios = problem
    tau = 3.0
    found = nslimb.soft_pseudolabels(scores, weak, sigma, ratios, eta=eta, tau=tau, pooled=pooled, tolerance=1e-9)
    assert bool(found.converged)
    expected, there = torch.zeros_like(scores), torch.zeros(len(scores), sigma.arity)
    for b, vectors in enumerate(allowed(sigma, weak)):
        moved = scores[b] + found.potentials
        values = [(sum(moved[i, j] for i, j in enumerate(vector)) + w) / eta for vector, w in vectors]
        shares = torch.stack([torch.as_tensor(value) for value in values]).softmax(0)
        for share, (vector, _) in zip(shares, vectors, strict=True):
            expected[b, range(len(vector)), list(vector)] += share
        there[b, : len(vectors[0][0])] = 1
    torch.testing.assert_close(found.q, expected, rtol=1e-6, atol=1e-7)
    counts, number = expected.sum(dim=0), there.sum(dim=0, keepdim=True).t().double()
    if pooled:
        counts, number = counts.sum(dim=0, keepdim=True), number.sum(dim=0, keepdim=True)
    live = counts > 1e-6
    potentials = found.potentials[:1] if pooled else found.potentials
    wanted = -tau * (counts / (number * torch.from_numpy(ratios))).log()
    torch.testing.assert_close(potentials[live], wanted[live], rtol=1e-5, atol=1e-5)


def test_weights_tilt_as_scores_do() -> None:
    """For one label with the identity as sigma, log-weights are scores by another name."""
    rng = np.random.default_rng(3)
    scores, weights = (torch.from_numpy(rng.normal(size=(5, 4))) for _ in range(2))
    ratios = [0.1, 0.2, 0.3, 0.4]
    everything = torch.ones(5, 4, dtype=torch.bool)
    both = nslimb.soft_pseudolabels((scores + weights).unsqueeze(1), everything, IDENTITY, ratios, eta=0.7)
    split = nslimb.soft_pseudolabels(scores.unsqueeze(1), weights, IDENTITY, ratios, eta=0.7)
    torch.testing.assert_close(split.q, both.q, rtol=1e-6, atol=1e-7)


def test_what_is_refused() -> None:
    scores = torch.zeros(2, 1, 4).log_softmax(-1)
    with pytest.raises(InvalidInput, match="soft_pseudolabels and semantic_loss take log-weights"):
        nslimb.pseudolabels(scores, torch.zeros(2, 4), IDENTITY, [0.25] * 4)
    uneven = family({"max": maximum(2, 3), "sum": total(3, 3)})
    with pytest.raises(InvalidInput, match="'hull' where members"):
        nslimb.pseudolabels(torch.zeros(1, 3, 3).log_softmax(-1), [0], uneven, [1 / 3] * 3, encoding="paper", proofs=2)
    with pytest.raises(InvalidInput, match="members of one length"):
        nslimb.select(torch.zeros(1, 3, 3).log_softmax(-1), [0], uneven, [1 / 3] * 3, "la")
