"""Products of diagrams against the same function by listing all label vectors."""

from __future__ import annotations

from collections.abc import Hashable
from itertools import product
from typing import Any

import numpy as np
import oracles
import pytest
import torch
from diagrams import assert_same_diagram
from hypothesis import given
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput, TooLarge
from nslimb.sigma import combine, formula, maximum, smallest_parent, total
from nslimb.sigma.rows import rank_rows


@st.composite
def parts(draw: st.DrawFn) -> list[Sigma]:
    """One to four random sigmas over the same labels."""
    first = draw(oracles.tables(max_arity=4, max_classes=4, max_vectors=300))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    result = [first]
    for _ in range(draw(st.integers(0, 3))):
        weak = rng.integers(1, 4)
        values = rng.integers(weak, size=(first.num_classes,) * first.arity)
        valid = rng.random(values.shape) >= rng.choice([0.0, 0.4])
        valid.reshape(-1)[rng.integers(valid.size)] = True

        def function(y: tuple[int, ...], values: np.ndarray = values, valid: np.ndarray = valid) -> int | None:
            return int(values[y]) if valid[y] else None

        result.append(Sigma.from_function(function, first.num_classes, first.arity))
        result[-1].options["function"] = function
    return result


@given(parts(), st.integers(1, 5), st.integers(0, 2**16))
def test_a_product_is_the_function_of_the_parts(sigmas: list[Sigma], modulus: int, salt: int) -> None:
    def function(*values: int) -> Hashable:
        mixed = (sum((i + 2) * value for i, value in enumerate(values)) + salt) % (modulus + 1)
        return mixed if mixed < modulus else None

    def by_hand(y: tuple[int, ...]) -> Hashable:
        values = [sigma.options["function"](y) for sigma in sigmas]
        return None if None in values else function(*values)

    if all(by_hand(y) is None for y in product(range(sigmas[0].num_classes), repeat=sigmas[0].arity)):
        with pytest.raises(InvalidInput, match="a weak label for at least one label vector"):
            combine(function, *sigmas)
        return
    expected = Sigma.from_function(by_hand, sigmas[0].num_classes, sigmas[0].arity)
    assert_same_diagram(combine(function, *sigmas), expected)


def test_the_function_is_called_once_for_each_tuple_that_occurs() -> None:
    calls: list[tuple[int, int]] = []
    combine(lambda a, b: calls.append((a, b)) or 0, maximum(2, 3), total(2, 3))
    assert sorted(calls) == [(0, 0), (1, 1), (1, 2), (2, 2), (2, 3), (2, 4)]


def test_tuples_of_states_may_exceed_64_bits() -> None:
    shifted = [
        Sigma.from_steps(0, lambda s, y, k=k: (s * 31 + y * k) % 97, lambda s: s, 3, 5) for k in range(1, 25)
    ]  # 24 states of up to 97 values: 97 ** 24
    whole = combine(lambda *values: sum(values) % 11, *shifted)

    def by_hand(y: tuple[int, ...]) -> int:
        states = [0] * 24
        for label in y:
            states = [(s * 31 + label * k) % 97 for k, s in enumerate(states, start=1)]
        return sum(states) % 11

    assert_same_diagram(whole, Sigma.from_function(by_hand, 3, 5))


@given(st.data())
def test_ranks_of_rows_are_those_of_sorting_them(data: st.DataObject) -> None:
    bounds = data.draw(st.lists(st.sampled_from([1, 2, 7, 1000, 2**31, 2**61]), min_size=1, max_size=6))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    number = data.draw(st.integers(0, 40))
    columns = [rng.integers(bound, size=number) for bound in bounds]
    picked = rng.integers(number, size=60) if number else np.zeros(0, dtype=np.int64)  # so that rows repeat
    rows = np.stack([column[picked] for column in columns], axis=1)
    unique, inverse = np.unique(rows, axis=0, return_inverse=True)
    ranks, distinct = rank_rows(list(rows.T), bounds)
    assert distinct == len(unique)
    np.testing.assert_array_equal(ranks, inverse.reshape(-1))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, "b", 2.5, "a", (1,)], (2.5, 3, "a", "b", (1,))),
        (
            [frozenset("b"), frozenset("ab"), frozenset("a"), frozenset(), frozenset("c")],
            (frozenset(), frozenset("ab"), frozenset("a"), frozenset("b"), frozenset("c")),
        ),
        ([frozenset({1, 2}), frozenset({1}), frozenset({1, 2, 3})], ({1}, {1, 2}, {1, 2, 3})),  # a chain sorts totally
        ([(1, "x"), (1, 2), (0, None)], ((0, None), (1, "x"), (1, 2))),
        ([(frozenset({2}), 0), (frozenset({1}), 1)], (({1}, 1), ({2}, 0))),
    ],
)
def test_weak_labels_that_do_not_sort_have_an_order_all_the_same(values: list[Any], expected: tuple[Any, ...]) -> None:
    for shift in range(len(values)):
        turned = values[shift:] + values[:shift]
        sigma = Sigma.from_function(lambda y, turned=turned: turned[y[0]], len(values), 1)
        assert sigma.weak_labels == expected
        relabelled = combine(lambda y: values[y], Sigma.from_function(lambda y: y[0], len(values), 1))
        assert relabelled.weak_labels == expected


