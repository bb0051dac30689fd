"""Transducers against brute force: random machines, degenerate scores, every order of reading."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import oracles
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma
from nslimb.errors import TooLarge
from nslimb.sigma import Transducer, layers


class Machine(NamedTuple):
    """A random transducer beside the weak label of every label vector, found by running it."""

    sigma: Transducer
    vectors: np.ndarray  # [c ** M, M]
    weak: list[tuple[Hashable, ...] | None]

    def table(self, observed: tuple[Hashable, ...]) -> np.ndarray:
        """Which label vectors explain a weak label."""
        return np.array([value == observed for value in self.weak])


def run(step: Callable[..., Any], finish: Callable[..., Any] | None, read: list[int]) -> tuple[Hashable, ...] | None:
    """The weak label by calling the functions themselves."""
    state: Any = (0, 0, 0)
    emitted: list[Hashable] = []
    for label in read:
        after = step(state, label)
        if after is None:
            return None
        state, symbol = after
        emitted += [] if symbol is None else [symbol]
    last = () if finish is None else finish(state)
    return None if last is None else tuple(emitted) if finish is None else (*emitted, last)


@st.composite
def machines(draw: st.DrawFn, max_arity: int = 4, max_classes: int = 4) -> Machine:
    """States remember how many labels were read and symbols emitted; whoever ends with too few is a dead end."""
    arity, classes = draw(st.integers(1, max_arity)), draw(st.integers(2, max_classes))
    states, alphabet = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    length = draw(st.integers(0, arity))
    has_finish = length == 0 or draw(st.booleans())
    order = draw(st.permutations(range(arity)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (arity, states, classes)
    target, symbol = rng.integers(states, size=shape), rng.integers(alphabet, size=shape)
    eager, dead = rng.random(shape) < 0.6, rng.random(shape) < draw(st.sampled_from([0.0, 0.2]))
    dead[:, :, 0] = False
    ends = rng.integers(-1, 3, size=states) if draw(st.booleans()) else np.zeros(states, dtype=int)

    def step(state: tuple[int, int, int], label: int) -> tuple[tuple[int, int, int], Hashable] | None:
        read, at, number = state
        if dead[read, at, label]:
            return None
        left, wanted = arity - read, length - number
        emits = wanted == left or (wanted > 0 and bool(eager[read, at, label]))
        after = (read + 1, int(target[read, at, label]), number + emits)
        return after, ("symbol", int(symbol[read, at, label])) if emits else None

    def finish(state: tuple[int, int, int]) -> Hashable:
        end = int(ends[state[1]])
        return None if end < 0 and state[1] else ("end", end)

    vectors = np.array(list(product(range(classes), repeat=arity)))
    closing = finish if has_finish else None
    weak = [run(step, closing, [int(vector[position]) for position in order]) for vector in vectors]
    if all(value is None for value in weak):
        weak = []
    sigma = Sigma.from_transducer((0, 0, 0), step, closing, classes, arity, order=order) if weak else None
    return Machine(sigma, vectors, weak)  # type: ignore[arg-type]


Problem = tuple[Machine, torch.Tensor, list[tuple[Hashable, ...]]]


@st.composite
def problems(draw: st.DrawFn, **limits: int) -> Problem:
    """A machine, scores, and observed sequences: most have label vectors, some are of any symbols."""
    machine = draw(machines(**limits).filter(lambda machine: bool(machine.weak)))
    scores = draw(oracles.log_scores_for(machine.sigma))
    seen = [value for value in dict.fromkeys(machine.weak) if value is not None]
    anything = st.tuples(*[st.sampled_from(machine.sigma.symbols)] * machine.sigma.length)
    one = st.one_of(st.sampled_from(seen), st.sampled_from(seen), anything)
    return machine, scores, draw(st.lists(one, min_size=len(scores), max_size=len(scores)))


def log_likelihood(machine: Machine, scores: torch.Tensor, observed: list[tuple[Hashable, ...]]) -> torch.Tensor:
    """By summing over the label vectors that explain each sample; connected to the scores in any case."""
    joint = oracles.joint_log_probs(scores)
    impossible = torch.full((1, 1), oracles.NEG_INF, dtype=scores.dtype) + 0 * scores.detach().exp().sum()
    rows = [torch.cat([joint[b : b + 1, machine.table(value)], impossible], dim=1) for b, value in enumerate(observed)]
    return torch.cat([oracles.safe_logsumexp(row) for row in rows])


@given(machines().filter(lambda machine: bool(machine.weak)))
def test_apply_decode_and_explains_match_the_functions(machine: Machine) -> None:
    sigma = machine.sigma
    found = sigma.apply(machine.vectors)
    assert found.shape == (len(machine.vectors), sigma.length)
    assert sigma.decode(found) == machine.weak
    valid = [value for value in machine.weak if value is not None]
    np.testing.assert_array_equal(sigma.encode(valid), found[[value is not None for value in machine.weak]])
    for observed in set(valid):
        explained = sigma.explains(machine.vectors, sigma.encode([observed])[0])
        np.testing.assert_array_equal(explained, machine.table(observed))
    accepted = np.zeros((sigma.arity, sigma.num_classes), dtype=bool)
    for vector, value in zip(machine.vectors, machine.weak, strict=True):
        accepted[np.arange(sigma.arity), vector] |= value is not None
    np.testing.assert_array_equal(sigma.accepted, accepted)


@given(problems())
def test_counts_match_enumeration(problem: Problem) -> None:
    machine, _, observed = problem
    counts = machine.sigma.preimage_sizes(machine.sigma.encode(observed))
    assert counts == tuple(int(machine.table(value).sum()) for value in observed)
    assert all(type(count) is int for count in counts)


@pytest.fixture(params=[(0, 0), (256, 4_000_000)], ids=["many groups", "few groups"])
def _groups(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers cut into as many groups of states as they can be and summed to the end, or the way that is quickest."""
    monkeypatch.setattr(layers, "_CHEAP_ROWS", request.param[0])
    monkeypatch.setattr(layers, "_MAX_INTO", request.param[1])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.usefixtures("_groups")
