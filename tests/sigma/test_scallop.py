"""The scallop engine: its programs on a stand-in everywhere, and on the real scallopy where it is built."""

from __future__ import annotations

import importlib.util
import sys

import datalog
import pytest
import torch

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput, MissingEngine
from nslimb.sigma import scallop

SMALL_TREE = {"root": ["left", "c"], "left": ["a", "b"]}

SIGMAS = {
    "MAX-1": nslimb.sigma.maximum(1),
    "MAX-3": nslimb.sigma.maximum(3, num_classes=5),
    "SUM-2": nslimb.sigma.total(2),
    "HWF-1": nslimb.sigma.formula(1),
    "HWF-3": nslimb.sigma.formula(3),
    "HWF-5": nslimb.sigma.formula(5),
    "HWF-5 left to right": nslimb.sigma.formula(5, precedence=False),
    "Smallest Parent": nslimb.sigma.smallest_parent(),
    "Smallest Parent of three": nslimb.sigma.smallest_parent(SMALL_TREE, arity=3),
}

needs_scallopy = pytest.mark.skipif(
    importlib.util.find_spec("scallopy") is None,
    reason="scallopy is not installed: it has no package in the Python registry and is built from its own sources",
)


@pytest.fixture(autouse=True)
def _fresh_programs() -> None:
    scallop._forward_function.cache_clear()


def scores_for(sigma: Sigma) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(2, sigma.arity, sigma.num_classes, generator=generator, dtype=torch.float64).log_softmax(-1)


def assert_engines_agree(sigma: Sigma, proofs: int | None, tolerance: float) -> None:
    scores = scores_for(sigma).requires_grad_()
    native = sigma.log_prob(scores) if proofs is None else sigma.log_mass(scores, proofs)
    other = scallop.log_prob(scores, sigma, proofs)
    torch.testing.assert_close(other, native, rtol=tolerance, atol=tolerance)
    weak = torch.zeros(2, dtype=torch.int64)
    for form in ("nll", "bce"):
        losses = [nslimb.semantic_loss(scores, weak, sigma, proofs, form, engine) for engine in ("native", "scallop")]
        torch.testing.assert_close(losses[1], losses[0], rtol=tolerance, atol=tolerance)
        gradients = [torch.autograd.grad(loss.sum(), scores)[0] for loss in losses]
        torch.testing.assert_close(gradients[1], gradients[0], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("proofs", [1, None])
@pytest.mark.parametrize("name", SIGMAS)
def test_the_programs_mean_what_sigma_means(name: str, proofs: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scallopy", datalog)
    assert_engines_agree(SIGMAS[name], proofs, 1e-9)


@needs_scallopy
@pytest.mark.parametrize("proofs", [1, None])
@pytest.mark.parametrize("name", SIGMAS)
def test_scallopy_agrees_with_the_diagram(name: str, proofs: int | None) -> None:
    assert_engines_agree(SIGMAS[name], proofs, 1e-4)


def test_without_scallopy_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scallopy", None)
    sigma = nslimb.sigma.maximum(2)
    with pytest.raises(MissingEngine, match=r"from its own sources.*engine='native'"):
        nslimb.semantic_loss(scores_for(sigma), [0, 1], sigma, engine="scallop")


def test_a_sigma_without_a_program_is_refused() -> None:
    sigma = Sigma.from_function(max, num_classes=3, arity=2)
    with pytest.raises(InvalidInput, match=r"expected a sigma with a Scallop program .* got Sigma\(function"):
        nslimb.semantic_loss(scores_for(sigma), [0, 1], sigma, proofs=1, engine="scallop")


def test_an_impossible_weak_label_is_improbable_not_infinite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scallopy", datalog)
    sigma = nslimb.sigma.maximum(2, num_classes=2)
    certain = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]]).log()
    assert torch.isfinite(nslimb.semantic_loss(certain, [1], sigma, proofs=1, engine="scallop")).all()
