"""The paper's components against their definitions, and the paper's own examples."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
import torch

import nslimb
from nslimb.errors import InvalidInput, TooLarge
from nslimb.sigma import CIFAR10_CLASSES, CIFAR10_HIERARCHY, FORMULA_CLASSES


def test_preimage_of_max_2_at_1() -> None:
    assert nslimb.sigma.maximum(arity=2).preimage(1).tolist() == [[0, 1], [1, 0], [1, 1]]


def test_max_5_at_9_has_all_vectors_with_a_nine() -> None:
    sizes = nslimb.sigma.maximum(arity=5).preimage_sizes()
    assert sizes[9] == 10**5 - 9**5
    # The paper's text counts 5 x 9^4: those with exactly one nine.
    nines = (nslimb.sigma.maximum(arity=5).preimage(9) == 9).sum(axis=1)
    assert (nines == 1).sum() == 5 * 9**4


def test_max_5_shows_a_lone_zero_once_in_a_hundred_thousand() -> None:
    uniform = torch.full((1, 5, 10), 0.1, dtype=torch.float64).log()
    assert nslimb.sigma.maximum(arity=5).log_prob(uniform)[0, 0].exp().item() == pytest.approx(1e-5, rel=1e-12)


def test_max_keeps_one_state_for_each_running_maximum() -> None:
    assert nslimb.sigma.maximum(arity=50).diagram.widths == (1, *([10] * 50))


def test_sum_counts_exactly_beyond_64_bits() -> None:
    sizes = nslimb.sigma.total(arity=50).preimage_sizes()
    assert sum(sizes) == 10**50
    assert max(sizes) > 2**63
    coin = nslimb.sigma.total(arity=200, num_classes=2).preimage_sizes()
    assert coin == tuple(comb(200, k) for k in range(201))


@pytest.mark.parametrize("t", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_counterexample_has_the_paper_polynomial(t: float) -> None:
    sigma = nslimb.sigma.counterexample()
    scores = torch.tensor([1 - t, t], dtype=torch.float64).log().expand(1, 4, 2)
    polynomial = t**4 + 6 * t**2 * (1 - t) ** 2 + 4 * t * (1 - t) ** 3
    assert sigma.weak_labels == (0, 1)
    assert sigma.log_prob(scores)[0, 1].exp().item() == pytest.approx(polynomial, abs=1e-15)


def left_to_right(symbols: str) -> int:
    value = int(symbols[0])
    for operator, digit in zip(symbols[1::2], symbols[2::2], strict=True):
        value = eval(f"({value}) {operator} {digit}")
    return value


@pytest.mark.parametrize("arity", [1, 3, 5])
@pytest.mark.parametrize("precedence", [True, False])
def test_formula_is_the_value_of_the_formula(arity: int, precedence: bool) -> None:
    sigma = nslimb.sigma.formula(arity, precedence=precedence)
    places = ["0123456789" if i % 2 == 0 else "+-*" for i in range(arity)]
    texts = ["".join(symbols) for symbols in product(*places)]
    labels = np.array([[FORMULA_CLASSES.index(symbol) for symbol in text] for text in texts])
    values = [eval(text) if precedence else left_to_right(text) for text in texts]
    assert [sigma.weak_labels[s] for s in sigma.apply(labels)] == values
    assert sum(sigma.preimage_sizes()) == len(texts)


def test_formula_orders_agree_only_where_they_must() -> None:
    two_plus_three_times_four = [2, 10, 3, 12, 4]
    for precedence, value in ((True, 14), (False, 20)):
        sigma = nslimb.sigma.formula(5, precedence=precedence)
        assert sigma.weak_labels[sigma.apply(two_plus_three_times_four)] == value


def test_misplaced_symbols_have_no_weak_label() -> None:
    sigma = nslimb.sigma.formula(3)
    assert sigma.apply([[10, 1, 2], [1, 2, 3], [1, 10, 12], [1, 10, 2]]).tolist()[:3] == [-1, -1, -1]
    uniform = torch.full((1, 3, 13), 1 / 13, dtype=torch.float64).log()
    assert sigma.log_prob(uniform).exp().sum().item() == pytest.approx(300 / 13**3)


def ancestors(name: str) -> list[str]:
    parent = {child: node for node, children in CIFAR10_HIERARCHY.items() for child in children}
    path = [name]
    while path[-1] in parent:
        path.append(parent[path[-1]])
    return path


@pytest.mark.parametrize("arity", [2, 3])
def test_smallest_parent_is_the_lowest_common_ancestor(arity: int) -> None:
    sigma = nslimb.sigma.smallest_parent(arity=arity)
    for labels in product(range(10), repeat=arity):
        first, *others = (ancestors(CIFAR10_CLASSES[y]) for y in labels)
        lowest = next(node for node in first if all(node in path for path in others))
        assert sigma.weak_labels[sigma.apply(labels)] == lowest


def test_smallest_parent_of_a_hierarchy_of_ones_own() -> None:
    tree = {"even": ["0", "2"], "odd": ["1", "3"], "digit": ["odd", "even"]}
    sigma = nslimb.sigma.smallest_parent(tree)
    assert sigma.class_names == ("1", "3", "0", "2")
    ordered = nslimb.sigma.smallest_parent(tree, classes=["0", "1", "2", "3"])
    assert ordered.weak_labels[ordered.apply([0, 2])] == "even"
    assert ordered.weak_labels[ordered.apply([0, 3])] == "digit"
    assert ordered.weak_labels[ordered.apply([3, 3])] == "3"


@pytest.mark.parametrize(
    ("hierarchy", "message"),
    [
        ({}, "hierarchy: expected a mapping"),
        ([("a", "b")], "hierarchy: expected a mapping"),
        ({"a": "bc"}, r"hierarchy\['a'\]: expected a list"),
        ({"a": []}, r"hierarchy\['a'\]: expected a list of at least one child, got \[\]"),
        ({"a": ["b"], "b": ["a"]}, "hierarchy: expected a tree with one root, got a cycle among \\['a', 'b'\\]"),
        ({"c": ["leaf"], "a": ["b"], "b": ["a", "c"]}, r"got a cycle among \['a', 'b'\]"),
        ({"a": [["b"]]}, r"hierarchy\['a'\]: expected names, got \['b'\]"),
        ({1: ["b"]}, "hierarchy: expected names as nodes, got 1"),
        ({"r": ["x"], "a": ["b"], "b": ["a"]}, r"hierarchy: expected a tree, got a cycle among \['a', 'b'\]"),
        ({"a": ["x"], "b": ["y"]}, r"hierarchy: expected a tree with one root, got the roots \['a', 'b'\]"),
        ({"r": ["a", "b"], "a": ["x"], "b": ["x"]}, "one parent for each node, got 'x' below both 'a' and 'b'"),
    ],
)
def test_what_is_not_a_tree_is_refused(hierarchy: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        nslimb.sigma.smallest_parent(hierarchy)  # type: ignore[arg-type]


@pytest.mark.parametrize("classes", [["cat"], [*CIFAR10_CLASSES[:9], "lorry"], [*CIFAR10_CLASSES, "cat"]])
def test_classes_that_are_not_the_leaves_are_refused(classes: list[str]) -> None:
    with pytest.raises(InvalidInput, match=r"classes: expected the leaves of the hierarchy .* mismatch"):
        nslimb.sigma.smallest_parent(classes=classes)


@pytest.mark.parametrize("classes", [5, "cat", (name for name in CIFAR10_CLASSES)])
def test_classes_must_be_a_sequence(classes: object) -> None:
    with pytest.raises(InvalidInput, match="classes: expected the leaves of the hierarchy"):
        nslimb.sigma.smallest_parent(classes=classes)  # type: ignore[arg-type]


def test_a_missing_leaf_is_named() -> None:
    without_dog = {**CIFAR10_HIERARCHY, "home_land_animal": ["cat"]}
    with pytest.raises(InvalidInput, match=r"mismatch at \['dog'\]"):
        nslimb.sigma.smallest_parent(without_dog, classes=CIFAR10_CLASSES)


@pytest.mark.parametrize("arity", [0, 2, 4, -1])
def test_formulas_of_even_length_are_refused(arity: int) -> None:
    with pytest.raises(InvalidInput, match="arity: expected an"):
        nslimb.sigma.formula(arity)


def test_precedence_must_be_a_choice() -> None:
    with pytest.raises(InvalidInput, match="precedence: expected True or False, got 'left'"):
        nslimb.sigma.formula(3, precedence="left")  # type: ignore[arg-type]


def test_preimage_over_the_limit_is_refused() -> None:
    with pytest.raises(TooLarge, match=r"weak label 9 has 40951 label vectors, more than limit=1000"):
        nslimb.sigma.maximum(5).preimage(9, limit=1000)
    with pytest.raises(TooLarge):
        nslimb.sigma.maximum(5).preimage(9, limit=40950)
    assert len(nslimb.sigma.maximum(5).preimage(9, limit=40951)) == 40951


@pytest.mark.parametrize("index", [-1, 10, 1.0, True, "9"])
def test_preimage_of_an_unknown_weak_label_is_refused(index: object) -> None:
    with pytest.raises(InvalidInput, match=r"weak_index: expected an index into sigma.weak_labels \(0 to 9\)"):
        nslimb.sigma.maximum(5).preimage(index)  # type: ignore[arg-type]