def test_sets_are_ordered_in_the_same_way_by_every_run() -> None:
    # Eight members each in another order of insertion: Python's own repr follows the order in the hash table.
    names = ["ten", "one", "six", "two", "nil", "saw", "was", "top"]
    sets = [frozenset(names[i:] + names[:i]) | {str(i)} for i in range(8)]
    sigma = Sigma.from_function(lambda y: sets[7 - y[0]], 8, 1)
    assert sigma.weak_labels == tuple(sets)  # all equal but for the digit, which comes first


@given(st.data())
def test_loss_and_gradient_of_a_product_are_those_by_listing(data: st.DataObject) -> None:
    arity, classes = data.draw(st.sampled_from([(1, 4), (2, 4), (3, 3)]))
    sigma = combine(lambda a, b: (a, b % 3) if b % 4 else None, maximum(arity, classes), total(arity, classes))
    table = np.array([index_of(sigma, y) for y in oracles.all_vectors(sigma).tolist()])
    scores = data.draw(oracles.log_scores_for(sigma)).requires_grad_()
    theirs = oracles.log_prob(scores, table, len(sigma.weak_labels))
    ours = sigma.log_prob(scores)
    torch.testing.assert_close(ours, theirs)
    weights = torch.from_numpy(np.random.default_rng(0).random(ours.shape))
    gradients = [torch.autograd.grad((p.exp() * weights).sum(), scores)[0] for p in (ours, theirs)]
    torch.testing.assert_close(*gradients)


def index_of(sigma: Sigma, y: list[int]) -> int:
    value = (max(y), sum(y) % 3) if sum(y) % 4 else None
    return sigma.weak_labels.index(value) if value else -1


def test_names_of_the_classes_are_kept() -> None:
    formulas = formula(3)
    positive = Sigma.from_function(lambda y: y[0] > 0, 13, 3)
    both = combine(lambda a, b: (a, b), positive, formulas)
    assert both.class_names == formulas.class_names
    assert both.weak_labels[both.apply([2, 10, 3])] == (True, 5)
    assert both.apply([2, 3, 3]) == -1  # no formula
    assert combine(max, maximum(2), maximum(2)).class_names == maximum(2).class_names


BACKWARDS = Sigma.from_steps(0, lambda s, y: 2 * s + y, lambda s: s, 4, 3, order=[2, 1, 0])


def test_parts_that_read_in_another_order_give_such_a_sigma() -> None:
    largest = Sigma.from_steps(0, max, lambda s: s, 4, 3, order=[2, 1, 0])
    both = combine(lambda a, b: a - b, BACKWARDS, largest)
    assert both.diagram.order == (2, 1, 0)
    for y in product(range(4), repeat=3):
        assert both.weak_labels[both.apply(y)] == 4 * y[2] + 2 * y[1] + y[0] - max(y)


@pytest.mark.parametrize(
    ("sigmas", "message"),
    [
        ((), "sigmas: expected at least one Sigma to combine, got none"),
        ((maximum(2), max), "sigma: expected a Sigma"),
        ((maximum(2), maximum(3)), "sigmas: expected the same arity for all parts, got 2 and, in part 2, 3"),
        (
            (maximum(2), total(2), total(2, 5)),
            "the same number of classes for all parts, got 10 classes and, in part 3, 5",
        ),
        ((BACKWARDS, total(3, 4)), r"the same order for all parts, got \(2, 1, 0\) and, in part 2, None"),
        ((nslimb.sigma.addition(1), maximum(2)), r"sigma: expected a sigma whose weak labels are listed.*listed\("),
        (
            (smallest_parent(), smallest_parent(classes=tuple(reversed(nslimb.sigma.CIFAR10_CLASSES)))),
            "the same classes for all parts, got airplane, .* and, in part 2, truck, ",
        ),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(sigmas: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        combine(lambda *values: values, *sigmas)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda a: a, r"function: expected a function that accepts \(0, 0\), got TypeError"),
        (lambda a, b: [a, b], "function: expected hashable values"),
        (lambda a, b: None, "expected a weak label for at least one label vector"),
    ],
)
def test_functions_that_do_not_fit_are_refused(function: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        combine(function, maximum(2), total(2))


def test_parts_that_no_label_vector_satisfies_together_are_refused() -> None:
    low = Sigma.from_function(lambda y: 0 if y[0] == 0 else None, 3, 3)
    high = Sigma.from_function(lambda y: 0 if y[0] == 2 else None, 3, 3)
    with pytest.raises(InvalidInput, match="expected a weak label for at least one label vector"):
        combine(lambda *values: values, low, high)


def test_a_product_that_is_too_wide_says_where() -> None:
    parts = [Sigma.from_steps(0, lambda s, y, k=k: s * k + y, lambda s: s, 10, 4, 20_000) for k in (10, 1)]
    message = r"more than max_states=500 states; its widest layer so far, 1000 states, follows position 2\. .*order="
    with pytest.raises(TooLarge, match=message):
        combine(lambda *values: values, *parts, max_states=500)
    with pytest.raises(InvalidInput, match="max_states: expected an integer of at least 1"):
        combine(max, maximum(2), max_states=0)
