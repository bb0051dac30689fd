"""Compiled sigmas taken apart and put together again."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma
from nslimb.errors import DataError, InvalidInput
from nslimb.sigma.storing import put_together, take_apart
from nslimb.sigma.tagged import from_tagged, to_tagged

plain = st.one_of(
    st.integers(),
    st.booleans(),
    st.text(),
    st.floats(allow_nan=False),
)
labels = st.recursive(plain, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


def through_json(sigma: Sigma) -> Sigma:
    described, arrays = take_apart(sigma)
    return put_together(json.loads(json.dumps(described)), arrays)


def same_type(a: Any, b: Any) -> bool:
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same_type, a, b))
    return type(a) is type(b) and a == b


@given(labels)
def test_a_value_keeps_its_type(value: Any) -> None:
    """1, 1.0, True and "1" are equal or look alike, and stay what they are."""
    assert same_type(from_tagged(json.loads(json.dumps(to_tagged(value)))), value)


@pytest.mark.parametrize("value", [None, frozenset({1}), (1, None), b"x", 1j, np.int64(1)])
def test_other_values_are_refused(value: Any) -> None:
    with pytest.raises(InvalidInput, match="weak labels: expected int, float, bool, str or tuples of them"):
        to_tagged(value)


@pytest.mark.parametrize("tagged", [["int", "1"], ["set", []], ["int", True], 3, ["tuple", 1], ["float", "x"], {}])
def test_what_is_no_tagged_value_is_refused(tagged: Any) -> None:
    with pytest.raises(DataError, match="no weak label"):
        from_tagged(tagged)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.data())
def test_a_function_comes_back_as_it_was(num_classes: int, arity: int, data: st.DataObject) -> None:
    values = data.draw(st.lists(labels, min_size=num_classes**arity, max_size=num_classes**arity))
    sigma = Sigma.from_function(
        lambda y: values[sum(label * num_classes**i for i, label in enumerate(y))], num_classes, arity
    )
    back = through_json(sigma)
    assert all(map(same_type, back.weak_labels, sigma.weak_labels))
    vectors = np.stack(np.meshgrid(*[np.arange(num_classes)] * arity), axis=-1).reshape(-1, arity)
    np.testing.assert_array_equal(back.apply(vectors), sigma.apply(vectors))
    scores = torch.randn(4, arity, num_classes).log_softmax(-1)
    assert torch.equal(back.log_prob(scores), sigma.log_prob(scores))


@pytest.mark.parametrize(
    "sigma",
    [
        nslimb.sigma.maximum(3),
        nslimb.sigma.formula(5),
        nslimb.sigma.smallest_parent(),
        nslimb.sigma.comparison(2),
        nslimb.sigma.addition(3),
    ],
    ids=lambda sigma: sigma.name,
)
def test_the_librarys_come_back_with_names_and_order(sigma: Sigma) -> None:
    back = through_json(sigma)
    assert repr(back) == repr(sigma)
    assert back.class_names == sigma.class_names
    assert type(back) is type(sigma)
    vectors = np.random.default_rng(0).integers(sigma.num_classes, size=(200, sigma.arity))
    weak = sigma.apply(vectors)
    np.testing.assert_array_equal(back.apply(vectors), weak)
    known = weak.reshape(200, -1).min(axis=1) >= 0
    scores = torch.randn(int(known.sum()), sigma.arity, sigma.num_classes).log_softmax(-1)
    assert torch.equal(back.log_likelihood(scores, weak[known]), sigma.log_likelihood(scores, weak[known]))
    assert back.decode(weak[known]) == sigma.decode(weak[known])


def test_an_addition_still_takes_integers() -> None:
    spaced = nslimb.sigma.addition(2).with_spaces({"first": [0, 1], "second": [2, 3]})
    for sigma in (nslimb.sigma.addition(2), spaced):
        back = through_json(sigma)
        assert back.encode([42, (2, 4, 0)]).tolist() == [[2, 4, 0]] * 2
        assert (back.options, back.groups) == (sigma.options, sigma.groups)
        with pytest.raises(InvalidInput, match="values: expected sums from 0 to 198"):
            back.encode([199])
    described, arrays = take_apart(nslimb.sigma.addition(2))
    del described["digits"]  # as in files of before
    assert put_together(described, arrays).encode([(2, 4, 0)]).tolist() == [[2, 4, 0]]


def test_spaces_come_back_with_their_names() -> None:
    sigma = nslimb.sigma.maximum(2, 2).with_spaces({"a": [0], "b": [1]}, {"b": {0: "off", 1: "on"}})
    assert through_json(sigma).spaces == sigma.spaces
    described, arrays = take_apart(sigma)
    for space in described["spaces"].values():
        del space["names"]  # as files of before have it
    assert put_together(described, arrays).spaces[1].class_names == ("0", "1")


def test_a_family_is_refused() -> None:
    with pytest.raises(InvalidInput, match="sigma: expected one sigma for all samples"):
        take_apart(nslimb.sigma.family({"max": nslimb.sigma.maximum(2), "sum": nslimb.sigma.total(2)}))


@pytest.mark.parametrize(
    ("of", "array", "change"),
    [
        ("maximum", "targets 1", lambda table: table + 100),
        ("maximum", "targets 1", lambda table: table - 5),
        ("maximum", "targets 0", lambda table: table.astype(float)),
        ("maximum", "targets 0", lambda table: table[:, :5]),
        ("maximum", "targets 0", lambda table: table.repeat(2, axis=0)),
        ("addition", "emissions 1", lambda table: table + 100),
        ("addition", "last", lambda table: table[:-1]),
        ("addition", "places 0", lambda table: table.repeat(2)),
    ],
)
def test_arrays_that_lead_nowhere_are_refused(of: str, array: str, change: Any) -> None:
    described, arrays = take_apart(getattr(nslimb.sigma, of)(2))
    with pytest.raises(DataError, match="a saved sigma that cannot be put together"):
        put_together(described, {**arrays, array: change(arrays[array])})
