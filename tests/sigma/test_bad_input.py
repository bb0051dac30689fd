"""Scores, labels and weak labels that do not fit: each refused with the argument's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput, NslimbError

SIGMA = nslimb.sigma.maximum(arity=2, num_classes=3)
GOOD = torch.zeros(4, 2, 3).log_softmax(-1)


def with_value(value: float) -> torch.Tensor:
    scores = GOOD.clone()
    scores[1, 0, 2] = value
    return scores


CALLS: dict[str, Callable[[Any], Any]] = {
    "log_prob": SIGMA.log_prob,
    "log_mass": lambda scores: SIGMA.log_mass(scores, 2),
    "posterior": lambda scores: SIGMA.posterior(scores, [0, 0, 0, 0]),
    "best": lambda scores: SIGMA.best(scores, [0, 0, 0, 0], 1),
    "semantic_loss": lambda scores: nslimb.semantic_loss(scores, [0, 0, 0, 0], SIGMA),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("scores", "given"),
    [
        (GOOD.numpy(), "an object of type ndarray"),
        (GOOD.half(), "dtype torch.float16"),
        (GOOD.long(), "dtype torch.int64"),
        (GOOD[0], r"shape \[2, 3\]"),
        (GOOD[:, :1], r"shape \[4, 1, 3\]"),
        (GOOD[:, :, :2], r"shape \[4, 2, 2\]"),
        (with_value(float("nan")), r"nan at index \[1, 0, 2\]"),
        (with_value(float("inf")), r"inf at index \[1, 0, 2\]"),
    ],
)
def test_bad_scores_are_refused(call: str, scores: Any, given: str) -> None:
    with pytest.raises(InvalidInput, match=f"log_scores: expected .* got {given}"):
        CALLS[call](scores)


WEAK_CALLS: dict[str, Callable[[Any], Any]] = {
    "posterior": lambda weak: SIGMA.posterior(GOOD, weak),
    "best": lambda weak: SIGMA.best(GOOD, weak, 1),
    "semantic_loss": lambda weak: nslimb.semantic_loss(GOOD, weak, SIGMA),
}


@pytest.mark.parametrize("call", WEAK_CALLS)
@pytest.mark.parametrize(
    ("weak", "given"),
    [
        ([0, 1, 2], r"shape \[3\]"),
        ([[0], [1], [2], [0]], r"shape \[4, 1\]"),
        ([0, 1, 2, 3], "3"),
        ([0, 1, 2, -1], "-1"),
        ([0.0, 1.0, 2.0, 0.0], "dtype float64"),
        (torch.ones(4, dtype=torch.bool), "dtype torch.bool"),
        (["a", "b", "c", "a"], "dtype <U1"),
        ([[0], [1, 2], [0], [0]], "rows of different lengths"),
        ("0120", "an object of type str"),
        (None, "an object of type NoneType"),
    ],
)
def test_bad_weak_labels_are_refused(call: str, weak: Any, given: str) -> None:
    with pytest.raises(InvalidInput, match=rf"weak: expected 4 integers, .*\(0 to 2\), got {given}"):
        WEAK_CALLS[call](weak)


@pytest.mark.parametrize(
    "weak",
    [
        [0, 1, 2, 0],
        (0, 1, 2, 0),
        np.array([0, 1, 2, 0], np.int32),
        np.array([0, 2, 1, 0])[::-1],
        np.array([0, 1, 2, 0], ">i4"),
        np.broadcast_to(np.int64(1), 4),
        torch.tensor([0, 1, 2, 0]).byte(),
    ],
)
def test_weak_labels_come_in_any_integer_form(weak: Any) -> None:
    assert SIGMA.posterior(GOOD, weak).shape == GOOD.shape


@pytest.mark.parametrize(
    ("labels", "given"),
    [
        ([[0, 1, 2]], r"shape \[1, 3\]"),
        (np.array(1), r"shape \[\]"),
        ([0, 3], "3"),
        ([-1, 0], "-1"),
        ([0.5, 0.5], "dtype float64"),
    ],
)
def test_bad_labels_are_refused(labels: Any, given: str) -> None:
    with pytest.raises(InvalidInput, match=rf"labels: expected integers 0 to 2 of shape \[..., 2\], got {given}"):
        SIGMA.apply(labels)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
def test_k_must_count(k: Any) -> None:
    with pytest.raises(InvalidInput, match="k: expected an integer of at least 1"):
        SIGMA.best(GOOD, [0, 0, 0, 0], k)


@pytest.mark.parametrize("proofs", [0, -3, 2.0])
def test_proofs_must_count(proofs: Any) -> None:
    with pytest.raises(InvalidInput, match="proofs: expected an integer of at least 1"):
        nslimb.semantic_loss(GOOD, [0, 0, 0, 0], SIGMA, proofs=proofs)


@pytest.mark.parametrize(
    ("option", "value", "known"), [("form", "mse", "one of nll, bce"), ("engine", "prolog", r"'\w+' or '\w+'")]
)
def test_unknown_choices_list_what_exists(option: str, value: str, known: str) -> None:
    with pytest.raises(InvalidInput, match=rf"{option}: expected {known}, got '{value}'"):
        nslimb.semantic_loss(GOOD, [0, 0, 0, 0], SIGMA, **{option: value})  # type: ignore[arg-type]


def test_weak_labels_that_sigma_cannot_produce_are_named() -> None:
    sigma = nslimb.sigma.formula(3)
    assert sigma.encode(torch.tensor([-9, 81])).tolist() == [0, len(sigma.weak_labels) - 1]
    with pytest.raises(
        InvalidInput, match=r"values: expected a sequence of weak labels of sigma \(-9, .*, \.\.\.\), got 82"
    ):
        sigma.encode([81, 82])
    for bad in (3, [[3]], torch.zeros(2, 2)):
        with pytest.raises(InvalidInput, match="values: expected a sequence of weak labels"):
            sigma.encode(bad)  # type: ignore[arg-type]


def test_what_is_no_sigma_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"sigma: expected a Sigma .* got an object of type builtin_function"):
        nslimb.semantic_loss(GOOD, [0, 0, 0, 0], max)  # type: ignore[arg-type]


def test_unknown_names_list_what_exists() -> None:
    with pytest.raises(AttributeError, match=r"no attribute 'sgima'; it has .*Sigma"):
        nslimb.sgima  # noqa: B018


def test_errors_are_one_family() -> None:
    with pytest.raises(NslimbError):
        Sigma.from_function(max, 0, 0)
    with pytest.raises(ValueError, match="num_classes"):
        Sigma.from_function(max, 0, 0)
