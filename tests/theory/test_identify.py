"""Identifiability: ranks against finite differences and listing, twins that are known, uniform weak labels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import all_vectors, tables, weak_table
from problems import random_ratios

import nslimb
from nslimb import Sigma, identifiability
from nslimb.errors import InvalidInput
from nslimb.theory import uniform_weak_ratios, weak_ratios


def listed_psi(sigma: Sigma, ratios: np.ndarray) -> np.ndarray:
    mass = ratios[all_vectors(sigma)].prod(axis=1)
    table = weak_table(sigma)
    psi = np.array([mass[table == s].sum() for s in range(len(sigma.weak_labels))])
    return psi / psi.sum()


@given(tables(max_classes=4, max_vectors=260), st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_singular_values_and_twins_against_listing(sigma: Sigma, seed: int) -> None:
    ratios = random_ratios(np.random.default_rng(seed), sigma.num_classes)
    np.testing.assert_allclose(weak_ratios(sigma, ratios), listed_psi(sigma, ratios), atol=1e-12)
    found = identifiability(sigma, ratios, starts=3)
    # Along e_a - mean: a set of generators of the tangent space with the same singular values as any orthonormal basis.
    c, step = sigma.num_classes, 1e-6
    slopes = [
        (listed_psi(sigma, ratios + step * d) - listed_psi(sigma, ratios - step * d)) / (2 * step)
        for d in np.eye(c) - 1 / c
    ]
    expected = np.zeros(c)
    values = np.linalg.svd(np.array(slopes), compute_uv=False)
    expected[: len(values)] = values
    np.testing.assert_allclose(found.singular_values, expected[: c - 1], atol=1e-7)
    assert found.locally_identifiable == (found.rank == c - 1)
    if found.twin is not None:
        assert found.twin.min() >= 0
        assert found.twin.sum() == pytest.approx(1, abs=1e-12)
        assert np.abs(found.twin - ratios).max() > 1e-4
        np.testing.assert_allclose(listed_psi(sigma, found.twin), listed_psi(sigma, ratios), atol=1e-11)
        assert found.twin_error <= 1e-12


@pytest.mark.parametrize("t", [0.3, 0.5, 0.65, 0.9])
def test_the_papers_counterexample_has_a_twin(t: float) -> None:
    found = identifiability(nslimb.sigma.counterexample(), [1 - t, t])
    assert found.locally_identifiable
    assert found.twin is not None

    def polynomial(t: float) -> float:
        return t**4 + 6 * t**2 * (1 - t) ** 2 + 4 * t * (1 - t) ** 3

    assert polynomial(found.twin[1]) == pytest.approx(polynomial(t), abs=1e-12)
    assert abs(found.twin[1] - t) > 0.01


def test_where_the_counterexample_is_injective_no_twin_is_found() -> None:
    """At t = 0.05 the polynomial is below its later minimum, so that it takes this value nowhere else."""
    found = identifiability(nslimb.sigma.counterexample(), [0.95, 0.05])
    assert found.twin is None
    assert np.isnan(found.twin_error)


def test_maximum_is_identifiable() -> None:
    """P(max <= k) = F(k)^M determines F."""
    for arity in (2, 5):
        found = identifiability(nslimb.sigma.maximum(arity))
        assert found.rank == 9
        assert found.twin is None


def test_classes_that_sigma_does_not_tell_apart() -> None:
    """sigma sees whether labels are 0; the shares of 1 and 2 are open, and a twin lies along that direction."""
    sigma = Sigma.from_function(lambda y: sum(label > 0 for label in y), 3, 2)
    found = identifiability(sigma, [0.5, 0.2, 0.3])
    assert found.rank == 1
    assert not found.locally_identifiable
    assert found.singular_values[1] == pytest.approx(0, abs=1e-12)
    assert found.twin is not None
    assert found.twin[0] == pytest.approx(0.5, abs=1e-12)


def test_mirror_twins() -> None:
    """Equal or not: r and 1 - r look the same; at r = 1/2 the rank falls and r is its own mirror image."""
    sigma = Sigma.from_function(lambda y: y[0] == y[1], 2, 2)
    found = identifiability(sigma, [0.3, 0.7])
    assert found.twin is not None
    np.testing.assert_allclose(found.twin, [0.7, 0.3], atol=1e-9)
    assert identifiability(sigma).rank == 0
    assert identifiability(sigma).twin is None


def test_digits_and_operators_of_formulas_are_known_apart() -> None:
    """Each among its kind: taken for one space, nothing says how frequent operators are, and there is a twin."""
    sigma = nslimb.sigma.formula(3)
    found = identifiability(sigma)
    assert (found.rank, len(found.singular_values), found.locally_identifiable, found.twin) == (11, 11, True, None)
    mixed = identifiability(sigma.with_spaces({"symbol": [0, 1, 2]}))
    assert (mixed.rank, len(mixed.singular_values)) == (11, 12)
    assert mixed.twin is not None


@pytest.mark.parametrize("arity", [2, 3, 5])
def test_uniform_weak_labels_of_maximum(arity: int) -> None:
    expected = np.diff((np.arange(11) / 10) ** (1 / arity))
    np.testing.assert_allclose(uniform_weak_ratios(nslimb.sigma.maximum(arity)), expected, atol=1e-10)


def test_sums_cannot_be_uniform() -> None:
    with pytest.raises(InvalidInput, match="whose weak labels are uniform for some ratios"):
        uniform_weak_ratios(nslimb.sigma.total(2, num_classes=3))


def test_bad_input() -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=2)
    with pytest.raises(InvalidInput, match="every ratio above 0"):
        identifiability(sigma, [0.0, 1.0])
    with pytest.raises(InvalidInput, match="tolerance: expected a number between 0 and 1"):
        identifiability(sigma, tolerance=0.0)
    with pytest.raises(InvalidInput, match="starts: expected an integer"):
        identifiability(sigma, starts=0)
    with pytest.raises(InvalidInput, match="sigma: expected a Sigma"):
        uniform_weak_ratios(max)  # type: ignore[arg-type]
