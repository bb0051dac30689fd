"""Semantic loss in both forms, exact and with k proofs, against enumeration."""

from __future__ import annotations

import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import binary_cross_entropy

import nslimb
from nslimb.errors import InvalidInput
from nslimb.learning.semantic import log_complement


def enumerated(sigma: nslimb.Sigma, scores: torch.Tensor, proofs: int | None) -> torch.Tensor:
    """P of every weak label: the sum over its label vectors, or over the k most probable."""
    joint, table = oracles.joint_log_probs(scores).exp(), oracles.weak_table(sigma)
    columns = []
    for s in range(len(sigma.weak_labels)):
        each = joint[:, torch.from_numpy(table == s)]
        columns.append(each.sum(1) if proofs is None else each.topk(min(proofs, each.shape[1]), dim=1).values.sum(1))
    return torch.stack(columns, dim=1)


@given(st.data())
def test_losses_match_enumeration(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables())
    scores = torch.randn(3, sigma.arity, sigma.num_classes, dtype=torch.float64).log_softmax(-1)
    weak = data.draw(oracles.weak_for(sigma, 3))
    proofs = data.draw(st.sampled_from([None, 1, 2, 10]))
    probabilities = enumerated(sigma, scores, proofs).clamp(max=1.0)
    target = torch.nn.functional.one_hot(torch.tensor(weak), len(sigma.weak_labels)).double()
    nll = nslimb.semantic_loss(scores, weak, sigma, proofs=proofs)
    torch.testing.assert_close(nll, -probabilities[torch.arange(3), weak].log(), rtol=1e-8, atol=1e-8)
    if len(sigma.weak_labels) > 1:
        bce = nslimb.semantic_loss(scores, weak, sigma, proofs=proofs, form="bce")
        expected = binary_cross_entropy(probabilities, target, reduction="none").mean(dim=1)
        torch.testing.assert_close(bce, expected, rtol=1e-8, atol=1e-8)


@settings(max_examples=25)
@given(st.data())
def test_losses_pass_gradcheck(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables(max_arity=3, max_classes=4).filter(lambda s: len(s.weak_labels) > 1))
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**31)))
    logits = torch.randn(2, sigma.arity, sigma.num_classes, generator=generator, dtype=torch.float64).requires_grad_()
    weak = data.draw(oracles.weak_for(sigma, 2))
    for form in ("nll", "bce"):
        for proofs in (None, 1):

            def loss(x: torch.Tensor, form: str = form, proofs: int | None = proofs) -> torch.Tensor:
                return nslimb.semantic_loss(x.log_softmax(-1), weak, sigma, proofs, form)  # type: ignore[arg-type]

            assert torch.autograd.gradcheck(loss, logits)


@pytest.mark.parametrize("form", ["nll", "bce"])
@pytest.mark.parametrize("proofs", [None, 1, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_logits_give_finite_losses_and_gradients(form: str, proofs: int | None, dtype: torch.dtype) -> None:
    sigma = nslimb.sigma.maximum(arity=3)
    generator = torch.Generator().manual_seed(3)
    logits = ((torch.randint(0, 2, (64, 3, 10), generator=generator) * 2 - 1) * 1e4).to(dtype).requires_grad_()
    weak = torch.randint(10, (64,), generator=generator)
    loss = nslimb.semantic_loss(logits.log_softmax(-1), weak, sigma, proofs, form)  # type: ignore[arg-type]
    assert torch.isfinite(loss).all()
    assert (loss >= 0).all()
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert torch.isfinite(gradient).all()
    assert gradient.abs().sum() > 0


def test_a_classifier_that_is_right_has_no_loss() -> None:
    sigma = nslimb.sigma.total(arity=2)
    logits = torch.full((1, 2, 10), -1e4)
    logits[0, 0, 3] = logits[0, 1, 4] = 1e4
    for form in ("nll", "bce"):
        assert nslimb.semantic_loss(logits.log_softmax(-1), [7], sigma, form=form).item() == pytest.approx(0, abs=1e-6)


def test_log_complement_keeps_small_and_large_probabilities() -> None:
    p = torch.tensor([0.0, 1e-300, 1e-17, 0.3, 0.5, 0.9, 1 - 1e-12], dtype=torch.float64)
    expected = torch.log1p(-p)
    torch.testing.assert_close(log_complement(p.log()), expected, rtol=1e-9, atol=0)
    tiny = torch.tensor([-1e-9, -1e-15], dtype=torch.float64)  # P = 1 - 1e-9, which 1 - exp(log P) would blur
    torch.testing.assert_close(log_complement(tiny), (-tiny).log(), rtol=1e-8, atol=0)
    values = torch.tensor([0.0, 1e-9, -1e-30, float("-inf")], dtype=torch.float64).requires_grad_()
    result = log_complement(values)
    assert torch.isfinite(result).all()
    (gradient,) = torch.autograd.grad(result.sum(), values)
    assert torch.isfinite(gradient).all()


def test_a_few_steps_of_training_reduce_the_loss() -> None:
    sigma = nslimb.sigma.maximum(arity=3, num_classes=4)
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(4, 8, generator=generator) * 3
    hidden = torch.randint(4, (256, 3), generator=generator)
    inputs = centres[hidden] + torch.randn(256, 3, 8, generator=generator)
    weak = sigma.apply(hidden)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    for _ in range(200):
        loss = nslimb.semantic_loss(model(inputs).log_softmax(-1), weak, sigma).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05
    assert (model(inputs).argmax(-1) == hidden).float().mean() > 0.95


@pytest.mark.parametrize("form", ["nll", "bce"])
@pytest.mark.parametrize("off", [0.02, -0.02, 5.0])
def test_raw_logits_are_refused_and_sigmas_own_passes_take_them(form: str, off: float) -> None:
    sigma = nslimb.sigma.maximum(arity=2, num_classes=3)
    scores = torch.randn(4, 2, 3).log_softmax(-1)
    scores[2, 1] += off
    message = rf"log_scores: expected log-probabilities, logits.log_softmax\(-1\), got a row .* {off:.4g}, at \[2, 1\]"
    with pytest.raises(InvalidInput, match=message):
        nslimb.semantic_loss(scores, [0, 1, 2, 2], sigma, form=form)  # type: ignore[arg-type]
    assert torch.isfinite(sigma.log_prob(scores)).all()
    scores[2, 1] -= off * 0.6  # within what rounding to two digits leaves
    if abs(off) < 1:
        assert torch.isfinite(nslimb.semantic_loss(scores, [0, 1, 2, 2], sigma)).all()
