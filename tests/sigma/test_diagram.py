"""Compilation and reduction."""

from __future__ import annotations

from functools import reduce
from itertools import product

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput, TooLarge


def assert_same_diagram(a: Sigma, b: Sigma) -> None:
    assert a.weak_labels == b.weak_labels
    assert a.diagram.widths == b.diagram.widths
    for ours, theirs in zip(a.diagram.targets, b.diagram.targets, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_equal_functions_give_equal_diagrams_however_written() -> None:
    assert_same_diagram(Sigma.from_function(max, num_classes=10, arity=4), nslimb.sigma.maximum(arity=4))
    assert_same_diagram(Sigma.from_function(sum, num_classes=4, arity=5), nslimb.sigma.total(arity=5, num_classes=4))
    remembers_all = Sigma.from_steps((), lambda state, y: (*state, y), max, num_classes=4, arity=4)
    assert_same_diagram(remembers_all, nslimb.sigma.maximum(arity=4, num_classes=4))


def residuals(sigma: Sigma) -> tuple[int, ...]:
    """Distinct functions left after i labels, by listing: the states that any diagram in this order must have."""
    index = {label: i for i, label in enumerate(sigma.weak_labels)} | {None: -1}
    function, classes = sigma.options["function"], range(sigma.num_classes)
    counts = []
    for i in range(sigma.arity + 1):
        rest = list(product(classes, repeat=sigma.arity - i))
        tables = {tuple(index[function(head + tail)] for tail in rest) for head in product(classes, repeat=i)}
        counts.append(sum(any(entry >= 0 for entry in table) for table in tables))
    return tuple(counts)


@given(oracles.tables(max_arity=4, max_classes=4))
def test_the_diagram_is_the_smallest(sigma: Sigma) -> None:
    assert sigma.diagram.widths == residuals(sigma)


@given(oracles.tables(max_arity=4, max_classes=4))
def test_every_state_is_reachable_and_reaches_a_weak_label(sigma: Sigma) -> None:
    for targets, width in zip(sigma.diagram.targets, sigma.diagram.widths[1:], strict=True):
        assert (targets != -1).any(axis=1).all()
        assert set(targets[targets != -1].tolist()) == set(range(width))


def test_dead_ends_are_dropped() -> None:
    only_increasing = Sigma.from_steps(
        -1, lambda last, y: y if y > last else None, lambda last: last, num_classes=5, arity=3
    )
    assert only_increasing.weak_labels == (2, 3, 4)
    assert only_increasing.preimage_sizes() == (1, 3, 6)
    assert only_increasing.diagram.widths[1] == 3  # a first label of 3 or 4 leaves no room
    assert only_increasing.apply([[0, 1, 2], [2, 1, 3]]).tolist() == [0, -1]


def test_weak_labels_sort_or_keep_their_first_appearance() -> None:
    assert Sigma.from_function(lambda y: -sum(y), num_classes=2, arity=2).weak_labels == (-2, -1, 0)
    mixed = Sigma.from_function(lambda y: "many" if sum(y) > 1 else sum(y), num_classes=2, arity=2)
    assert mixed.weak_labels == (0, 1, "many")
    assert mixed.encode(["many", 0]).tolist() == [2, 0]


def test_numpy_scalars_become_plain_labels() -> None:
    sigma = Sigma.from_function(np.max, num_classes=3, arity=2)
    assert sigma.weak_labels == (0, 1, 2)
    assert type(sigma.weak_labels[0]) is int


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Sigma.from_function(max, num_classes=0, arity=2), "num_classes: expected an integer of at least 1"),
        (lambda: Sigma.from_function(max, num_classes=2.0, arity=2), r"num_classes: .* got 2\.0"),
        (lambda: Sigma.from_function(max, num_classes=2, arity=0), "arity: expected an integer of at least 1, got 0"),
        (lambda: Sigma.from_function(max, num_classes=True, arity=2), "num_classes: .* got True"),
        (lambda: Sigma.from_function(list, 2, 2), r"function: expected hashable .* got \[0, 0\] of type list"),
        (lambda: Sigma.from_function(lambda y: float("nan"), 2, 2), "function: expected values that are equal"),
        (lambda: Sigma.from_function(lambda y: object(), 2, 2), "function: expected values that are equal"),
        (lambda: Sigma.from_function(lambda y: (1, float("nan")), 2, 2), "function: expected values that are equal"),
        (lambda: Sigma.from_function(lambda y: (torch.tensor(1),), 2, 2), "function: expected values that are equal"),
        (lambda: Sigma.from_function(lambda y: None, 2, 2), "sigma: expected a weak label for at least one"),
        (lambda: Sigma.from_function(lambda y: 1 // y[0], 2, 2), r"function: .*\(\(0, 0\)\), got ZeroDivisionError"),
        (lambda: Sigma.from_steps([], max, max, 2, 2), r"initial: expected hashable .* got \[\]"),
        (lambda: Sigma.from_steps(0, lambda s, y: {y}, max, 2, 2), r"step: expected hashable .* got \{0\}"),
        (lambda: Sigma.from_steps(0, lambda s: s, max, 2, 2), r"step: expected .*\(0, 0\), got TypeError"),
        (lambda: Sigma.from_steps(0, max, lambda s: [s], 2, 2), r"finish: expected hashable .* got \[0\]"),
    ],
)
def test_bad_descriptions_are_refused(build: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        build()  # type: ignore[operator]


def test_tensors_as_states_are_refused() -> None:
    with pytest.raises(InvalidInput, match="function: expected values that are equal when they mean the same"):
        Sigma.from_function(lambda y: torch.tensor(max(y)), 2, 2)


def test_too_many_states_are_refused_before_memory_runs_out() -> None:
    with pytest.raises(TooLarge, match=r"10 \*\* 7 label vectors .* max_states=1000000.*from_steps"):
        Sigma.from_function(max, num_classes=10, arity=7)
    with pytest.raises(TooLarge, match=r"more than max_states=1000 states after 3 of 50 labels"):
        Sigma.from_steps((), lambda s, y: (*s, y), len, num_classes=10, arity=50, max_states=1000)
    with pytest.raises(TooLarge, match=r"max_states=100 "):
        nslimb.sigma.total(arity=40, max_states=100)
    with pytest.raises(TooLarge, match=r"2 \*\* 64 label vectors"):
        Sigma.from_function(max, num_classes=np.int64(2), arity=np.int64(64))


def test_the_limits_are_reached_before_they_bite() -> None:
    assert Sigma.from_function(max, num_classes=4, arity=3, max_states=64).arity == 3
    with pytest.raises(TooLarge):
        Sigma.from_function(max, num_classes=4, arity=3, max_states=63)
    states = 1 + 4 + 7
    assert nslimb.sigma.total(arity=2, num_classes=4, max_states=states).num_states == states
    with pytest.raises(TooLarge):
        nslimb.sigma.total(arity=2, num_classes=4, max_states=states - 1)


def test_any_fold_is_a_sigma() -> None:
    sigma = Sigma.from_steps(1, lambda state, y: state * (y + 1) % 7, str, num_classes=6, arity=4)
    for labels in product(range(6), repeat=4):
        value = str(reduce(lambda state, y: state * (y + 1) % 7, labels, 1))
        assert sigma.weak_labels[sigma.apply(labels)] == value
