"""Every pass against brute force, over random functions and degenerate scores."""

from __future__ import annotations

import numpy as np
import oracles
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma
from nslimb.sigma import layers


@given(st.data())
def test_apply_and_preimages_match_the_function(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables())
    table, vectors = oracles.weak_table(sigma), oracles.all_vectors(sigma)
    np.testing.assert_array_equal(sigma.apply(vectors), table)
    assert sigma.preimage_sizes() == tuple(np.bincount(table[table >= 0], minlength=len(sigma.weak_labels)))
    for s in range(len(sigma.weak_labels)):
        np.testing.assert_array_equal(sigma.preimage(s), vectors[table == s])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("_groups")
@given(st.data())
def test_log_prob_and_its_gradient_match_enumeration(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables())
    scores = data.draw(oracles.log_scores_for(sigma)).requires_grad_()
    ours = sigma.log_prob(scores)
    theirs = oracles.log_prob(scores, oracles.weak_table(sigma), len(sigma.weak_labels))
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    upstream = torch.randn_like(ours)
    (gradient,) = torch.autograd.grad(ours, scores, upstream)
    assert torch.isfinite(gradient).all()
    # Where the score itself is -inf, enumeration multiplies 0 by infinity; the true derivative is 0 there.
    (expected,) = torch.autograd.grad(theirs, scores, upstream)
    expected = expected.where(scores > oracles.NEG_INF, 0.0)
    torch.testing.assert_close(gradient, expected, rtol=1e-8, atol=1e-8)


@given(st.data())
def test_posterior_matches_enumeration(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables())
    scores = data.draw(oracles.log_scores_for(sigma))
    weak = torch.tensor(data.draw(oracles.weak_for(sigma, len(scores))))
    expected = oracles.posterior(scores, weak, oracles.weak_table(sigma), oracles.all_vectors(sigma))
    torch.testing.assert_close(sigma.posterior(scores, weak), expected, rtol=1e-8, atol=1e-10)


@given(st.data())
def test_best_lists_the_most_probable_label_vectors(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables())
    scores = data.draw(oracles.log_scores_for(sigma))
    weak = data.draw(oracles.weak_for(sigma, len(scores)))
    k = data.draw(st.sampled_from([1, 2, 3, 7, 50]))
    best = sigma.best(scores, weak, k)
    assert best.labels.shape == (len(scores), k, sigma.arity)
    assert best.log_probs.shape == (len(scores), k)
    joint, table = oracles.joint_log_probs(scores), oracles.weak_table(sigma)
    for b, s in enumerate(weak):
        expected = joint[b, table == s].sort(descending=True).values
        expected = expected[expected > oracles.NEG_INF][:k]
        found = len(expected)
        torch.testing.assert_close(best.log_probs[b, :found], expected, rtol=1e-10, atol=1e-10)
        assert (best.log_probs[b, found:] == oracles.NEG_INF).all()
        assert (best.labels[b, found:] == -1).all()
        labels = best.labels[b, :found]
        assert len(set(map(tuple, labels.tolist()))) == found
        assert (sigma.apply(labels) == s).all()
        recomputed = scores[b][torch.arange(sigma.arity), labels].sum(dim=1)
        torch.testing.assert_close(best.log_probs[b, :found], recomputed, rtol=1e-10, atol=1e-10)


