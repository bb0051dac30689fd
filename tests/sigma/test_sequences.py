"""Addition, comparison and automata against their definitions, by listing and in closed form; bad transducers."""

from __future__ import annotations

import pickle
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput, TooLarge
from nslimb.sigma import Transducer


def numbers(labels: np.ndarray) -> tuple[list[int], list[int]]:
    """The two numbers that label vectors [n, 2N] stand for."""
    half = labels.shape[1] // 2
    first, second = (["".join(map(str, row)) for row in part.tolist()] for part in (labels[:, :half], labels[:, half:]))
    return list(map(int, first)), list(map(int, second))


@pytest.mark.parametrize("digits", [1, 2])
def test_addition_is_the_sum_of_every_pair(digits: int) -> None:
    sigma = nslimb.sigma.addition(digits)
    labels = np.array(list(product(range(10), repeat=2 * digits)))
    first, second = numbers(labels)
    sums = [a + b for a, b in zip(first, second, strict=True)]
    found = sigma.apply(labels)
    assert [sum(digit * 10**i for i, digit in enumerate(row)) for row in found.tolist()] == sums
    np.testing.assert_array_equal(sigma.encode(sums), found)
    assert sigma.explains(labels, sigma.encode(sums)).all()
    sizes = np.bincount(sums, minlength=2 * 10**digits - 1)
    assert sigma.preimage_sizes(sigma.encode(range(2 * 10**digits - 1))) == tuple(sizes)


def test_addition_of_long_numbers() -> None:
    sigma = nslimb.sigma.addition(30)
    assert (sigma.arity, sigma.length, sigma.num_states) == (60, 31, 1 + 10 + 29 * (2 + 11) + 2)
    labels = np.random.default_rng(0).integers(10, size=(20, 60))
    first, second = numbers(labels)
    sums = [a + b for a, b in zip(first, second, strict=True)]
    np.testing.assert_array_equal(sigma.encode(sums), sigma.apply(labels))
    assert sigma.decode(sigma.encode([42]))[0][:3] == (2, 4, 0)  # type: ignore[index]
    # a + b = s with a, b < 10^N has s + 1 solutions up to 10^N - 1, and falls by one a step from there.
    largest = 10**30 - 1
    exact = tuple(s + 1 if s <= largest else 2 * largest - s + 1 for s in sums)
    assert sigma.preimage_sizes(sigma.encode(sums)) == exact
    assert max(exact) > 2**63
    uniform = torch.full((20, 60, 10), 0.1, dtype=torch.float64).log()
    expected = [np.log(float(size)) - 60 * np.log(10) for size in exact]
    torch.testing.assert_close(
        sigma.log_likelihood(uniform, sigma.encode(sums)), torch.tensor(expected), rtol=1e-12, atol=0
    )


def test_a_sum_is_the_convolution_of_two_numbers() -> None:
    """The loss of N = 2 against the joint distribution of the two numbers, computed as numbers."""
    sigma = nslimb.sigma.addition(2)
    scores = torch.randn(3, 4, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    p = scores.exp()
    first, second = ((p[:, i].unsqueeze(2) * p[:, i + 1].unsqueeze(1)).flatten(1).numpy() for i in (0, 2))
    for total in (0, 7, 99, 100, 198):
        found = sigma.log_likelihood(scores, sigma.encode([total] * 3)).exp()
        expected = [np.convolve(a, b)[total] for a, b in zip(first, second, strict=True)]
        torch.testing.assert_close(found, torch.tensor(expected), rtol=1e-10, atol=0)


@pytest.mark.parametrize("value", [-1, 199, 1.0, True, "42", None])
def test_sums_that_cannot_be_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match=r"values: expected sums from 0 to 198, or sequences of 3 digits, got"):
        nslimb.sigma.addition(2).encode([value])


@pytest.mark.parametrize("digits", [1, 2])
def test_comparison_is_the_sign_of_the_difference(digits: int) -> None:
    sigma = nslimb.sigma.comparison(digits)
    labels = np.array(list(product(range(10), repeat=2 * digits)))
    first, second = numbers(labels)
    assert sigma.weak_labels == (-1, 0, 1)
    assert sigma.decode(sigma.apply(labels)) == [int(np.sign(a - b)) for a, b in zip(first, second, strict=True)]