@given(problems())
def test_log_likelihood_and_its_gradient_match_enumeration(problem: Problem) -> None:
    machine, scores, observed = problem
    scores.requires_grad_()
    weak = machine.sigma.encode(observed)
    ours, theirs = machine.sigma.log_likelihood(scores, weak), log_likelihood(machine, scores, observed)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)
    drawn = torch.randn_like(scores).log_softmax(-1)
    expected = -machine.sigma.log_likelihood(drawn, weak)
    torch.testing.assert_close(nslimb.semantic_loss(drawn, weak, machine.sigma), expected, rtol=0, atol=0)
    upstream = torch.randn_like(ours)
    (gradient,) = torch.autograd.grad(ours, scores, upstream)
    assert torch.isfinite(gradient).all()
    (expected,) = torch.autograd.grad(theirs, scores, upstream)
    torch.testing.assert_close(gradient, expected.where(scores > oracles.NEG_INF, 0.0), rtol=1e-8, atol=1e-8)


@given(problems())
def test_posterior_matches_enumeration(problem: Problem) -> None:
    machine, scores, observed = problem
    found = machine.sigma.posterior(scores, machine.sigma.encode(observed))
    values = list(dict.fromkeys(machine.weak))
    rows = [b for b, value in enumerate(observed) if value in values]
    index = torch.tensor([values.index(observed[b]) for b in rows])
    table = np.array([values.index(value) for value in machine.weak])
    expected = oracles.posterior(scores[rows], index, table, machine.vectors)
    torch.testing.assert_close(found[rows], expected, rtol=1e-8, atol=1e-10)
    possible = log_likelihood(machine, scores, observed) > oracles.NEG_INF
    mass = possible.double().unsqueeze(1).expand(-1, machine.sigma.arity)
    torch.testing.assert_close(found.sum(dim=2), mass, rtol=1e-9, atol=1e-9)


@given(problems(), st.sampled_from([1, 2, 3, 50]))
def test_best_lists_the_most_probable_label_vectors(problem: Problem, k: int) -> None:
    machine, scores, observed = problem
    sigma, weak = machine.sigma, machine.sigma.encode(observed)
    best = sigma.best(scores, weak, k)
    assert best.labels.shape == (len(scores), k, sigma.arity)
    joint = oracles.joint_log_probs(scores)
    for b, value in enumerate(observed):
        expected = joint[b, machine.table(value)].sort(descending=True).values
        expected = expected[expected > oracles.NEG_INF][:k]
        found = len(expected)
        torch.testing.assert_close(best.log_probs[b, :found], expected, rtol=1e-10, atol=1e-10)
        assert (best.log_probs[b, found:] == oracles.NEG_INF).all()
        assert (best.labels[b, found:] == -1).all()
        labels = best.labels[b, :found]
        assert len(set(map(tuple, labels.tolist()))) == found
        assert sigma.explains(labels, weak[b]).all()
        recomputed = scores[b][torch.arange(sigma.arity), labels].sum(dim=1)
        torch.testing.assert_close(best.log_probs[b, :found], recomputed, rtol=1e-10, atol=1e-10)
    loss = -sigma.log_likelihood(scores.requires_grad_(), weak, proofs=k)
    torch.testing.assert_close(-loss, best.log_probs.logsumexp(dim=1), rtol=1e-10, atol=1e-10)
    (gradient,) = torch.autograd.grad(loss.sum(), scores)
    assert torch.isfinite(gradient).all()


