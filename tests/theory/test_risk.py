"""The partial risk, its gradient and the matrix Sigma_{sigma,r} against listing all pairs of label vectors."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from oracles import tables
from problems import listed_partial_risk, random_confusion, random_ratios

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput, TooLarge
from nslimb.theory import partial_risk, risk_matrix


@given(st.data())
def test_partial_risk_is_what_listing_gives(data: st.DataObject) -> None:
    sigma = data.draw(tables(max_classes=4, max_vectors=260))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    ratios = random_ratios(rng, sigma.num_classes)
    confusion = np.stack([random_confusion(rng, sigma.num_classes) for _ in range(3)])
    expected = [listed_partial_risk(sigma, ratios, matrix) for matrix in confusion]
    np.testing.assert_allclose(partial_risk(sigma, ratios, confusion), expected, atol=1e-12)


@given(tables(max_arity=2, max_classes=5).filter(lambda sigma: sigma.arity == 2), st.integers(0, 2**32 - 1))
def test_sigma_matrix_is_the_sum_of_the_paper(sigma: Sigma, seed: int) -> None:
    """Entry by entry, with the sum of eq. (1) over (i, j, i', j') made symmetric."""
    c = sigma.num_classes
    rng = np.random.default_rng(seed)
    ratios = random_ratios(rng, c)
    weak = [[int(sigma.apply([i, j])) for j in range(c)] for i in range(c)]
    valid = sum(ratios[i] * ratios[j] for i in range(c) for j in range(c) if weak[i][j] >= 0)
    expected = np.zeros((c, c, c, c))
    for i, seen_i, j, seen_j in np.ndindex(c, c, c, c):
        if weak[i][j] >= 0 and weak[i][j] != weak[seen_i][seen_j]:
            expected[i, seen_i, j, seen_j] = ratios[i] * ratios[j] / valid
    expected = expected.reshape(c * c, c * c)
    matrix = risk_matrix(sigma, ratios)
    np.testing.assert_allclose(matrix, (expected + expected.T) / 2, atol=1e-14)
    h = random_confusion(rng, c).reshape(-1)
    assert h @ matrix @ h == pytest.approx(listed_partial_risk(sigma, ratios, h.reshape(c, c)), abs=1e-12)


@pytest.mark.parametrize("sigma", [nslimb.sigma.maximum(3, num_classes=3), nslimb.sigma.counterexample()], ids=repr)
def test_gradient(sigma: Sigma) -> None:
    c = sigma.num_classes
    logits = torch.randn(2, c, c, dtype=torch.float64, generator=torch.Generator().manual_seed(0), requires_grad=True)
    ratios = random_ratios(np.random.default_rng(1), c)
    assert torch.autograd.gradcheck(lambda x: partial_risk(sigma, ratios, x.softmax(-1)), logits)


def test_invalid_predictions_are_wrong_and_invalid_labels_do_not_occur() -> None:
    """HWF-3: an operator read as a digit spoils every formula; what stands at the wrong place is never asked."""
    sigma = nslimb.sigma.formula(arity=3)
    confusion = np.eye(13)
    confusion[10:, :] = np.eye(13)[0]
    assert partial_risk(sigma, np.full(13, 1 / 13), confusion) == pytest.approx(1.0, abs=1e-12)
    assert partial_risk(sigma, np.full(13, 1 / 13), np.eye(13)) == pytest.approx(0.0, abs=1e-12)


def test_long_sums_need_no_listing() -> None:
    """SUM of 20 digits of which a share of the zeros is read as ones: right only if no zero is."""
    sigma, confusion = nslimb.sigma.total(20), np.eye(10)
    confusion[0, :2] = 0.9, 0.1
    expected = 1 - (1 - 0.1 * 0.1) ** 20
    assert partial_risk(sigma, np.full(10, 0.1), confusion) == pytest.approx(expected, abs=1e-12)


def test_the_form_of_the_answer_follows_the_question() -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=2)
    assert isinstance(partial_risk(sigma, [0.5, 0.5], np.eye(2)), float)
    assert partial_risk(sigma, [0.5, 0.5], np.zeros((0, 2, 2)) + np.eye(2)).shape == (0,)
    assert partial_risk(sigma, [0.5, 0.5], torch.eye(2, dtype=torch.float64).expand(4, 3, 2, 2)).shape == (4, 3)


@pytest.mark.parametrize(
    ("confusion", "message"),
    [
        (np.eye(3), r"shape \[\.\.\., 2, 2\].*got shape \[3, 3\]"),
        ([[1.0, 0.5], [0.0, 1.0]], "sum to 1"),
        ([[1.5, -0.5], [0.0, 1.0]], "at least 0"),
        ([[np.nan, 1.0], [0.0, 1.0]], "at least 0"),
        ("abc", "no numbers"),
        (torch.eye(2), "double precision"),
    ],
)
def test_bad_confusion_matrices_are_refused(confusion: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        partial_risk(nslimb.sigma.maximum(2, num_classes=2), [0.5, 0.5], confusion)


def test_what_is_no_pair_has_no_matrix() -> None:
    with pytest.raises(InvalidInput, match="arity 2"):
        risk_matrix(nslimb.sigma.maximum(3), np.full(10, 0.1))
    with pytest.raises(InvalidInput, match="arity 1"):
        risk_matrix(Sigma.from_function(max, 3, 1), np.full(3, 1 / 3))
    with pytest.raises(InvalidInput, match="at least 2 classes"):
        partial_risk(Sigma.from_function(max, 1, 2), [1.0], np.eye(1))
    with pytest.raises(TooLarge, match="pairs of states"):
        partial_risk(nslimb.sigma.formula(7), np.full(13, 1 / 13), np.eye(13))
    only_zero = Sigma.from_function(lambda y: 1 if y == (0, 0) else None, 2, 2)
    with pytest.raises(InvalidInput, match="every one impossible"):
        partial_risk(only_zero, [0.0, 1.0], np.eye(2))
