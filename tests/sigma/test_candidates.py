"""Families of listed label vectors, against sums over the lists."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from diagrams import assert_same_diagram
from hypothesis import given
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput

Lists = list[list[tuple[int, ...]]]


def random_lists(rng: np.random.Generator, classes: int, number: int) -> Lists:
    lists = []
    for _ in range(number):
        everything = list(product(range(classes), repeat=int(rng.integers(1, 4))))
        chosen = rng.integers(len(everything), size=rng.integers(1, 6))  # with repetitions
        lists.append([everything[i] for i in chosen])
    lists.append(list(product(range(classes), repeat=2)))  # everything
    return [lists[i] for i in rng.integers(len(lists), size=number + 2)]


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 8))
def test_the_likelihood_is_the_sum_over_the_list(seed: int, classes: int, number: int) -> None:
    rng = np.random.default_rng(seed)
    lists = random_lists(rng, classes, number)
    sigma = Sigma.from_candidates(lists, classes)
    weak = sigma.encode(lists)
    scores = torch.from_numpy(rng.normal(size=(len(lists), sigma.arity, classes))).log_softmax(-1)
    leaf = scores.clone().requires_grad_()
    sums = [
        torch.stack([sum(leaf[b, i, y] for i, y in enumerate(vector)) for vector in set(candidates)]).logsumexp(0)
        for b, candidates in enumerate(lists)
    ]
    theirs = torch.stack(sums)
    ours = nslimb.semantic_loss(leaf, weak, sigma)
    torch.testing.assert_close(ours, -theirs)
    expected_gradient = torch.autograd.grad(theirs.sum(), leaf)[0]
    torch.testing.assert_close(torch.autograd.grad(ours.sum(), leaf)[0], -expected_gradient)
    torch.testing.assert_close(sigma.posterior(scores, weak), expected_gradient)
    assert len(sigma.members) == len({frozenset(candidates) for candidates in lists})
    for candidates, s in zip(lists, weak.tolist(), strict=True):
        length = len(candidates[0])
        assert {tuple(row[:length]) for row in sigma.preimage(s).tolist()} == set(candidates)
        assert_same_diagram(
            sigma.member(sigma.decode([s])[0][0]),  # type: ignore[index]
            Sigma.from_function(lambda y, candidates=candidates: y in candidates, classes, length),
        )
    labels = rng.integers(classes, size=(len(lists), sigma.arity))
    expected = [tuple(y[: len(c[0])]) in c for y, c in zip(labels.tolist(), lists, strict=True)]
    assert sigma.explains(labels, weak).tolist() == expected


def test_lists_are_sets_of_vectors() -> None:
    sigma = Sigma.from_candidates([[(0, 1), (1, 0)], np.array([[1, 0], [0, 1], [0, 1]]), {(2, 2)}], 3)
    assert sigma.members == (((0, 1), (1, 0)), ((2, 2),))
    assert sigma.encode([[[1, 0], [0, 1]]]).tolist() == sigma.encode([(((0, 1), (1, 0)), True)]).tolist()
    assert sigma.decode(sigma.encode([(((2, 2),), False)])) == [(((2, 2),), False)]
    assert (
        nslimb.semantic_loss(torch.zeros(1, 2, 3).log_softmax(-1), sigma.encode([[(2, 2)]]), sigma).exp().round() == 9
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Sigma.from_candidates([], 3), "candidates: expected a list of label vectors for each sample, .* none"),
        (lambda: Sigma.from_candidates(3, 3), "candidates: expected a list of label vectors"),  # type: ignore[arg-type]
        (lambda: Sigma.from_candidates([[(0, 1)], []], 3), r"candidates\[1\]: expected at least one label vector"),
        (lambda: Sigma.from_candidates([[(0, 1), (2,)]], 3), r"candidates\[0\]: .* got rows of different lengths"),
        (lambda: Sigma.from_candidates([[(0, 3)]], 3), r"candidates\[0\]: expected .* integers 0 to 2, .* got 3"),
        (lambda: Sigma.from_candidates([[(0, 0.5)]], 3), r"candidates\[0\]: .* got dtype float64"),
        (lambda: Sigma.from_candidates([[()]], 3), r"candidates\[0\]: .* got shape \[1, 0\]"),
        (lambda: Sigma.from_candidates([(0, 1)], 3), r"candidates\[0\]: .* got shape \[2\]"),
        (lambda: Sigma.from_candidates([[(0, 1)]], 0), "num_classes: expected an integer of at least 1"),
        (lambda: Sigma.from_candidates([[(0, 1)]], 3).encode([[(1, 1)]]), "values: expected a member of the family"),
        (lambda: Sigma.from_candidates([[(0, 1)]], 3).encode([[]]), r"values\[0\]: expected at least one label vector"),
        (lambda: Sigma.from_candidates([[(0, 1)]], 3).encode("ab"), "values: expected a sequence of lists"),
    ],
)
def test_what_does_not_fit_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()