@given(problems())
def test_log_valid_matches_enumeration(problem: Problem) -> None:
    machine, scores, _ = problem
    scores.requires_grad_()
    valid = torch.tensor([value is not None for value in machine.weak])
    found = machine.sigma.log_valid(scores)
    expected = oracles.safe_logsumexp(oracles.joint_log_probs(scores)[:, valid])
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    (gradient,) = torch.autograd.grad(found.sum(), scores)
    (wanted,) = torch.autograd.grad(expected.sum(), scores)
    torch.testing.assert_close(gradient, wanted.where(scores > oracles.NEG_INF, 0.0), rtol=1e-8, atol=1e-8)


@given(problems())
def test_listed_is_the_same_function(problem: Problem) -> None:
    machine, scores, _ = problem
    listed = machine.sigma.listed()
    assert type(listed) is Sigma
    assert set(listed.weak_labels) == {value for value in machine.weak if value is not None}
    assert listed.decode(listed.apply(machine.vectors)) == machine.weak
    weak = machine.sigma.encode(listed.weak_labels)  # type: ignore[arg-type]
    assert listed.preimage_sizes() == machine.sigma.preimage_sizes(weak)
    spread = scores[:1].expand(len(weak), -1, -1)
    likelihood = machine.sigma.log_likelihood(spread, weak)
    torch.testing.assert_close(likelihood, listed.log_prob(scores[:1])[0], rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(machine.sigma.log_valid(scores), listed.log_valid(scores), rtol=1e-10, atol=1e-10)
    assert machine.sigma.listed(limit=len(weak)).num_states == listed.num_states
    if len(weak) > 1:
        with pytest.raises(TooLarge, match=rf"listed: at least \d+ weak labels are more than limit={len(weak) - 1}"):
            machine.sigma.listed(limit=len(weak) - 1)


def test_listed_keeps_classes_and_spaces() -> None:
    sigma = Sigma.from_transducer(0, lambda s, y: (s, y), None, num_classes=2, arity=3, class_names=["no", "yes"])
    assert sigma.listed().class_names == ("no", "yes")
    assert sigma.listed().groups is None
    spaced = sigma.with_spaces({"a": [0, 2], "b": [1]})
    assert spaced.listed().spaces == spaced.spaces
    assert spaced.listed().groups == (0, 1, 0)
    assert spaced.listed().by_space().class_names == ("a no", "a yes", "b no", "b yes")


@settings(max_examples=25)
@given(problems(max_arity=3, max_classes=3))
def test_first_and_second_derivatives(problem: Problem) -> None:
    machine, scores, observed = problem
    sigma = machine.sigma
    observed = [value for value in observed if machine.table(value).any()][:1]
    if not observed:
        return
    scores = torch.randn(1, *scores.shape[1:], dtype=torch.float64).log_softmax(-1).requires_grad_()
    weak = sigma.encode(observed)
    assert torch.autograd.gradcheck(lambda x: sigma.log_likelihood(x, weak), scores)
    assert torch.autograd.gradcheck(lambda x: sigma.log_likelihood(x, weak, proofs=2), scores)
    hessian = torch.autograd.functional.hessian
    ours = hessian(lambda x: sigma.log_likelihood(x, weak).sum(), scores.detach())
    theirs = hessian(lambda x: log_likelihood(machine, x, observed).sum(), scores.detach())
    torch.testing.assert_close(ours, theirs, rtol=1e-8, atol=1e-10)


@given(problems())
def test_states_merge_where_rows_agree(problem: Problem) -> None:
    emitting = problem[0].sigma._emitting
    for targets, emissions in zip(emitting.targets, emitting.emissions, strict=True):
        rows = np.concatenate([targets, emissions], axis=1)
        assert len(np.unique(rows, axis=0)) == len(rows)
        assert (targets != -1).any(axis=1).all()


def test_states_of_a_layer_may_have_emitted_different_numbers() -> None:
    def step(state: tuple[int, int], y: int) -> tuple[tuple[int, int], int | None]:
        read, first = state
        if read == 0:
            return (1, y), "early" if y else None
        if read == 1:
            return (2, first), "late" if not first else None
        return (3, first), y

    sigma = Sigma.from_transducer((0, 0), step, None, num_classes=2, arity=3)
    assert sigma.decode(sigma.apply([[1, 0, 1], [0, 0, 1]])) == [("early", 1), ("late", 1)]
    assert len(set(sigma._emitting.places[1].tolist())) == 2
    uniform = torch.full((1, 3, 2), 0.5, dtype=torch.float64).log()
    assert sigma.log_likelihood(uniform, sigma.encode([("late", 1)])).exp().item() == pytest.approx(0.25)


def test_an_ordinary_sigma_is_a_transducer_that_emits_at_the_end() -> None:
    ordinary = nslimb.sigma.total(arity=3, num_classes=4)
    sequence = Sigma.from_transducer(0, lambda s, y: (s + y, None), lambda s: s, num_classes=4, arity=3)
    scores = torch.randn(5, 3, 4, dtype=torch.float64).log_softmax(-1)
    weak = torch.tensor([0, 3, 9, 5, 4])
    torch.testing.assert_close(
        sequence.log_likelihood(scores, weak.unsqueeze(1)), ordinary.log_likelihood(scores, weak), rtol=0, atol=0
    )
    assert sequence.num_states == ordinary.num_states


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_passes_work_in_every_grad_mode(mode: type) -> None:
    sigma = nslimb.sigma.addition(1)
    with mode():
        scores = torch.zeros(1, 2, 10).log_softmax(-1)
        weak = torch.tensor([[1, 0]])
        posterior = sigma.posterior(scores, weak)
        assert sigma.log_likelihood(scores, weak).exp().item() == pytest.approx(0.02)
        assert sigma.best(scores, weak, 3).log_probs.isfinite().sum() == 2
    torch.testing.assert_close(posterior[0, :, :3], torch.tensor([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]))
    leaf = torch.zeros(1, 2, 10).requires_grad_()  # what a mode has left behind serves training too
    nslimb.semantic_loss(leaf.log_softmax(-1), torch.tensor([[1, 0]]), sigma).sum().backward()
    assert leaf.grad is not None


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("device", ["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
def test_dtype_and_device_are_kept(dtype: torch.dtype, device: str) -> None:
    sigma = nslimb.sigma.addition(2)
    scores = torch.zeros(2, 4, 10, dtype=dtype, device=device).log_softmax(-1)
    weak = sigma.encode([7, 42]).to(device)
    results = [sigma.log_likelihood(scores, weak), sigma.posterior(scores, weak), sigma.log_valid(scores)]
    results += [sigma.best(scores, weak, 2).log_probs, nslimb.semantic_loss(scores, weak, sigma, proofs=2)]
    for result in results:
        assert result.dtype == dtype
        assert result.device == scores.device
    labels = sigma.best(scores, weak, 2).labels
    assert labels.device == sigma.apply(labels).device == sigma.explains(labels, weak.unsqueeze(1)).device
    assert sigma.explains(labels, weak.unsqueeze(1)).all()


def test_an_empty_batch_is_an_empty_result() -> None:
    sigma = nslimb.sigma.addition(2)
    scores = torch.zeros(0, 4, 10)
    weak = sigma.encode([])
    assert weak.shape == (0, 3)
    assert sigma.log_likelihood(scores, weak).shape == (0,)
    assert sigma.posterior(scores, weak).shape == (0, 4, 10)
    assert sigma.best(scores, weak, 2).labels.shape == (0, 2, 4)
    assert sigma.preimage_sizes(weak) == ()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_extreme_logits_give_finite_losses_and_gradients(dtype: torch.dtype) -> None:
    sigma = nslimb.sigma.addition(5)
    generator = torch.Generator().manual_seed(0)
    logits = ((torch.randint(0, 2, (8, 10, 10), generator=generator) * 2 - 1) * 1e4).to(dtype).requires_grad_()
    weak = sigma.apply(torch.randint(10, (8, 10), generator=generator))
    loss = nslimb.semantic_loss(logits.log_softmax(-1), weak, sigma)
    assert torch.isfinite(loss).all()
    assert loss.max() > 1e4
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert torch.isfinite(gradient).all()
    assert gradient.abs().sum() > 0