def test_comparison_counts_exactly() -> None:
    most = 10**40
    assert nslimb.sigma.comparison(40).preimage_sizes() == (most * (most - 1) // 2, most, most * (most - 1) // 2)


@pytest.mark.parametrize("build", [nslimb.sigma.addition, nslimb.sigma.comparison])
@pytest.mark.parametrize("digits", [0, -1, 1.5, True, "2"])
def test_digits_must_count(build: Any, digits: Any) -> None:
    with pytest.raises(InvalidInput, match="digits: expected an integer of at least 1"):
        build(digits)


MULTIPLE_OF_3 = {r: {y: (10 * r + y) % 3 for y in range(10)} for r in range(3)}


def test_an_automaton_is_a_run() -> None:
    sigma = nslimb.sigma.automaton(MULTIPLE_OF_3, 0, [0], num_classes=10, arity=3)
    assert sigma.weak_labels == (False, True)
    labels = np.array(list(product(range(10), repeat=3)))
    assert sigma.decode(sigma.apply(labels)) == [value % 3 == 0 for value in range(1000)]
    assert sigma.preimage_sizes() == (666, 334)
    long = nslimb.sigma.automaton(MULTIPLE_OF_3, 0, {0}, num_classes=10, arity=40)
    assert long.preimage_sizes()[1] == (10**40 - 1) // 3 + 1


def test_a_missing_transition_rejects() -> None:
    """The language a* b, over three letters."""
    sigma = nslimb.sigma.automaton({"a": {0: "a", 1: "end"}}, "a", ("end",), num_classes=3, arity=3)
    labels = list(product(range(3), repeat=3))
    assert sigma.decode(sigma.apply(labels)) == [y == (0, 0, 1) for y in labels]
    assert sigma.accepted.all()  # rejected is a weak label, not the lack of one
    states_that_look_like_nothing = nslimb.sigma.automaton({(): {0: None}, None: {1: ()}}, (), [()], 2, 2)
    assert states_that_look_like_nothing.preimage(1).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (({}, 0, [0]), "transitions: expected a mapping"),
        (([0], 0, [0]), "transitions: expected a mapping"),
        (({0: [1]}, 0, [0]), r"transitions\[0\]: expected a mapping \{label: state\}, got \[1\]"),
        (({0: {2: 0}}, 0, [0]), r"transitions\[0\]: expected labels 0 to 1, got 2"),
        (({0: {"1": 0}}, 0, [0]), r"transitions\[0\]: expected labels 0 to 1, got '1'"),
        (({0: {1: [0]}}, 0, [0]), "transitions: .* hashable states"),
        (({0: {1: 0}}, 3, [0]), r"initial: expected states of the automaton \(0\), got 3"),
        (({0: {1: 0}}, [], [0]), r"initial: expected states of the automaton \(0\), got \[\]"),
        (({0: {1: 0}}, 0, [4]), r"accepting: expected states of the automaton \(0\), got 4"),
        (({"a": {1: "a"}}, "a", "a"), "accepting: expected a collection of states, got 'a'"),
        (({0: {1: 0}}, 0, 0), "accepting: expected a collection of states, got 0"),
    ],
)
def test_automata_that_do_not_hang_together_are_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        nslimb.sigma.automaton(*arguments, num_classes=2, arity=2)


def emits_zeros(state: int, label: int) -> tuple[int, int | None] | None:
    """One symbol for each label 0."""
    return state + 1, None if label else 0


