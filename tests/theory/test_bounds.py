"""Class risk bounds: never violated, certified, tight, and the paper's values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import tables
from problems import listed_partial_risk, random_confusion, random_ratios

import nslimb
from nslimb import Sigma, class_risk_bounds, total_risk_bound
from nslimb.errors import InvalidInput, TooLarge
from nslimb.theory import partial_risk
from nslimb.theory.agreement import Candidates
from nslimb.theory.certificate import ClassCertificate
from nslimb.theory.local import LocalSolver
from nslimb.theory.relaxation import Relaxation

UNIFORM = np.full(10, 0.1)
SEEDS = st.integers(0, 2**32 - 1)
# A sigma of up to 3 labels, some with label vectors without a weak label; the searches are for 2 or 3.
ANY = tables(max_arity=3, max_classes=4, max_vectors=64)
SMALL = ANY.filter(lambda sigma: sigma.arity > 1)


@given(ANY, SEEDS)
@settings(max_examples=40)
def test_no_classifier_violates_the_certified_bound(sigma: Sigma, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ratios = random_ratios(rng, sigma.num_classes)
    matrices = [random_confusion(rng, sigma.num_classes) for _ in range(4)]
    risks = np.array([listed_partial_risk(sigma, ratios, matrix) for matrix in matrices]).clip(0, 1)
    bounds = class_risk_bounds(sigma, ratios, risks)
    assert (bounds.status == "certified").all()
    for matrix, upper in zip(matrices, bounds.upper, strict=True):
        assert (1 - np.diag(matrix) <= upper + 1e-6).all()


@given(ANY, SEEDS)
@settings(max_examples=40)
def test_local_points_are_feasible_and_below_the_certificate(sigma: Sigma, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ratios, risks = random_ratios(rng, sigma.num_classes), np.sort(rng.random(3)) ** 3
    bounds = class_risk_bounds(sigma, ratios, risks)
    for k, j in np.ndindex(bounds.local.shape):
        matrix = bounds.confusion[k, j]
        assert matrix.min() >= 0
        np.testing.assert_allclose(matrix.sum(axis=1), 1, atol=1e-12)
        assert 1 - matrix[j, j] == pytest.approx(bounds.local[k, j], abs=1e-12)
        assert listed_partial_risk(sigma, ratios, matrix) <= risks[k] + 1e-9
    assert (bounds.gap >= 0).all()
    np.testing.assert_allclose(bounds.gap, bounds.upper - bounds.local, atol=1e-12)
    assert (np.diff(bounds.upper, axis=0) >= -1e-9).all(), "Phi rises with R_P"
    assert (np.diff(bounds.local, axis=0) >= -1e-9).all()


@given(tables(max_arity=2, max_classes=5).filter(lambda sigma: sigma.arity == 2), SEEDS)
@settings(max_examples=30)
def test_gaps_are_small_for_any_sigma_of_two_labels(sigma: Sigma, seed: int) -> None:
    ratios = random_ratios(np.random.default_rng(seed), sigma.num_classes)
    assert class_risk_bounds(sigma, ratios, [0.01, 0.05, 0.2]).gap.max() < 0.005


@given(SMALL, SEEDS)
@settings(max_examples=50)
def test_a_few_points_bound_all_risks(sigma: Sigma, seed: int) -> None:
    """Between its points the certificate rests on curvature alone; every H must still lie below it."""
    rng = np.random.default_rng(seed)
    ratios = random_ratios(rng, sigma.num_classes)
    label = int(rng.integers(sigma.num_classes))
    pairs = nslimb.theory.bounds._expected_pairs(sigma, ratios)[label]
    certificate = ClassCertificate(Relaxation(sigma, ratios), label, pairs)
    if rng.random() < 0.5:
        certificate.evaluate(float(rng.random()), target=1.0 if sigma.arity == 2 else -1.0)
    found = LocalSolver.of(sigma, ratios).solve(rng.random(5) ** 2)
    matrices = [random_confusion(rng, sigma.num_classes) for _ in range(20)] + list(found.confusion[:, label])
    for matrix in matrices:
        bound, _ = certificate.bound(listed_partial_risk(sigma, ratios, matrix) + 1e-9)
        assert 1 - matrix[label, label] <= bound + 1e-6


@pytest.mark.parametrize("arity", [2, 3])
@pytest.mark.parametrize("make", [nslimb.sigma.maximum, nslimb.sigma.total])
def test_one_program_bounds_a_whole_curve(make: Any, arity: int) -> None:
    """j seen as k with probability t, all else right, lies below what the program at t = 1 alone says."""
    sigma, ratios = make(arity, num_classes=4), np.array([0.1, 0.2, 0.3, 0.4])
    pairs = nslimb.theory.bounds._expected_pairs(sigma, ratios)
    slack = []
    for j, k in itertools.permutations(range(4), 2):
        certificate = ClassCertificate(Relaxation(sigma, ratios), j, pairs[j])
        for t in np.linspace(0, 1, 9):
            matrix = np.eye(4)
            matrix[j] = (1 - t) * np.eye(4)[j] + t * np.eye(4)[k]
            slack.append(certificate.bound(listed_partial_risk(sigma, ratios, matrix) + 1e-12)[0] - t)
    assert min(slack) > -1e-9


def test_the_curvature_is_exact_for_the_largest_class_of_max_2() -> None:
    """V_9(t) = (18 t + t^2) / 100: a nine seen as less is wrong with any of 9 others, or with another such nine."""
    certificate = ClassCertificate(Relaxation(nslimb.sigma.maximum(2), UNIFORM), 9, 2 * 0.1**2)
    for t in np.linspace(0.1, 1, 10):
        assert certificate.bound((18 * t + t**2) / 100)[0] == pytest.approx(t, abs=1e-8)


def test_cuts_of_constants_only_shift_the_bound() -> None:
    """With w_a(m) = u_a for all m, a cut is (w_0 + sum_a u_a)^2 whatever H is, and the bound falls by as much."""
    rng = np.random.default_rng(0)
    relaxation = Relaxation(nslimb.sigma.total(2, num_classes=3), np.array([0.2, 0.3, 0.5]))
    potentials, duals = relaxation.potentials_at(1, 0.4), rng.normal(size=len(relaxation.right))
    constant, by_class, multipliers = rng.normal(size=(4, 1)), rng.normal(size=(4, 3)), rng.random(4)
    cuts = np.concatenate([constant, np.repeat(by_class, 3, axis=1)], axis=1)
    plain = relaxation.bound(potentials, duals, relaxation.no_cuts(), np.zeros(0), 1)
    shifted = relaxation.bound(potentials, duals, cuts, multipliers, 1)
    squares = (constant[:, 0] + by_class.sum(axis=1)) ** 2
    assert shifted == pytest.approx(plain - multipliers @ squares, abs=1e-9)


@given(SMALL, SEEDS)
def test_the_bound_holds_whatever_the_solver_says(sigma: Sigma, seed: int) -> None:
    """Random dual values, cuts and multipliers give poor bounds, but never wrong ones."""
    rng = np.random.default_rng(seed)
    size = sigma.num_classes
    ratios = random_ratios(rng, size)
    relaxation = Relaxation(sigma, ratios)
    label, risk = int(rng.integers(size)), float(rng.random())
    scale = 10.0 ** rng.integers(-4, 2)
    duals = rng.normal(size=len(relaxation.right)) * scale
    cuts = rng.normal(size=(3 if sigma.arity == 2 else 0, 1 + size * size))
    multipliers = rng.random(len(cuts)) * scale
    floor = relaxation.bound(relaxation.potentials_at(label, risk), duals, cuts, multipliers, label)
    for _ in range(10):
        matrix = random_confusion(rng, size)
        rest = np.where(np.arange(size) == label, 0, matrix[label]) + 1e-12 * (np.arange(size) != label)
        matrix[label] = risk * rest / rest.sum()
        matrix[label, label] = 1 - risk
        directions = matrix.copy()
        directions[label] = np.where(np.arange(size) == label, 0, rest / rest.sum())
        squares = (cuts[:, 0] + cuts[:, 1:] @ directions.reshape(-1)) ** 2
        assert floor <= listed_partial_risk(sigma, ratios, matrix) - multipliers @ squares + 1e-9


@given(SMALL, SEEDS)
@settings(max_examples=30)
def test_pairs_of_positions_of_a_class(sigma: Sigma, seed: int) -> None:
    ratios = random_ratios(np.random.default_rng(seed), sigma.num_classes)
    vectors = np.indices((sigma.num_classes,) * sigma.arity).reshape(sigma.arity, -1).T
    weight = ratios[vectors].prod(axis=1) * (sigma.apply(vectors) >= 0)
    count = (vectors[:, :, None] == np.arange(sigma.num_classes)).sum(axis=1)
    expected = weight @ (count * (count - 1)) / weight.sum()
    np.testing.assert_allclose(nslimb.theory.bounds._expected_pairs(sigma, ratios), expected, atol=1e-12)


def test_known_values_of_max_2() -> None:
    bounds = class_risk_bounds(nslimb.sigma.maximum(2), UNIFORM, [0.01, 0.05])
    for values in (bounds.local, bounds.upper):
        assert values[0, [0, 1]].round(3).tolist() == [1.000, 0.414]
        assert values[1, [5, 9]].round(3).tolist() == [0.477, 0.274]


def test_certificate_of_max_2_is_tight() -> None:
    bounds = class_risk_bounds(nslimb.sigma.maximum(2), UNIFORM, [0.01, 0.05, 0.1])
    assert bounds.gap.max() < 1e-6
    ratios = nslimb.theory.uniform_weak_ratios(nslimb.sigma.maximum(2))
    assert class_risk_bounds(nslimb.sigma.maximum(2), ratios, [0.01, 0.05, 0.1]).gap.max() < 2e-6


def test_certificate_of_three_labels() -> None:
    sigma = nslimb.sigma.maximum(3, num_classes=5)
    bounds = class_risk_bounds(sigma, np.full(5, 0.2), 0.01)
    assert (bounds.status == "certified").all()
    assert np.median(bounds.gap) < 1e-5


def test_closed_form_for_class_zero_of_max() -> None:
    """Phi_0(R) = 1 - (1 - R / r_0^M)^(1/M) for R <= r_0^M, and 1 above.

    (0, ..., 0) is the only label vector of weak label 0, so it is right only if every zero is seen as zero. Hence
    R_P >= r_0^M (1 - (1 - t)^M) with t the risk of class 0. Seeing zeros as ones, and all else right, reaches it: any
    other label vector has a larger label that still decides.
    """
    for arity in (2, 3):
        risks = np.linspace(0, 1.5, 7) * 0.1**arity
        expected = 1 - (1 - np.minimum(risks / 0.1**arity, 1)) ** (1 / arity)
        bounds = class_risk_bounds(nslimb.sigma.maximum(arity), UNIFORM, risks, certify=False)
        np.testing.assert_allclose(bounds.local[:, 0], expected, atol=1e-5)
    risks = np.linspace(0, 0.015, 7)
    bounds = class_risk_bounds(nslimb.sigma.maximum(2), UNIFORM, risks)
    np.testing.assert_allclose(bounds.upper[:, 0], 1 - np.sqrt(1 - np.minimum(risks / 0.01, 1)), atol=1e-5)


def test_tighter_than_proposition_3() -> None:
    sigma, risks = nslimb.sigma.maximum(2), np.linspace(0.0005, 0.02, 6)
    upper = class_risk_bounds(sigma, UNIFORM, risks).upper
    assert (upper @ UNIFORM < total_risk_bound(sigma, risks)).all()
    # Proposition 3's own argument for one class alone: r_j R_j <= sqrt((c - 1) R_P).
    assert (upper * UNIFORM <= np.sqrt(9 * risks)[:, None] + 1e-6).all()


def test_the_inequality_is_the_papers_equality() -> None:
    """Below 1 the constraint is active. At 1, some H as wrong on class j has any larger partial risk up to W(1)."""
    sigma, risks = nslimb.sigma.maximum(2), np.linspace(0.002, 0.2, 12)
    bounds = class_risk_bounds(sigma, UNIFORM, risks, certify=False)
    reached = partial_risk(sigma, UNIFORM, bounds.confusion)
    below = bounds.local < 1
    assert below.any()
    assert not below.all()
    np.testing.assert_allclose(reached[below], np.broadcast_to(risks[:, None], below.shape)[below], atol=1e-9)
    for k, j in np.argwhere(~below):
        low, worst = bounds.confusion[k, j], np.eye(10)[(np.arange(10) + 5) % 10]
        assert partial_risk(sigma, UNIFORM, worst) > 0.2 >= risks[k]
        left, right = 0.0, 1.0
        for _ in range(60):
            middle = (left + right) / 2
            enough = partial_risk(sigma, UNIFORM, (1 - middle) * low + middle * worst) >= risks[k]
            left, right = (left, middle) if enough else (middle, right)
        mixed = (1 - right) * low + right * worst
        assert partial_risk(sigma, UNIFORM, mixed) == pytest.approx(risks[k], abs=1e-9)
        assert mixed[j, j] == pytest.approx(0, abs=1e-9)


def test_where_the_paper_has_no_solution_the_inequality_has() -> None:
    """A constant sigma never errs: R_P = 0.1 is impossible as an equality, and any H is allowed by the inequality."""
    bounds = class_risk_bounds(Sigma.from_function(lambda y: 0, 3, 2), np.full(3, 1 / 3), [0.0, 0.1])
    assert (bounds.local == 1).all()
    assert (bounds.upper == 1).all()


def test_no_pair_of_a_class_makes_the_floor_a_chord() -> None:
    """A class that no valid label vector has twice has kappa = 0 up to rounding, which must not break the root."""
    sigma = Sigma.from_function(lambda y: None if y[0] == y[1] else y[0] < y[1], 2, 2)
    certificate = ClassCertificate(Relaxation(sigma, np.array([0.4, 0.6])), 0, 1e-17)
    assert certificate.bound(0.25)[0] == pytest.approx(0.25, abs=1e-9)


def test_shortcuts_are_found() -> None:
    """XOR of two bits survives their exchange, so that both classes may be all wrong at no partial risk."""
    bounds = class_risk_bounds(Sigma.from_function(lambda y: y[0] ^ y[1], 2, 2), [0.3, 0.7], 0.0)
    assert bounds.local.tolist() == [1.0, 1.0]


def test_three_labels_against_a_grid_of_classifiers() -> None:
    """Two classes, arity 3: H has two free numbers, so that Phi is read off a fine grid."""
    sigma = Sigma.from_function(lambda y: min(sum(y), 2), 2, 3)
    ratios, risk = np.array([0.4, 0.6]), 0.07
    axis = np.linspace(0, 1, 301)
    a, b = (x.reshape(-1) for x in np.meshgrid(axis, axis))
    matrices = np.stack([np.stack([1 - a, a], axis=1), np.stack([b, 1 - b], axis=1)], axis=1)
    feasible = partial_risk(sigma, ratios, matrices) <= risk
    expected = np.array([a[feasible].max(), b[feasible].max()])
    bounds = class_risk_bounds(sigma, ratios, risk)
    assert (bounds.local >= expected - 1e-9).all()
    np.testing.assert_allclose(bounds.local, expected, atol=1 / 300)
    assert (bounds.upper >= bounds.local).all()


def test_a_class_that_never_takes_part_is_not_bounded() -> None:
    sigma = Sigma.from_function(lambda y: None if 2 in y else max(y), 3, 2)
    assert class_risk_bounds(sigma, np.full(3, 1 / 3), 0.01).upper[2] == 1


def test_one_risk_or_many_have_the_same_answer() -> None:
    sigma, ratios = nslimb.sigma.total(2, num_classes=4), np.full(4, 0.25)
    one, many = class_risk_bounds(sigma, ratios, 0.05), class_risk_bounds(sigma, ratios, [0.05, 0.1])
    assert one.upper.shape == one.status.shape == (4,)
    assert many.upper.shape == many.gap.shape == many.status.shape == (2, 4)
    assert one.confusion.shape == (4, 4, 4)
    np.testing.assert_allclose(one.local, many.local[0], atol=1e-6)


def test_without_a_certificate_the_status_says_so() -> None:
    sigma = nslimb.sigma.maximum(5, num_classes=8)
    bounds = class_risk_bounds(sigma, np.full(8, 1 / 8), 0.01)
    assert (bounds.status == "local").all()
    assert "variables are more than 250000" in bounds.note
    assert np.isnan(bounds.gap).all()
    assert (bounds.upper == bounds.local).all()
    skipped = class_risk_bounds(nslimb.sigma.maximum(2), UNIFORM, 0.01, certify=False)
    assert skipped.note == ""
    assert (skipped.status == "local").all()


def test_too_many_states_are_refused() -> None:
    with pytest.raises(TooLarge, match=r"class risk bounds: .* pairs of states and labels"):
        class_risk_bounds(nslimb.sigma.formula(5), np.full(13, 1 / 13), 0.01)


def test_cobyla_agrees_on_two_classes() -> None:
    sigma, ratios = nslimb.sigma.maximum(2, num_classes=2), np.array([0.5, 0.5])
    ours, theirs = (class_risk_bounds(sigma, ratios, 0.05, method=method) for method in ("local", "cobyla"))
    assert (theirs.status == "cobyla").all()
    np.testing.assert_allclose(theirs.upper, ours.local, atol=1e-3)
    assert "no certificate" in theirs.note


def test_jumps_of_pairs_are_what_the_rows_give() -> None:
    """The closed form for pairs against evaluating each jump."""
    rng = np.random.default_rng(0)
    solver = LocalSolver.of(nslimb.sigma.total(2, num_classes=3), random_ratios(rng, 3))
    candidates, risks = solver.pool.take(np.arange(len(solver.pool.rows))), rng.random(len(solver.pool.rows))
    jumps = solver.agreement.after_jumps(candidates, risks)
    for n, b, m in np.ndindex(jumps.shape):
        rows = candidates.rows[n].copy()
        rows[b] = np.eye(3)[m]
        if b == candidates.classes[n] == m:
            continue
        one = Candidates(candidates.classes[n : n + 1], rows[None]).matrices(risks[n : n + 1])
        assert jumps[n, b, m] == pytest.approx(solver.agreement.value(one)[0], abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sigma": Sigma.from_function(max, 1, 2)}, "sigma: expected at least 2 classes, got 1 class"),
        ({"sigma": max}, "sigma: expected a Sigma"),
        ({"partial_risk": -0.1}, r"partial_risk: expected a number in \[0, 1\]"),
        ({"partial_risk": 1.1}, r"partial_risk: expected a number in \[0, 1\]"),
        ({"partial_risk": [0.1, float("nan")]}, r"partial_risk: expected a number in \[0, 1\]"),
        ({"partial_risk": []}, r"partial_risk: expected a number in \[0, 1\]"),
        ({"partial_risk": [[0.1]]}, "shape"),
        ({"partial_risk": "small"}, "partial_risk: expected a number"),
        ({"ratios": [0.5, 0.5, 0.0]}, r"ratios: expected every ratio above 0 .* got 0 for \[2\]"),
        ({"ratios": [0.5, 0.6, 0.1]}, "ratios: expected ratios of at least 0 that sum to 1"),
        ({"ratios": [0.5, 0.5]}, r"ratios: .* shape \[2\]"),
        ({"method": "slsqp"}, "method: expected 'local' or 'cobyla'"),
    ],
)
def test_bad_input(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {"sigma": nslimb.sigma.maximum(2, 3), "ratios": [0.2, 0.3, 0.5], "partial_risk": 0.1}
    with pytest.raises(InvalidInput, match=message):
        class_risk_bounds(**good | change)


@given(SMALL, SEEDS)
@settings(max_examples=40)
def test_what_is_found_for_one_class_counts_for_all(sigma: Sigma, seed: int) -> None:
    ratios = random_ratios(np.random.default_rng(seed), sigma.num_classes)
    bounds = class_risk_bounds(sigma, ratios, [0.0, 0.02, 0.1], certify=False)
    implied = 1 - np.einsum("kjaa->kja", bounds.confusion)  # the risk of class a in what was found for class j
    assert (implied.max(axis=1) <= bounds.upper + 1e-6).all()


def test_a_cyclic_shift_hides_from_a_difference() -> None:
    sigma = Sigma.from_function(lambda y: (y[0] - y[1]) % 3, 3, 2)
    assert class_risk_bounds(sigma, [0.5, 0.3, 0.2], 0.01, certify=False).upper.tolist() == pytest.approx([1, 1, 1])


def test_one_label_that_is_seen_has_a_closed_form() -> None:
    """The identity: Phi_j(R) = min(1, R / r_j), and the total risk is the partial one."""
    sigma, ratios = Sigma.from_function(lambda y: y[0], 4, 1), np.array([0.02, 0.08, 0.3, 0.6])
    risks = np.array([0.0, 0.01, 0.05, 0.5])
    bounds = class_risk_bounds(sigma, ratios, risks)
    np.testing.assert_allclose(bounds.upper, np.minimum(1, risks[:, None] / ratios), rtol=1e-12)
    assert (bounds.gap == 0).all()
    assert (bounds.status == "certified").all()
    np.testing.assert_allclose(total_risk_bound(sigma, risks), risks, rtol=1e-12)
    confusion = random_confusion(np.random.default_rng(0), 4)
    assert partial_risk(sigma, ratios, confusion) == pytest.approx(ratios @ (1 - np.diag(confusion)), abs=1e-12)


def test_one_label_that_is_hidden() -> None:
    """Classes 0 and 1 share a weak label, 4 has none: all three may be wrong always, and only a valid label counts."""
    sigma = Sigma.from_function(lambda y: (0, 0, 1, 2, None)[y[0]], 5, 1)
    bounds = class_risk_bounds(sigma, [0.1, 0.1, 0.2, 0.4, 0.2], 0.1)
    np.testing.assert_allclose(bounds.upper, [1, 1, 0.4, 0.2, 1], rtol=1e-12)


def test_one_label_by_cobyla() -> None:
    sigma = Sigma.from_function(lambda y: y[0], 2, 1)
    theirs = class_risk_bounds(sigma, [0.4, 0.6], 0.1, method="cobyla")
    np.testing.assert_allclose(theirs.upper, [0.25, 1 / 6], atol=1e-3)
