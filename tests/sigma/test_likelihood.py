"""What every Sigma answers beside the probabilities of all its weak labels: against enumeration."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracles
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput
from nslimb.sigma import layers

SIGMA = nslimb.sigma.maximum(arity=2, num_classes=3)


@pytest.fixture(params=[0, 4_000_000], ids=["all last states", "one last state"])
def _into(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the last layer sums over the edges of all weak labels, for want of memory, or of the observed alone."""
    monkeypatch.setattr(layers, "_MAX_INTO", request.param)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("_into")
@given(st.data())
def test_log_likelihood_is_the_observed_column_of_all(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables())
    scores = data.draw(oracles.log_scores_for(sigma)).requires_grad_()
    weak = torch.tensor(data.draw(oracles.weak_for(sigma, len(scores))))
    table = oracles.weak_table(sigma)
    every = oracles.log_prob(scores, table, len(sigma.weak_labels))
    ours, theirs = sigma.log_likelihood(scores, weak), every.gather(1, weak.unsqueeze(1)).squeeze(1)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    (gradient,) = torch.autograd.grad(ours.sum(), scores)
    (expected,) = torch.autograd.grad(theirs.sum(), scores)
    torch.testing.assert_close(gradient, expected.where(scores > oracles.NEG_INF, 0.0), rtol=1e-8, atol=1e-8)


@settings(max_examples=25)
@given(st.data())
def test_second_derivatives_match_enumeration(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables(max_arity=3, max_classes=3))
    weak = data.draw(oracles.weak_for(sigma, 2))
    scores = torch.randn(2, sigma.arity, sigma.num_classes, dtype=torch.float64).log_softmax(-1)
    table, size = oracles.weak_table(sigma), len(sigma.weak_labels)
    hessian = torch.autograd.functional.hessian
    ours = hessian(lambda x: sigma.log_likelihood(x, weak).sum(), scores)
    theirs = hessian(lambda x: oracles.log_prob(x, table, size)[[0, 1], weak].sum(), scores)
    torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-10)
    leaf = scores.clone().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: sigma.log_likelihood(x, weak), leaf)


@given(st.data())
def test_log_likelihood_of_k_proofs_sums_the_best(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables())
    scores = data.draw(oracles.log_scores_for(sigma)).requires_grad_()
    weak = data.draw(oracles.weak_for(sigma, len(scores)))
    k = data.draw(st.sampled_from([1, 2, 5, 20]))
    ours = sigma.log_likelihood(scores, weak, proofs=k)
    joint, table = oracles.joint_log_probs(scores.detach()), oracles.weak_table(sigma)
    each = [joint[b, table == s].sort(descending=True).values[:k].logsumexp(0) for b, s in enumerate(weak)]
    torch.testing.assert_close(ours.detach(), torch.stack(each), rtol=1e-10, atol=1e-10)
    (gradient,) = torch.autograd.grad(ours.sum(), scores)
    assert torch.isfinite(gradient).all()
    # Every proof has one label at each position, so that the shares at a position add up to 1 where there is a proof.
    reached = (ours.detach() > oracles.NEG_INF).double().unsqueeze(1).expand(-1, sigma.arity)
    torch.testing.assert_close(gradient.sum(dim=2), reached, rtol=1e-9, atol=1e-9)


@given(st.data())
def test_log_valid_and_its_gradient_match_enumeration(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables())
    scores = data.draw(oracles.log_scores_for(sigma)).requires_grad_()
    valid = torch.from_numpy(oracles.weak_table(sigma) >= 0)
    ours = sigma.log_valid(scores)
    theirs = oracles.safe_logsumexp(oracles.joint_log_probs(scores)[:, valid])
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    (gradient,) = torch.autograd.grad(ours.sum(), scores)
    (expected,) = torch.autograd.grad(theirs.sum(), scores)
    torch.testing.assert_close(gradient, expected.where(scores > oracles.NEG_INF, 0.0), rtol=1e-8, atol=1e-8)


@given(st.data())
def test_explains_decode_and_sizes_match_the_function(data: st.DataObject) -> None:
    sigma = data.draw(oracles.tables())
    table, vectors = oracles.weak_table(sigma), oracles.all_vectors(sigma)
    every = np.arange(len(sigma.weak_labels))
    explained = sigma.explains(vectors, every[:, None])
    np.testing.assert_array_equal(explained, table == every[:, None])
    assert sigma.decode(sigma.apply(vectors)) == [sigma.options["function"](tuple(v)) for v in vectors.tolist()]
    assert sigma.decode(sigma.encode(sigma.weak_labels)) == list(sigma.weak_labels)
    weak = data.draw(oracles.weak_for(sigma, 4))
    assert sigma.preimage_sizes(weak) == tuple(int((table == s).sum()) for s in weak)
    assert sigma.listed(limit=1) is sigma