@pytest.mark.parametrize(
    ("step", "finish", "message"),
    [
        (lambda s, y: (s, [y]), None, r"step: expected hashable values .* got \(0, \[0\]\)"),
        (lambda s, y: ({s}, y), None, r"step: expected hashable values .* got \(\{0\}, 0\)"),
        (lambda s, y: (s, float("nan")), None, "step: expected values that are equal when they mean the same"),
        (lambda s, y: y, None, r"step: expected \(next state, emitted or None\), .* from step\(0, 0\), got 0"),
        (lambda s, y: (s, y, y), None, r"step: expected \(next state, emitted or None\).* got \(0, 0, 0\)"),
        (lambda s, y: (None, y), None, r"step: expected \(next state, emitted or None\).* got \(None, 0\)"),
        (lambda s, y: (1 // s, y), None, r"step: .*\(0, 0\), got ZeroDivisionError"),
        (lambda s, y: (s, y), lambda s: [s], r"finish: expected hashable .* got \[0\]"),
        (lambda s, y: (s, y), lambda s: None, "sigma: expected a weak label for at least one label vector"),
        (lambda s, y: None, None, "sigma: expected a weak label for at least one label vector"),
        (lambda s, y: (s, None), None, "step: expected at least one symbol, from step or finish, got none"),
        (emits_zeros, None, r"got 2 for \(0, 0\) \(0, 0\) and 1 for \(0, 1\) \(0\)$"),
        (emits_zeros, str, r"step: expected as many emitted symbols for every label vector, got 2 for \(0, 0\)"),
    ],
)
def test_bad_transducers_are_refused(step: Any, finish: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Sigma.from_transducer(0, step, finish, num_classes=2, arity=2)


def test_the_examples_of_unequal_lengths_keep_the_order_of_the_positions() -> None:
    def step(state: int, label: int) -> tuple[int, int | None]:
        return state + 1, label if state or label == 1 else None  # the label that is read first is lost unless it is 1

    with pytest.raises(InvalidInput, match=r"got 2 for \(0, 0, 0\) \(0, 0\) and 3 for \(0, 0, 1\) \(1, 0, 0\)$"):
        Sigma.from_transducer(0, step, None, num_classes=2, arity=3, order=[2, 0, 1])


def test_dead_branches_may_emit_what_they_like() -> None:
    def step(state: int, label: int) -> tuple[int, Any]:
        return state + label, "odd" if label else None

    sigma = Sigma.from_transducer(0, step, lambda s: None if s != 1 else "one", num_classes=2, arity=3)
    assert sigma.symbols == ("odd", "one")
    assert sigma.decode(sigma.apply([[0, 1, 0], [1, 1, 0]])) == [("odd", "one"), None]
    only_dead = Sigma.from_transducer(
        0, lambda s, y: (y, "lost" if y else "kept"), lambda s: None if s else "end", num_classes=2, arity=1
    )
    assert only_dead.symbols == ("end", "kept")


def test_too_many_states_are_refused() -> None:
    with pytest.raises(TooLarge, match=r"from_transducer: more than max_states=1000 states after 3 of 50 labels"):
        Sigma.from_transducer((), lambda s, y: ((*s, y), y), None, num_classes=10, arity=50, max_states=1000)
    with pytest.raises(TooLarge, match=r"listed: at least \d+ weak labels are more than limit=10000"):
        nslimb.sigma.addition(15).listed()
    assert len(nslimb.sigma.addition(3).listed().weak_labels) == 1999


SIGMA = nslimb.sigma.addition(2)
SCORES = torch.zeros(2, 4, 10).log_softmax(-1)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([(1, 2)], r"values\[0\]: expected sequences of 3 symbols out of 0, 1, .*, got \(1, 2\), which has 2"),
        ([(1, 2, 0), (1, 2, 0, 0)], r"values\[1\]: .* got \(1, 2, 0, 0\), which has 4"),
        ([(1, 12, 0)], r"values\[0\]: .* got \(1, 12, 0\)$"),
        ([(1, [2], 0)], r"values\[0\]: .* got \(1, \[2\], 0\)"),
        ("120", "values: .* got '120'"),
        (7, "values: .* got 7"),
    ],
)
def test_values_that_are_no_weak_labels_are_refused(values: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        SIGMA.encode(values)


def test_values_come_in_any_form_of_rows() -> None:
    for values in ([(2, 4, 0)], [[2, 4, 0]], np.array([[2, 4, 0]]), torch.tensor([[2, 4, 0]]), [42], np.array([42])):
        assert SIGMA.encode(values).tolist() == [[2, 4, 0]]
    words = Sigma.from_transducer("", lambda s, y: (s, "ab"[y]), None, num_classes=2, arity=2)
    with pytest.raises(InvalidInput, match=r"values\[0\]: expected sequences of 2 symbols out of 'a', 'b', got 'ab'"):
        words.encode(["ab"])
    assert words.encode([("a", "b")]).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("weak", "message"),
    [
        ([[1, 2, 0]], r"weak: expected 2 sequences of 3 symbols \(shape \[2, 3\]\), got shape \[1, 3\]"),
        ([[1, 2], [1, 2]], r"weak: .* of shape \[..., 3\], got shape \[2, 2\]"),
        ([1, 2], r"weak: .* of shape \[..., 3\], got shape \[2\]"),
        ([[1, 2, 0], [1, 10, 0]], r"weak: expected integers 0 to 9 \(indices into sigma.symbols\).*, got 10"),
        ([[1, 2, 0], [1, -1, 0]], "weak: .* got -1"),
        ([[1.0, 2.0, 0.0]] * 2, "weak: .* got dtype float64"),
        (torch.ones(2, 3, dtype=torch.bool), "weak: .* got dtype torch.bool"),
        (None, "weak: .* got an object of type NoneType"),
    ],
)
@pytest.mark.parametrize("call", ["log_likelihood", "posterior", "best", "semantic_loss"])
def test_weak_labels_that_do_not_fit_are_refused(call: str, weak: Any, message: str) -> None:
    calls = {
        "log_likelihood": lambda: SIGMA.log_likelihood(SCORES, weak),
        "posterior": lambda: SIGMA.posterior(SCORES, weak),
        "best": lambda: SIGMA.best(SCORES, weak, 2),
        "semantic_loss": lambda: nslimb.semantic_loss(SCORES, weak, SIGMA),
    }
    with pytest.raises(InvalidInput, match=message):
        calls[call]()


def test_shapes_that_do_not_broadcast_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"weak: .* label vectors of shape \[2, 4\], got shape \[3, 3\]"):
        SIGMA.explains([[0, 0, 0, 0]] * 2, [[0, 0, 0]] * 3)
    with pytest.raises(InvalidInput, match=r"indices: .* of shape \[n, 3\], or -1, got shape \[3\]"):
        SIGMA.decode([0, 0, 0])