@pytest.fixture(params=[0, 256], ids=["many groups", "few groups"])
def _groups(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers cut into as many groups of states as they can be, or as few."""
    monkeypatch.setattr(layers, "_CHEAP_ROWS", request.param)


def test_random_diagrams_do_use_several_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "_CHEAP_ROWS", 0)
    planned = layers.plan(nslimb.sigma.maximum(3).diagram, torch.device("cpu"))
    assert max(len(layer.groups) for layer in planned) > 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("_groups")
@given(st.data())
def test_log_mass_sums_the_best(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables())
    scores = data.draw(oracles.log_scores_for(sigma)).requires_grad_()
    k = data.draw(st.sampled_from([1, 2, 5, 20]))
    mass = sigma.log_mass(scores, k)
    joint, table = oracles.joint_log_probs(scores.detach()), oracles.weak_table(sigma)
    expected = torch.stack(
        [joint[:, table == s].sort(dim=1, descending=True).values[:, :k].logsumexp(1) for s in range(mass.shape[1])], 1
    )
    torch.testing.assert_close(mass.detach(), expected, rtol=1e-10, atol=1e-10)
    assert (mass.detach() <= sigma.log_prob(scores.detach()) + 1e-9).all()
    (gradient,) = torch.autograd.grad(mass.sum(), scores)
    assert torch.isfinite(gradient).all()
    # Every proof has one label at each position, so the shares at a position add up to the reached weak labels.
    reached = (mass.detach() > oracles.NEG_INF).sum(dim=1, keepdim=True).double().expand(-1, sigma.arity)
    torch.testing.assert_close(gradient.sum(dim=2), reached, rtol=1e-9, atol=1e-9)
    everything = sigma.log_mass(scores.detach(), max(sigma.preimage_sizes()))
    torch.testing.assert_close(everything, sigma.log_prob(scores.detach()), rtol=1e-9, atol=1e-9)


@settings(max_examples=25)
@given(st.data())
def test_gradcheck_in_double_precision(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables(max_arity=3, max_classes=4))
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 2**31)))
    scores = torch.randn(2, sigma.arity, sigma.num_classes, generator=generator, dtype=torch.float64)
    scores = scores.log_softmax(-1).requires_grad_()
    assert torch.autograd.gradcheck(sigma.log_prob, scores)
    assert torch.autograd.gradcheck(lambda x: sigma.log_mass(x, 2), scores)
    weak = torch.zeros(2, dtype=torch.int64)
    kept = sigma.best(scores, weak, 2).log_probs > oracles.NEG_INF
    assert torch.autograd.gradcheck(lambda x: sigma.best(x, weak, 2).log_probs[kept], scores)


@settings(max_examples=25)
@given(st.data())
def test_second_derivatives_match_enumeration(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables(max_arity=3, max_classes=3))
    table = oracles.weak_table(sigma)
    scores = torch.randn(1, sigma.arity, sigma.num_classes, dtype=torch.float64).log_softmax(-1)
    s = data.draw(st.integers(0, len(sigma.weak_labels) - 1))
    hessian = torch.autograd.functional.hessian
    ours = hessian(lambda x: sigma.log_prob(x)[0, s], scores)
    theirs = hessian(lambda x: oracles.log_prob(x, table, len(sigma.weak_labels))[0, s], scores)
    torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-10)
    whole = sigma.preimage_sizes()[s]
    torch.testing.assert_close(hessian(lambda x: sigma.log_mass(x, whole)[0, s], scores), theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_passes_work_in_every_grad_mode(mode: type) -> None:
    sigma = nslimb.sigma.maximum(arity=2, num_classes=3)
    with mode():
        scores = torch.zeros(1, 2, 3).log_softmax(-1)
        weak = torch.tensor([1])
        posterior = sigma.posterior(scores, weak)
        assert sigma.log_prob(scores).shape == (1, 3)
        assert sigma.best(scores, weak, 2).labels.shape == (1, 2, 2)
        assert sigma.log_mass(scores, 2).shape == (1, 3)
    torch.testing.assert_close(posterior, torch.tensor([[[1 / 3, 2 / 3, 0.0], [1 / 3, 2 / 3, 0.0]]]))


def test_missing_vectors_pass_on_no_gradient() -> None:
    sigma = nslimb.sigma.maximum(arity=2, num_classes=2)
    scores = torch.tensor([[[1.0, 0.0], [0.5, 0.5]]], dtype=torch.float64).log().requires_grad_()
    best = sigma.best(scores, [1], 3)
    assert best.labels.tolist() == [[[0, 1], [-1, -1], [-1, -1]]]
    (gradient,) = torch.autograd.grad(best.log_probs.sum(), scores)
    assert gradient.tolist() == [[[1.0, 0.0], [0.0, 1.0]]]


def test_gradient_where_probabilities_are_exactly_0_and_1() -> None:
    sigma = nslimb.sigma.maximum(arity=2, num_classes=3)
    scores = torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]], dtype=torch.float64).log().requires_grad_()
    log_prob = sigma.log_prob(scores)
    assert log_prob.tolist() == [[float("-inf"), 0.0, float("-inf")]]
    (gradient,) = torch.autograd.grad(log_prob[0, 1], scores, retain_graph=True)
    assert gradient.tolist() == [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
    (gradient,) = torch.autograd.grad(log_prob[0, 2], scores)
    assert gradient.abs().sum() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1e2, 1e4])
def test_extreme_logits_give_finite_losses_and_gradients(dtype: torch.dtype, size: float) -> None:
    sigma = nslimb.sigma.total(arity=6)
    generator = torch.Generator().manual_seed(0)
    logits = (torch.randint(0, 2, (8, 6, 10), generator=generator).to(dtype) * 2 - 1) * size
    logits.requires_grad_()
    log_prob = sigma.log_prob(logits.log_softmax(-1))
    assert torch.isfinite(log_prob).all()
    assert log_prob.min() < -size
    (gradient,) = torch.autograd.grad(log_prob.sum(), logits)
    assert torch.isfinite(gradient).all()
    posterior = sigma.posterior(logits.detach().log_softmax(-1), [0] * 8)
    assert (posterior[:, :, 0] == 1).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
def test_dtype_and_device_are_kept(dtype: torch.dtype, device: str) -> None:
    sigma = nslimb.sigma.maximum(arity=3)
    scores = torch.zeros(4, 3, 10, dtype=dtype, device=device).log_softmax(-1)
    weak = torch.tensor([0, 3, 9, 5], device=device)
    results = [sigma.log_prob(scores), sigma.posterior(scores, weak), sigma.log_mass(scores, 2)]
    results += [sigma.best(scores, weak, 2).log_probs, nslimb.semantic_loss(scores, weak, sigma)]
    for result in results:
        assert result.dtype == dtype
        assert result.device == scores.device
    assert sigma.best(scores, weak, 2).labels.device == scores.device
    assert sigma.apply(torch.zeros(5, 3, dtype=torch.int32, device=device)).device == scores.device


def test_float32_agrees_with_float64() -> None:
    sigma = nslimb.sigma.formula(arity=5)
    scores = torch.randn(16, 5, 13, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).log_softmax(-1)
    torch.testing.assert_close(sigma.log_prob(scores.float()).double(), sigma.log_prob(scores), rtol=1e-5, atol=1e-5)


def test_an_empty_batch_is_an_empty_result() -> None:
    sigma = nslimb.sigma.maximum(arity=3)
    scores = torch.zeros(0, 3, 10)
    assert sigma.log_prob(scores).shape == (0, 10)
    assert sigma.posterior(scores, []).shape == (0, 3, 10)
    assert sigma.best(scores, [], 2).labels.shape == (0, 2, 3)
    assert nslimb.semantic_loss(scores, [], sigma).shape == (0,)


def test_mass_of_all_weak_labels_is_one() -> None:
    for sigma in (nslimb.sigma.maximum(40), nslimb.sigma.total(40), nslimb.sigma.smallest_parent(arity=6)):
        scores = torch.randn(3, sigma.arity, 10, dtype=torch.float64).log_softmax(-1)
        torch.testing.assert_close(sigma.log_prob(scores).exp().sum(1), torch.ones(3, dtype=torch.float64))


def test_results_do_not_depend_on_memory_layout() -> None:
    sigma: Sigma = nslimb.sigma.total(arity=3)
    scores = torch.randn(10, 3, 5).log_softmax(1).permute(2, 1, 0)
    assert not scores.is_contiguous()
    torch.testing.assert_close(sigma.log_prob(scores), sigma.log_prob(scores.contiguous()), rtol=0, atol=0)


def test_a_batch_of_one_may_have_any_strides() -> None:
    """Of a dimension of size 1 the stride says nothing, and torch's sums then choose theirs."""
    sigma = Sigma.from_function(lambda y: None if y[1] == 1 else y[0] * 3 + y[1], num_classes=3, arity=2)
    scores = torch.randn(4, 2, 3, dtype=torch.float64).log_softmax(-1)
    whole = sigma.log_prob(scores)
    for row in range(4):
        for stride in (1, 2, 6, 7):
            alone = torch.as_strided(scores[row].clone(), (1, 2, 3), (stride, 3, 1)).requires_grad_()
            found = sigma.log_prob(alone)
            torch.testing.assert_close(found[0], whole[row])
            (gradient,) = torch.autograd.grad(found.exp().sum(), alone)
            assert torch.isfinite(gradient).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own, of how it traces
@pytest.mark.parametrize("name", ["listed", "sequences"])
def test_a_loss_compiles_into_one_graph(name: str) -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3) if name == "listed" else nslimb.sigma.addition(1)
    weak = sigma.apply(torch.randint(3, (5, 2), generator=torch.Generator().manual_seed(0)))
    logits = torch.randn(5, 2, sigma.num_classes, dtype=torch.float64)

    def loss(values: torch.Tensor) -> torch.Tensor:
        return nslimb.semantic_loss(values.log_softmax(-1), weak, sigma).sum()

    loss(logits)  # tables are made before, outside of the graph
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    ours, theirs = (logits.clone().requires_grad_() for _ in range(2))
    found, expected = compiled(ours), loss(theirs)
    torch.testing.assert_close(found, expected)
    found.backward()
    expected.backward()
    torch.testing.assert_close(ours.grad, theirs.grad)
