"""The programs and the native engine against values that a real Scallop computed (tests/data/README.md)."""

from __future__ import annotations

import sys
from itertools import combinations
from pathlib import Path

import datalog
import numpy as np
import pytest
import torch
from torch import Tensor

import nslimb
from nslimb import Sigma
from nslimb.sigma import scallop

GOLDEN = np.load(Path(__file__).parent.parent / "data" / "scallop_golden.npz")

SIGMAS = {
    "max_3": nslimb.sigma.maximum(3),
    "max_4": nslimb.sigma.maximum(4, num_classes=6),
    "sum_2": nslimb.sigma.total(2),
    "sum_5": nslimb.sigma.total(5),
    "hwf_3": nslimb.sigma.formula(3),
    "hwf_5": nslimb.sigma.formula(5),
    "hwf_5_left_to_right": nslimb.sigma.formula(5, precedence=False),
    "smallest_parent": nslimb.sigma.smallest_parent(),
    "small_tree_3": nslimb.sigma.smallest_parent({"root": ["left", "c"], "left": ["a", "b"]}, arity=3),
}
PROOFS = {"top1": 1, "exact": None}


def scores_of(name: str) -> Tensor:
    return torch.from_numpy(GOLDEN[f"{name}/log_scores"]).requires_grad_()


def assert_golden(name: str, mode: str, scores: Tensor, probabilities: Tensor) -> None:
    """Every probability, and the gradient of the losses of the samples' weak labels."""
    golden = torch.from_numpy(GOLDEN[f"{name}/{mode}/probability"])
    torch.testing.assert_close(probabilities.detach(), golden, rtol=0, atol=1e-6)
    weak = torch.from_numpy(GOLDEN[f"{name}/weak"]).unsqueeze(1)
    (gradient,) = torch.autograd.grad(-probabilities.gather(1, weak).log().sum(), scores)
    expected = torch.from_numpy(GOLDEN[f"{name}/{mode}/gradient_of_nll"])
    torch.testing.assert_close(gradient, expected, rtol=0, atol=1e-5)


def test_the_values_cover_every_sigma_and_mode() -> None:
    assert {key.split("/")[0] for key in GOLDEN} == set(SIGMAS)
    assert {key.split("/")[1] for key in GOLDEN if key.count("/") == 2} == {*PROOFS, "top3"}


@pytest.mark.parametrize("mode", PROOFS)
@pytest.mark.parametrize("name", SIGMAS)
def test_the_native_engine_agrees_entry_by_entry(name: str, mode: str) -> None:
    sigma, scores, proofs = SIGMAS[name], scores_of(name), PROOFS[mode]
    log_probs = sigma.log_prob(scores) if proofs is None else sigma.log_mass(scores, proofs)
    assert_golden(name, mode, scores, log_probs.exp())


@pytest.mark.parametrize("mode", PROOFS)
@pytest.mark.parametrize("name", [name for name in SIGMAS if name != "sum_5"])  # 100,000 proofs are too many for it
def test_the_programs_mean_what_scallop_took_them_for(name: str, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scallopy", datalog)
    scallop._forward_function.cache_clear()
    scores = scores_of(name)
    assert_golden(name, mode, scores, scallop.log_prob(scores, SIGMAS[name], PROOFS[mode]).exp())


def model_count(scores: Tensor, vectors: Tensor) -> Tensor:
    """P(at least one of the vectors [R, M]), each a conjunction of facts (i, label), all facts independent: [1]."""
    positions = range(scores.shape[1])
    proofs = [frozenset(zip(positions, vector.tolist(), strict=True)) for vector in vectors if vector[0] >= 0]
    count = scores.new_zeros(())
    for size in range(1, len(proofs) + 1):
        for chosen in combinations(proofs, size):
            facts = frozenset().union(*chosen)
            count = count - (-1) ** size * torch.stack([scores[0, i, y] for i, y in facts]).sum().exp()
    return count.reshape(1)


@pytest.mark.parametrize("name", SIGMAS)
def test_three_proofs_are_counted_as_if_labels_were_independent(name: str) -> None:
    sigma: Sigma = SIGMAS[name]
    scores = scores_of(name)
    rows = []
    for b in range(len(scores)):
        one = scores[b : b + 1]
        every = torch.arange(len(sigma.weak_labels))
        best = sigma.best(one.detach().expand(len(every), -1, -1), every, 3).labels
        rows.append(torch.cat([model_count(one, vectors) for vectors in best]))
    counted = torch.stack(rows)
    assert_golden(name, "top3", scores, counted)
    ours = sigma.log_mass(scores.detach(), 3).exp()
    assert (ours >= counted.detach() - 1e-12).all()
    assert (ours > counted.detach() + 1e-9).any()  # labels of one image do exclude each other