@pytest.mark.parametrize("kind", [torch.tensor, np.array, list])
def test_explains_answers_in_kind_and_broadcasts(kind: Any) -> None:
    labels = kind([[[0, 2], [1, 1]], [[2, 2], [0, 0]], [[1, 2], [2, 1]]])  # [3 settings, 2 samples, 2 labels]
    explained = SIGMA.explains(labels, [2, 1])
    assert isinstance(explained, torch.Tensor if kind is torch.tensor else np.ndarray)
    assert explained.tolist() == [[True, True], [True, False], [True, False]]
    assert SIGMA.explains(labels, torch.tensor(2)).tolist() == [[True, False], [True, False], [True, True]]


@pytest.mark.parametrize(
    ("labels", "weak", "message"),
    [
        (
            [[0, 1], [1, 1]],
            [1, 1, 1],
            r"weak: expected weak labels for label vectors of shape \[2, 2\], got shape \[3\]",
        ),
        ([[0, 1]], [3], r"weak: expected integers, each an index into sigma.weak_labels \(0 to 2\), got 3"),
        ([[0, 1]], [0.5], "weak: .* got dtype float64"),
        ([[0, 3]], [1], "labels: .* got 3"),
    ],
)
def test_explains_refuses_what_does_not_fit(labels: Any, weak: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SIGMA.explains(labels, weak)


@pytest.mark.parametrize(
    ("indices", "given_"),
    [([3], "3"), ([-2], "-2"), ([[0]], r"shape \[1, 1\]"), ([0.5], "dtype float64"), (0, "an object of type int")],
)
def test_decode_refuses_what_is_no_index(indices: Any, given_: str) -> None:
    with pytest.raises(InvalidInput, match=rf"indices: expected indices into sigma.weak_labels .* got {given_}"):
        SIGMA.decode(indices)


def test_decode_of_invalid_vectors_is_none() -> None:
    sigma = nslimb.sigma.formula(3)
    assert sigma.decode(sigma.apply([[1, 10, 2], [10, 10, 10]])) == [3, None]


ORDERS = [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)]


@pytest.mark.parametrize("order", ORDERS)
def test_order_changes_the_reading_and_nothing_else(order: tuple[int, ...]) -> None:
    """A function that tells all positions apart, one label of position 2 being a dead end."""

    def function(y: tuple[int, ...]) -> int | None:
        return None if y[2] == 1 else (y[0] + 2 * y[1] + 4 * y[2] + 3 * y[3]) % 5

    def step(state: tuple[int, int], label: int) -> tuple[int, int] | None:
        position = order[state[0]]
        if position == 2 and label == 1:
            return None
        return state[0] + 1, (state[1] + (1, 2, 4, 3)[position] * label) % 5

    plain = Sigma.from_function(function, num_classes=3, arity=4)
    ordered = Sigma.from_steps((0, 0), step, lambda state: state[1], num_classes=3, arity=4, order=order)
    vectors = oracles.all_vectors(plain)
    np.testing.assert_array_equal(ordered.apply(vectors), plain.apply(vectors))
    np.testing.assert_array_equal(ordered.accepted, plain.accepted)
    assert ordered.accepted[2].tolist() == [True, False, True]
    assert ordered.groups == plain.groups == (0, 0, 1, 0)
    assert ordered.preimage_sizes() == plain.preimage_sizes()
    for s in range(5):
        np.testing.assert_array_equal(ordered.preimage(s), plain.preimage(s))
    scores = torch.randn(6, 4, 3, dtype=torch.float64).log_softmax(-1).requires_grad_()
    weak = [0, 1, 2, 3, 4, 0]
    torch.testing.assert_close(ordered.log_prob(scores), plain.log_prob(scores))
    torch.testing.assert_close(ordered.posterior(scores, weak), plain.posterior(scores, weak))
    torch.testing.assert_close(ordered.log_mass(scores, 3), plain.log_mass(scores, 3))
    assert ordered.best(scores, weak, 4).labels.tolist() == plain.best(scores, weak, 4).labels.tolist()
    for loss in ("log_prob", "log_valid"):
        gradients = [torch.autograd.grad(getattr(s, loss)(scores).sum(), scores)[0] for s in (ordered, plain)]
        torch.testing.assert_close(*gradients)
    best = [torch.autograd.grad(s.best(scores, weak, 2).log_probs.sum(), scores)[0] for s in (ordered, plain)]
    torch.testing.assert_close(*best)
    second = [torch.autograd.functional.hessian(lambda x, s=s: s.log_prob(x)[0, 1], scores) for s in (ordered, plain)]
    torch.testing.assert_close(*second)


@pytest.mark.parametrize("order", [(0, 1), (0, 1, 1), (1, 2, 3), (0, 1, 2, 3), "012", 3, (0.0, 1.0, 2.0)])
def test_an_order_that_is_none_is_refused(order: Any) -> None:
    with pytest.raises(InvalidInput, match="order: expected each of the positions 0 to 2 once"):
        Sigma.from_steps(0, max, lambda s: s, num_classes=2, arity=3, order=order)
    with pytest.raises(InvalidInput, match="order: expected each of the positions 0 to 2 once"):
        Sigma.from_transducer(0, lambda s, y: (s, y), None, num_classes=2, arity=3, order=order)