@pytest.mark.parametrize("proofs", [None, 1, 3])
def test_what_no_label_vector_explains_has_an_infinite_loss_and_no_gradient(proofs: int | None) -> None:
    """A carry of 7, which no edge emits; 99 + 99 = 199; and a sum that can be."""
    logits = torch.randn(3, 4, 10, requires_grad=True)
    weak = [[0, 0, 7], [9, 9, 1], [8, 9, 1]]
    loss = nslimb.semantic_loss(logits.log_softmax(-1), weak, SIGMA, proofs)
    assert loss.isinf().tolist() == [True, True, False]
    (gradient,) = torch.autograd.grad(loss.sum(), logits)
    assert torch.isfinite(gradient).all()
    assert gradient.abs().sum(dim=(1, 2)).gt(0).tolist() == [False, False, True]
    assert SIGMA.posterior(logits.detach(), weak)[:2].abs().sum() == 0
    best = SIGMA.best(logits.detach(), weak, 2)
    assert (best.labels[:2] == -1).all()
    assert best.labels[2, 0].tolist() == [9, 9, 9, 9]
    assert SIGMA.preimage_sizes(weak) == (0, 0, 1)


REFUSED = {
    "weak_labels": lambda sigma: sigma.weak_labels,
    "diagram": lambda sigma: sigma.diagram,
    "log_prob": lambda sigma: sigma.log_prob(SCORES),
    "log_mass": lambda sigma: sigma.log_mass(SCORES, 2),
    "preimage": lambda sigma: sigma.preimage(0),
    "preimage_sizes": lambda sigma: sigma.preimage_sizes(),
    "bce": lambda sigma: nslimb.semantic_loss(SCORES, [[1, 2, 0]] * 2, sigma, form="bce"),
    "scallop": lambda sigma: nslimb.semantic_loss(SCORES, [[1, 2, 0]] * 2, sigma, engine="scallop"),
    "counts": lambda sigma: nslimb.estimate_marginal([1, 2], sigma, counts=True),
    "identifiability": lambda sigma: nslimb.identifiability(sigma, [0.1] * 10),
    "confusions": lambda sigma: nslimb.confusions(sigma, [0.1] * 10),
    "diagnose": lambda sigma: nslimb.diagnose(sigma),
    "class_risk_bounds": lambda sigma: nslimb.class_risk_bounds(sigma, [0.1] * 10, 0.1),
    "listing pseudolabels": lambda sigma: nslimb.pseudolabels(
        SCORES, [[1, 2, 0]] * 2, sigma, [0.1] * 10, encoding="paper"
    ),
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_needs_a_list_of_weak_labels_says_how_to_get_one(call: str) -> None:
    with pytest.raises(InvalidInput, match=r"sigma: .* Transducer\(addition.*sigma\.listed\(limit=10_000\)"):
        REFUSED[call](SIGMA)


def test_a_transducer_survives_pickling() -> None:
    copy = pickle.loads(pickle.dumps(SIGMA))
    assert isinstance(copy, Transducer)
    assert copy.encode([42]).tolist() == [[2, 4, 0]]
    assert pickle.loads(pickle.dumps(nslimb.sigma.maximum(2))).program is not None
