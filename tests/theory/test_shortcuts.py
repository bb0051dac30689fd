"""Shortcuts against brute force over all maps of the classes, and the counts that are known."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import oracles
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma
from nslimb.errors import InvalidInput, TooLarge
from nslimb.sigma import family, formula, maximum, total
from nslimb.theory import consistent, contradictions

MODULE = importlib.import_module("nslimb.theory.shortcuts")  # the package has a function of that name
Weights = dict[tuple[int, ...], float]


def by_brute_force(
    tables: list[tuple[int, Callable[[tuple[int, ...]], Any]]], weights: Weights, size: int
) -> dict[tuple[int, ...], float]:
    """The probability that a label vector contradicts a map, given a valid one, for every map of what occurs.

    ``tables`` holds the arity and the function of each member, which have equal shares.
    """
    there = {y: w for y, w in weights.items() if w > 0 and any(f(y[:n]) is not None for n, f in tables)}
    classes = sorted({label for y in there for label in y})
    found = {}
    for values in product(range(size), repeat=len(classes)):
        tau = dict(zip(classes, values, strict=True))
        shares = []
        for n, f in tables:
            valid = {y: w for y, w in there.items() if f(y[:n]) is not None}
            if valid:
                wrong = sum(w for y, w in valid.items() if f(tuple(tau[label] for label in y[:n])) != f(y[:n]))
                shares.append(wrong / sum(valid.values()))
        found[tuple(tau.get(i, -1) for i in range(size))] = float(np.mean(shares))
    return found


def check(found: nslimb.theory.Shortcuts, expected: list[tuple[int, ...]], ratios: np.ndarray) -> None:
    """Everything that follows from the list of kept maps, written out once more."""
    size = len(ratios)
    assert [tuple(row) for row in found.maps.tolist()] == sorted(expected)
    assert found.count == len(expected)
    assert found.complete
    classes = [i for i in range(size) if expected[0][i] >= 0]
    ratios = np.array([ratios[i] if i in classes else 0.0 for i in range(size)])
    ratios = ratios / ratios.sum()
    shares = np.full((size, size), np.nan)
    for i in classes:
        shares[i] = [np.mean([tau[i] == j for tau in expected]) for j in range(size)]
    np.testing.assert_allclose(found.by_class, shares)
    assert found.safe == tuple(i for i in classes if all(tau[i] == i for tau in expected))
    wrong = {tau: sum(ratios[i] for i in classes if tau[i] != i) for tau in sorted(expected)}
    worst = [tau for tau in sorted(expected) if wrong[tau] >= max(wrong.values()) - 1e-12]
    assert tuple(found.worst.tolist()) == worst[0]
    distances = []
    for tau in sorted(expected):
        pushed = np.zeros(size)
        for i in classes:
            pushed[tau[i]] += ratios[i]
        distances.append(np.abs(pushed - ratios).sum() / 2)
    np.testing.assert_allclose(found.distance, distances, atol=1e-12)
    kept = [tau for tau, distance in zip(sorted(expected), distances, strict=True) if distance <= 1e-6]
    assert [tuple(row) for row in found.preserving.tolist()] == kept
    lost = {i for tau in expected for i in classes if (ratios[tau[i]], tau[i]) > (ratios[i], i)}
    assert found.ceiling == pytest.approx(sum(ratios[i] for i in classes if i not in lost))


def draw_weights(sigma: Sigma, rng: np.random.Generator) -> tuple[Weights, np.ndarray]:
    """Independent labels, and their ratios, of which some may be 0."""
    ratios = rng.dirichlet(np.ones(sigma.num_classes)) * (rng.random(sigma.num_classes) < 0.85)
    ratios = ratios / ratios.sum() if ratios.sum() > 0 else np.full(sigma.num_classes, 1 / sigma.num_classes)
    weights = {tuple(y): float(np.prod(ratios[y])) for y in oracles.all_vectors(sigma).tolist()}
    return weights, ratios


@given(oracles.tables(max_arity=3, max_classes=4, max_vectors=80), st.integers(0, 2**32 - 1), st.booleans())
def test_all_valid_vectors(sigma: Sigma, seed: int, uniform: bool) -> None:
    weights, ratios = draw_weights(sigma, np.random.default_rng(seed))
    if uniform:
        ratios = np.full(sigma.num_classes, 1 / sigma.num_classes)
        weights = dict.fromkeys(weights, 1.0)
    function = sigma.options["function"]
    assume(any(w > 0 and function(y) is not None for y, w in weights.items()))
    masses = by_brute_force([(sigma.arity, function)], weights, sigma.num_classes)
    found = nslimb.shortcuts(sigma, ratios=None if uniform else ratios)
    check(found, [tau for tau, mass in masses.items() if mass == 0], ratios)


@pytest.mark.parametrize("seed", range(6))
def test_five_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(2, size=(5, 5))
    if seed % 2:
        table = table | table.T

    def function(y: tuple[int, ...]) -> int:
        return int(table[y])

    sigma = Sigma.from_function(function, 5, 2)
    uniform = np.full(5, 0.2)
    masses = by_brute_force([(2, function)], dict.fromkeys(product(range(5), repeat=2), 0.04), 5)
    check(nslimb.shortcuts(sigma), [tau for tau, mass in masses.items() if mass == 0], uniform)
    found = nslimb.shortcuts(sigma, samples=10, budget=1)
    check(found, [tau for tau, mass in masses.items() if 10 * mass <= 1 + 1e-9], uniform)
    support = list(product(range(5), repeat=2))[:: 2 + seed % 3]
    masses = by_brute_force([(2, function)], dict.fromkeys(support, 1 / len(support)), 5)
    ratios = np.bincount(np.ravel(support), minlength=5) / (2 * len(support))
    check(nslimb.shortcuts(sigma, support), [tau for tau, mass in masses.items() if mass == 0], ratios)


@given(
    oracles.tables(max_arity=3, max_classes=4, max_vectors=80),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0, 0.5, 1, 3]),
    st.sampled_from([3, 30]),
)
def test_a_number_of_samples_and_a_budget(sigma: Sigma, seed: int, budget: float, samples: int) -> None:
    weights, ratios = draw_weights(sigma, np.random.default_rng(seed))
    function = sigma.options["function"]
    assume(any(w > 0 and function(y) is not None for y, w in weights.items()))
    masses = by_brute_force([(sigma.arity, function)], weights, sigma.num_classes)
    assume(not any(0 < abs(samples * mass - budget) < 1e-6 for mass in masses.values()))
    found = nslimb.shortcuts(sigma, ratios=ratios, samples=samples, budget=budget)
    check(found, [tau for tau, mass in masses.items() if samples * mass <= budget], ratios)


@given(
    oracles.tables(max_arity=3, max_classes=4, max_vectors=80),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["rows", "mapping"]),
    st.sampled_from([None, 0.5, 2]),
    st.booleans(),
    st.booleans(),
)
def test_listed_support(
    sigma: Sigma, seed: int, form: str, budget: float | None, with_ratios: bool, by_search: bool
) -> None:
    rng = np.random.default_rng(seed)
    function, everything = sigma.options["function"], oracles.all_vectors(sigma)
    rows = everything[rng.integers(len(everything), size=rng.integers(1, 7))]
    weights: Weights = {}
    for y in map(tuple, rows.tolist()):
        weights[y] = weights.get(y, 0) + 1 / len(rows)
    if form == "mapping":
        values = rng.dirichlet(np.ones(len(weights))) * (rng.random(len(weights)) < 0.8)
        assume(values.sum() > 0)
        weights = dict(zip(weights, (values / values.sum()).tolist(), strict=True))
    given_ratios = None
    assume(any(w > 0 and function(y) is not None for y, w in weights.items()))
    support = rows if form == "rows" else weights
    there = {y: w for y, w in weights.items() if w > 0 and function(y) is not None}
    if with_ratios:  # others than those of the support, of the same classes
        occurring = np.isin(np.arange(sigma.num_classes), list(there))
        given_ratios = (0.1 + rng.random(sigma.num_classes)) * occurring
        given_ratios /= given_ratios.sum()
    ratios = np.zeros(sigma.num_classes)
    for y, w in there.items():
        np.add.at(ratios, list(y), w)
    masses = by_brute_force([(sigma.arity, function)], there, sigma.num_classes)
    counted = {} if budget is None else {"samples": 7, "budget": budget}
    assume(not any(0 < abs(7 * mass - (budget or 0)) < 1e-6 for mass in masses.values()))
    with pytest.MonkeyPatch.context() as patch:
        if by_search:
            patch.setattr(MODULE, "_MAX_CONSTRAINTS", 0)
        found = nslimb.shortcuts(sigma, support, ratios=given_ratios, **counted)
    kept = [tau for tau, mass in masses.items() if (mass == 0 if budget is None else 7 * mass <= budget)]
    check(found, kept, ratios if given_ratios is None else given_ratios)


@settings(max_examples=50)
@given(
    oracles.tables(max_arity=3, max_classes=3, max_vectors=30),
    oracles.tables(max_arity=3, max_classes=3, max_vectors=30),
    st.integers(0, 2**32 - 1),
    st.sampled_from([None, 0.5, 2]),
    st.booleans(),
)
def test_a_family_is_explained_member_by_member(
    one: Sigma, two: Sigma, seed: int, budget: float | None, listed: bool
) -> None:
    assume(one.num_classes == two.num_classes)
    rng = np.random.default_rng(seed)
    both = family({"one": one, "two": two})
    tables = [(sigma.arity, sigma.options["function"]) for sigma in (one, two)]
    counted = {} if budget is None else {"samples": 7, "budget": budget}
    everything = oracles.all_vectors(both)
    rows = everything[rng.integers(len(everything), size=5)] if listed else everything
    weights: Weights = {}
    for y in map(tuple, rows.tolist()):
        weights[y] = weights.get(y, 0) + 1 / len(rows)
    there = {y: w for y, w in weights.items() if any(f(y[:n]) is not None for n, f in tables)}
    assume(there)
    masses = by_brute_force(tables, there, both.num_classes)
    assume(not any(0 < abs(7 * mass - (budget or 0)) < 1e-6 for mass in masses.values()))
    kept = [tau for tau, mass in masses.items() if (mass == 0 if budget is None else 7 * mass <= budget)]
    ratios = np.zeros(both.num_classes)
    for y, w in there.items():
        np.add.at(ratios, list(y), w)
    if not listed:
        ratios = np.full(both.num_classes, 1 / both.num_classes)
        occurring = set(nslimb.shortcuts(both, **counted).maps[0].tolist()) - {-1}
        assume(occurring == set(range(both.num_classes)))  # brute force counts labels at positions a member lacks
    found = nslimb.shortcuts(both, rows if listed else None, **counted)
    check(found, kept, ratios)


@settings(max_examples=50)
@given(st.integers(0, 2**32 - 1), st.sampled_from([None, 0.5, 2]))
def test_ratios_and_orders_by_position(seed: int, budget: float | None) -> None:
    rng = np.random.default_rng(seed)
    ratios = rng.dirichlet(np.ones(3), size=3) * (rng.random((3, 3)) < 0.8)
    assume((ratios.sum(axis=1) > 0).all())
    ratios = ratios / ratios.sum(axis=1, keepdims=True)
    weights = rng.integers(-2, 3, size=3).tolist()

    def function(y: tuple[int, ...]) -> int:
        return sum(w * v for w, v in zip(weights, y, strict=True)) % 4

    sigma = Sigma.from_expression(function, [3] * 3, order=[2, 0, 1])
    chances = {y: float(np.prod(ratios[range(3), y])) for y in product(range(3), repeat=3)}
    masses = by_brute_force([(3, function)], chances, 3)
    assume(not any(0 < abs(7 * mass - (budget or 0)) < 1e-6 for mass in masses.values()))
    found = nslimb.shortcuts(sigma, ratios=ratios, **({} if budget is None else {"samples": 7, "budget": budget}))
    kept = [tau for tau, mass in masses.items() if (mass == 0 if budget is None else 7 * mass <= budget)]
    check(found, kept, ratios.mean(axis=0))
    maps = [tau for tau in masses if -1 not in tau]
    if maps:
        evidence = nslimb.theory.reading_evidence(sigma, ratios, maps, samples=7)
        np.testing.assert_allclose(evidence, [7 * masses[tau] for tau in maps], atol=1e-12)


def both_ways(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return pairs + [(b, a) for a, b in pairs]


EVEN_ODD = both_ways([(0, 6), (2, 8), (4, 6), (4, 8), (1, 5), (3, 7), (1, 9), (3, 9)])
HALF = both_ways([(0, 0), (0, 1), (2, 3), (2, 4)])


@pytest.mark.parametrize("constraints", [0, 1_000], ids=["search", "combine"])
def test_even_odd_has_36_shortcuts(monkeypatch: pytest.MonkeyPatch, constraints: int) -> None:
    monkeypatch.setattr(MODULE, "_MAX_CONSTRAINTS", constraints)
    found = nslimb.shortcuts(total(2), EVEN_ODD)
    assert (found.count, len(found.preserving), found.safe) == (36, 2, ())
    # With a class 10 to read things as there are the 49 = 7 x 7 that others have counted.
    assert nslimb.shortcuts(total(2, 11), EVEN_ODD).count == 49


def test_maps_within_the_tolerance_keep_the_ratios() -> None:
    found = nslimb.shortcuts(total(2), HALF)
    assert found.distance.min() == 0  # of the identity
    levels = np.unique(found.distance.round(9))
    assert len(levels) > 2
    for level in levels:
        kept = nslimb.shortcuts(total(2), HALF, tolerance=float(level) + 1e-6).preserving
        np.testing.assert_array_equal(kept, found.maps[found.distance <= level + 1e-6])
    assert len(kept) == found.count


@pytest.mark.parametrize(("classes", "count"), [(5, 3), (10, 6)])
def test_half_has_3_shortcuts_and_with_ten_digits_6(classes: int, count: int) -> None:
    found = nslimb.shortcuts(total(2, classes), HALF)
    assert (found.count, found.safe) == (count, (0, 1))
    assert (found.maps[:, 5:] == -1).all()
    assert np.isnan(found.by_class[5:]).all()


def test_mnmath_has_none_and_each_equation_one() -> None:
    add = Sigma.from_expression(lambda y: y[0] + y[1] == y[2] + y[3], [10] * 4)
    multiply = Sigma.from_expression(lambda y: y[0] * y[1] == y[2] * y[3], [10] * 4)
    assert nslimb.shortcuts(add).maps.tolist() == [list(range(10)), list(range(9, -1, -1))]
    assert nslimb.shortcuts(multiply).worst.tolist() == [0, 1, 2, 3, 4, 7, 6, 5, 8, 9]
    assert nslimb.shortcuts(multiply).count == 2
    both = Sigma.from_expression(lambda y: (y[0] + y[1] == y[2] + y[3], y[4] * y[5] == y[6] * y[7]), [10] * 8)
    assert nslimb.shortcuts(both).count == 1
    assert nslimb.shortcuts(family({"add": add, "multiply": multiply})).count == 1


@pytest.mark.parametrize(("arity", "count"), [(3, 1), (4, 3), (5, 11)])
def test_maxima_in_3000_samples(arity: int, count: int) -> None:
    found = nslimb.shortcuts(maximum(arity), samples=3000, budget=1)
    assert found.count == count
    swapped = [1, 0, *range(2, 10)] in found.maps.tolist()
    assert swapped == (arity > 3)
    maps = found.maps
    evidence = nslimb.theory.reading_evidence(maximum(arity), [0.1] * 10, maps, samples=3000)
    assert (evidence <= 1 + 1e-9).all()


def test_a_formula_pins_its_symbols_down() -> None:
    found = nslimb.shortcuts(formula(3))
    assert found.count == 1
    only_plus = nslimb.shortcuts(formula(3), ratios=[0.09] * 10 + [0.1, 0, 0])
    assert only_plus.count == 1
    assert only_plus.maps[0].tolist() == [*range(10), 10, -1, -1]


def test_transducers_are_listed() -> None:
    assert nslimb.shortcuts(nslimb.sigma.addition(1)).count == nslimb.shortcuts(total(2)).count == 1


@pytest.mark.parametrize("listed", [True, False])
def test_over_the_limit_the_count_is_a_lower_bound(listed: bool) -> None:
    nothing = Sigma.from_function(lambda y: 0, 5, 2)  # all 5 ** 5 maps explain it
    support = list(product(range(5), repeat=2)) if listed else None
    everything = nslimb.shortcuts(nothing, support, limit=5**5)
    assert (everything.count, everything.complete) == (5**5, True)
    np.testing.assert_allclose(everything.by_class, 0.2)
    some = nslimb.shortcuts(nothing, support, limit=100)
    assert not some.complete
    assert some.count > 100
    assert some.by_class is None
    assert some.safe == ()
    assert len(some.maps) == len(some.distance) == 100
    assert len(np.unique(some.maps, axis=0)) == 100
    assert some.maps.min() >= 0


def test_a_search_that_takes_too_long_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consistent, "_MAX_LOOKED_AT", 10)
    found = nslimb.shortcuts(total(2, 6))
    assert (found.count, found.complete) == (1, False)
    assert found.maps.tolist() == [[0, 1, 2, 3, 4, 5]]  # of which one knows without looking


def test_constraints_that_become_too_wide_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consistent, "MAX_STATES", 20)
    assert nslimb.shortcuts(total(2), EVEN_ODD).count == 36


def test_large_batches_of_maps_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = nslimb.shortcuts(maximum(4, 6), samples=300, budget=1).maps
    monkeypatch.setattr(contradictions, "_AT_ONCE", 10)
    np.testing.assert_array_equal(nslimb.shortcuts(maximum(4, 6), samples=300, budget=1).maps, expected)
    support = list(product(range(4), repeat=2))
    few = nslimb.shortcuts(total(2), support, samples=4, budget=1)
    monkeypatch.setattr(contradictions, "_AT_ONCE", 2_000_000)
    np.testing.assert_array_equal(nslimb.shortcuts(total(2), support, samples=4, budget=1).maps, few.maps)
    monkeypatch.setattr(contradictions, "_MAX_AT_ONCE", 10)
    monkeypatch.setattr(contradictions, "_AT_ONCE", 10)
    with pytest.raises(TooLarge, match="edges between pairs of states, more than 10; list the label vectors"):
        nslimb.shortcuts(total(3))


SIGMA = total(2, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"support": [(0, 4)]}, "support: expected label vectors of 2 integers from 0 to 3, .* got 4"),
        ({"support": [(0, -1)]}, "support: expected label vectors of 2 integers from 0 to 3, .* got -1"),
        ({"support": [(0, 1, 2)]}, r"support: expected label vectors of 2 .* got shape \[1, 3\]"),
        ({"support": []}, r"support: expected label vectors .* got shape \[0\]"),
        ({"support": [(0, 1), (1,)]}, "support: .* got rows of different lengths"),
        ({"support": [(0, 0.5)]}, "support: .* got dtype float64"),
        ({"support": 3}, "support: .* got an object of type int"),
        ({"support": {(0, 1): 0.5, (1, 1): 0.4}}, "support: expected probabilities .* sum to 1, got a sum of 0.9"),
        ({"support": {(0, 1): 1.5, (1, 1): -0.5}}, "support: expected probabilities of at least 0"),
        ({"support": {(0, 1): "a"}}, "support: .* got probabilities that are no numbers"),
        ({"support": [(0, 1)], "ratios": [0, 0.5, 0.5, 0]}, "occur in the support, and 0 .* got 0 for class 0"),
        (
            {"support": [(0, 1)], "ratios": [0.25] * 4},
            "occur in the support, and 0 for the others, got 0.25 for class 2",
        ),
        ({"support": [(0, 1)], "ratios": [[0.5, 0.5, 0, 0], [1, 0, 0, 0]]}, "got 0 for class 1"),
        ({"ratios": [0.5, 0.5]}, "ratios: expected ratios of at least 0"),
        ({"samples": 0.5, "budget": -1}, "budget: expected a number of at least 0, got -1"),
        ({"samples": "many"}, "samples: expected a number of at least 0, got 'many'"),
        ({"samples": float("nan")}, "samples: expected a number of at least 0, got nan"),
        ({"budget": 1}, "samples: expected a number of samples for the budget, got None"),
        ({"tolerance": -1e-6}, "tolerance: expected a number of at least 0"),
        ({"limit": 0}, "limit: expected an integer of at least 1"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        nslimb.shortcuts(SIGMA, **arguments)


def test_ratios_by_position_beside_a_support() -> None:
    """The classes that occur may do so at other positions than the listed ones; the ratios are their mean."""
    found = nslimb.shortcuts(SIGMA, [(0, 1), (1, 0)], ratios=[[0.9, 0.1, 0, 0], [0.3, 0.7, 0, 0]])
    np.testing.assert_allclose(found.ratios, [0.6, 0.4, 0, 0])
    assert found.count == 2


def test_what_has_no_weak_label_is_refused() -> None:
    increasing = Sigma.from_function(lambda y: 0 if y[0] < y[1] else None, 3, 2)
    with pytest.raises(InvalidInput, match="support: expected a label vector with a weak label"):
        nslimb.shortcuts(increasing, [(1, 1), (2, 0)])
    with pytest.raises(InvalidInput, match="ratios: expected a weak label of probability above 0"):
        nslimb.shortcuts(increasing, ratios=[0, 1, 0])
    with pytest.raises(InvalidInput, match="sigma: expected a Sigma"):
        nslimb.shortcuts(max)  # type: ignore[arg-type]
