"""Pseudolabels against the same programs written out again and solved by scipy."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import oracles
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import nslimb
from nslimb import Sigma, pseudolabels
from nslimb.errors import InvalidInput, SolverFailed, TooLarge
from nslimb.learning import pseudolabels as module
from nslimb.learning.generation import Batch, BatchProgram
from nslimb.learning.highs import Model
from nslimb.learning.programs import Proofs, tseytin


class Written:
    """Eq. (5) written out one inequality at a time, as dictionaries of coefficients."""

    def __init__(
        self, cost: np.ndarray, preimages: list[np.ndarray], target: np.ndarray, epsilon: float, kind: str
    ) -> None:
        batch, arity, classes = cost.shape
        self.names = [("q", b, i, j) for b in range(batch) for i in range(arity) for j in range(classes)]
        self.names += [("a", b, t) for b in range(batch) for t in range(len(preimages[b]))]
        self.index = {name: k for k, name in enumerate(self.names)}
        self.cost = np.array([cost[name[1:]] if name[0] == "q" else 0.0 for name in self.names])
        self.ratio_rows = arity * classes
        self.rows: list[tuple[dict[Any, float], float, float]] = []
        for b, vectors in enumerate(preimages):
            self.at_least({("a", b, t): 1.0 for t in range(len(vectors))}, 1.0)
            for t, vector in enumerate(vectors):
                literals = [("q", b, i, int(y)) for i, y in enumerate(vector)]
                if kind == "paper":
                    self.at_least({**dict.fromkeys(literals, 1.0), ("a", b, t): -float(arity)}, 0.0)
                else:
                    for literal in literals:
                        self.at_least({literal: 1.0, ("a", b, t): -1.0}, 0.0)
                self.at_least({**dict.fromkeys(literals, -1.0), ("a", b, t): 1.0}, 1.0 - arity)
            for i in range(arity):
                self.rows.append(({("q", b, i, j): 1.0 for j in range(classes)}, 1.0, 1.0))
            if kind == "hull":
                for i in range(arity):
                    for j in range(classes):
                        used = {("a", b, t): -1.0 for t, v in enumerate(vectors) if v[i] == j}
                        self.rows.append(({("q", b, i, j): 1.0, **used}, 0.0, 0.0))
        for i in range(arity):
            for j in range(classes):
                counts = {("q", b, i, j): 1.0 for b in range(batch)}
                self.rows.append((counts, target[i, j] - epsilon, target[i, j] + epsilon))

    def at_least(self, coefficients: dict[Any, float], bound: float) -> None:
        self.rows.append((coefficients, bound, np.inf))

    def matrix(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        dense = np.zeros((len(self.rows), len(self.names)))
        for r, (coefficients, _, _) in enumerate(self.rows):
            for name, value in coefficients.items():
                dense[r, self.index[name]] = value
        return dense, np.array([row[1] for row in self.rows]), np.array([row[2] for row in self.rows])

    def least_epsilon(self, integer: bool = False) -> float:
        """The smallest tolerance, as one more column e: count - e <= target, count + e >= target."""
        dense, lower, upper = self.matrix()
        others, ratios = np.split(np.arange(len(dense)), [-self.ratio_rows])
        middle = (lower[ratios] + upper[ratios]) / 2
        one = np.ones((len(ratios), 1))
        found = milp(
            np.append(np.zeros(len(self.cost)), 1.0),
            constraints=[
                LinearConstraint(np.hstack([dense[others], np.zeros((len(others), 1))]), lower[others], upper[others]),
                LinearConstraint(np.hstack([dense[ratios], one]), middle, np.inf),
                LinearConstraint(np.hstack([dense[ratios], -one]), -np.inf, middle),
            ],
            bounds=Bounds(0, np.append(np.ones(len(self.cost)), np.inf)),
            integrality=np.append(np.full(len(self.cost), int(integer)), 0),
        )
        return float(found.fun)

    def optimum(self, integer: bool = False) -> float | None:
        dense, lower, upper = self.matrix()
        constraint = LinearConstraint(dense, lower, upper)
        found = milp(
            self.cost, constraints=constraint, bounds=Bounds(0, 1), integrality=np.full(len(self.cost), int(integer))
        )
        return float(found.fun) if found.status == 0 else None


def problem(data: st.DataObject, max_classes: int = 4) -> tuple[Sigma, torch.Tensor, list[int], np.ndarray]:
    sigma = data.draw(oracles.tables(max_arity=3, max_classes=max_classes, max_vectors=30))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    batch = data.draw(st.integers(1, 4))
    scores = torch.from_numpy(rng.normal(size=(batch, sigma.arity, sigma.num_classes)) * 2).log_softmax(-1)
    weak = data.draw(oracles.weak_for(sigma, batch))
    ratios = rng.dirichlet(np.ones(sigma.num_classes), size=sigma.arity)
    return sigma, scores, weak, ratios


def oracle(
    sigma: Sigma,
    scores: torch.Tensor,
    weak: list[int],
    ratios: np.ndarray,
    epsilon: float,
    kind: str,
    preimages: list[np.ndarray] | None = None,
) -> Written:
    if preimages is None:
        vectors, table = oracles.all_vectors(sigma), oracles.weak_table(sigma)
        preimages = [vectors[table == s] for s in weak]
    return Written(-scores.numpy(), preimages, len(weak) * ratios, epsilon, kind)


@settings(max_examples=60)
@given(st.data())
def test_every_encoding_reaches_the_optimum_of_scipy(data: st.DataObject) -> None:
    sigma, scores, weak, ratios = problem(data)
    optima = []
    for kind, integer in (("paper", False), ("literal", False), ("hull", False), ("hull", True)):
        ours = pseudolabels(scores, weak, sigma, ratios, encoding=kind, integer=integer)
        theirs = oracle(sigma, scores, weak, ratios, ours.epsilon, kind).optimum(integer)
        assert theirs is not None
        assert ours.objective == pytest.approx(theirs, rel=1e-7, abs=1e-7)
        if ours.status == "widened":
            assert oracle(sigma, scores, weak, ratios, ours.epsilon - 1, kind).optimum(integer) is None
        assert_valid(ours, weak, ratios)
        fixed = pseudolabels(scores, weak, sigma, ratios, epsilon=float(len(weak)), encoding=kind, integer=integer)
        optima.append(fixed.objective)
    assert (np.diff(optima) >= -1e-7).all(), optima


@settings(max_examples=60)
@given(st.data())
def test_epsilon_grows_to_the_least_that_is_enough(data: st.DataObject) -> None:
    sigma, scores, weak, ratios = problem(data, max_classes=3)
    epsilon = data.draw(st.sampled_from([0.0, 0.3, 0.99]))
    proofs = data.draw(st.sampled_from([None, 2]))
    for kind, integer in (("paper", False), ("literal", False), ("hull", False), ("hull", True)):
        ours = pseudolabels(scores, weak, sigma, ratios, epsilon, kind, proofs, integer)
        allowed = None
        if proofs is not None:
            best = sigma.best(scores, weak, proofs).labels.numpy()
            allowed = [vectors[vectors[:, 0] >= 0] for vectors in best]
        written = oracle(sigma, scores, weak, ratios, epsilon, kind, allowed)
        least = written.least_epsilon(integer)
        assert ours.epsilon == pytest.approx(epsilon + max(0, np.ceil(least - epsilon - 1e-6)), abs=1e-12)
        assert ours.status == ("widened" if ours.epsilon > epsilon else "optimal")
        theirs = oracle(sigma, scores, weak, ratios, ours.epsilon + 1e-8, kind, allowed).optimum(integer)
        assert ours.objective == pytest.approx(theirs, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(("encoding", "proofs"), [("hull", 5), ("paper", 5), ("literal", 5)])
def test_contradictory_ratios_take_three_solves(encoding: str, proofs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    solves = []
    solve = Model.solve
    monkeypatch.setattr(Model, "solve", lambda self: solves.append(1) or solve(self))
    scores = torch.zeros(12, 2, 3).log_softmax(-1)
    found = pseudolabels(scores, [0] * 12, SIGMA, [0.0, 0.0, 1.0], encoding=encoding, proofs=proofs)
    assert (found.status, found.epsilon) == ("widened", pytest.approx(12.99))
    assert len(solves) == 3


def assert_valid(found: module.PseudoLabels, weak: list[int], ratios: np.ndarray) -> None:
    q = found.q.numpy()
    np.testing.assert_allclose(q.sum(axis=2), 1, atol=1e-9)
    assert q.min() >= 0
    target = len(weak) * np.broadcast_to(ratios, q.shape[1:])
    assert np.abs(q.sum(axis=0) - target).max() <= found.epsilon + 1e-6


@settings(max_examples=40)
@given(st.data())
def test_integer_programs_agree_in_every_encoding(data: st.DataObject) -> None:
    sigma, scores, weak, ratios = problem(data, max_classes=3)
    found = [
        pseudolabels(scores, weak, sigma, ratios, encoding=kind, integer=True) for kind in ("paper", "literal", "hull")
    ]
    for other in found[1:]:
        assert other.objective == pytest.approx(found[0].objective, abs=1e-6)
        assert other.epsilon == found[0].epsilon
    labels = found[2].q.argmax(-1)
    assert torch.equal(sigma.apply(labels), torch.tensor(weak))
    assert torch.equal(found[2].q, torch.nn.functional.one_hot(labels, sigma.num_classes).double())


@settings(max_examples=40)
@given(st.data())
def test_hull_solutions_are_mixtures_of_valid_label_vectors(data: st.DataObject) -> None:
    sigma, scores, weak, ratios = problem(data)
    q = pseudolabels(scores, weak, sigma, ratios).q.numpy()
    vectors, table = oracles.all_vectors(sigma), oracles.weak_table(sigma)
    for b, s in enumerate(weak):
        onehot = np.eye(sigma.num_classes)[vectors[table == s]].reshape(-1, sigma.arity * sigma.num_classes)
        weights = linprog(
            np.zeros(len(onehot)),
            A_eq=np.vstack([onehot.T, np.ones(len(onehot))]),
            b_eq=np.append(q[b].reshape(-1), 1.0),
        )
        assert weights.status == 0


@settings(max_examples=60)
@given(st.data())
def test_column_generation_equals_all_columns(data: st.DataObject) -> None:
    sigma, scores, weak, ratios = problem(data)
    generated = pseudolabels(scores, weak, sigma, ratios)
    listed = pseudolabels(scores, weak, sigma, ratios, proofs=max(sigma.preimage_sizes()))
    assert generated.objective == pytest.approx(listed.objective, rel=1e-7, abs=1e-7)
    assert (generated.epsilon, generated.status) == (listed.epsilon, listed.status)


@pytest.mark.parametrize(("sigma", "batch"), [(nslimb.sigma.maximum(3), 64), (nslimb.sigma.total(3), 48)])
def test_column_generation_equals_all_columns_on_real_sizes(sigma: Sigma, batch: int) -> None:
    generator = torch.Generator().manual_seed(0)
    scores = (torch.randn(batch, 3, 10, generator=generator) * 2).log_softmax(-1)
    weak = sigma.apply(torch.randint(10, (batch, 3), generator=generator))
    contradicted = np.linspace(10, 1, 10) ** 2 / np.sum(np.linspace(10, 1, 10) ** 2)
    for ratios, status in (([0.1] * 10, "optimal"), (contradicted, "widened")):
        generated = pseudolabels(scores, weak, sigma, ratios)
        listed = pseudolabels(scores, weak, sigma, ratios, proofs=max(sigma.preimage_sizes()))
        assert generated.objective == pytest.approx(listed.objective, rel=1e-8)
        assert (generated.epsilon, generated.status) == (listed.epsilon, status)
        assert generated.q.dtype == torch.float32


def test_the_appendix_example_constraint_by_constraint() -> None:
    sigma = nslimb.sigma.maximum(2)
    preimages = [sigma.preimage(0), sigma.preimage(1)]
    assert [p.tolist() for p in preimages] == [[[0, 0]], [[0, 1], [1, 0], [1, 1]]]
    cost = np.zeros((2, 2, 10))
    program = tseytin(cost, Proofs(np.repeat([0, 1], [1, 3]), np.concatenate(preimages)), "paper")
    columns = program.columns
    dense = np.zeros((len(program.row_lower), len(columns)))
    for k in range(len(columns)):
        span = slice(columns.start[k], columns.start[k + 1])
        dense[columns.row[span], k] = columns.value[span]
    written = Written(cost, preimages, np.zeros((2, 10)), np.inf, "paper")
    expected, lower, upper = written.matrix()
    ours = {(*map(float, row), lo, up) for row, lo, up in zip(dense, program.row_lower, program.row_upper, strict=True)}
    assert ours == {(*map(float, row), lo, up) for row, lo, up in zip(expected, lower, upper, strict=True)}
    # The rows as the paper prints them, for the second sample.
    q = {(b, i, j): (b * 2 + i) * 10 + j for b in range(2) for i in range(2) for j in range(10)}
    alpha = 40 + np.arange(4)
    printed = []
    for a, (first, second) in zip(alpha[1:], [(0, 1), (1, 0), (1, 1)], strict=True):
        row = np.zeros(44)
        row[[q[1, 0, first], q[1, 1, second]]], row[a] = 1, -2
        printed.append((*row, 0.0, np.inf))
        row = np.zeros(44)
        row[[q[1, 0, first], q[1, 1, second]]], row[a] = -1, 1
        printed.append((*row, -1.0, np.inf))
    row = np.zeros(44)
    row[alpha[1:]] = 1
    printed.append((*row, 1.0, np.inf))
    assert set(printed) <= ours


@settings(max_examples=60)
@given(st.data())
def test_one_proof_is_what_highs_would_give(data: st.DataObject) -> None:
    sigma, scores, weak, ratios = problem(data)
    target = len(weak) * ratios
    epsilon = data.draw(st.sampled_from([0.0, 0.99]))
    for encoding, integer in product(("paper", "literal", "hull"), (False, True)):
        batch = Batch(scores, torch.tensor(weak), sigma, target, encoding, 1, integer, 60.0)
        for slack, penalty in (("widen", None), ("elastic", 10.0)):
            ours = pseudolabels(scores, weak, sigma, ratios, epsilon, encoding, 1, integer, slack=slack)
            q, used = module._solve(BatchProgram(batch, penalty), epsilon, float(len(weak)))
            np.testing.assert_allclose(ours.q, q, atol=1e-9)
            assert ours.epsilon == used
            excess = (np.abs(q.sum(axis=0) - target) - used).clip(min=0)
            assert ours.violation == pytest.approx(excess.sum(), abs=1e-5)
            assert ours.objective == pytest.approx(float((-scores.numpy() * q).sum()), abs=1e-9)
            missed = "violated" if excess.max() > 1e-6 else "optimal"
            assert ours.status == ("widened" if used > epsilon else missed)


def test_one_proof_is_held_to_max_epsilon_too() -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    scores, weak, ratios = torch.zeros(6, 2, 3).log_softmax(-1), [0] * 6, [0.0, 0.0, 1.0]
    assert pseudolabels(scores, weak, sigma, ratios, proofs=1).epsilon == pytest.approx(6.99)
    with pytest.raises(SolverFailed, match=r"cannot be met within max_epsilon=3 counts"):
        pseudolabels(scores, weak, sigma, ratios, proofs=1, max_epsilon=3)


def test_one_proof_is_not_solved_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Model, "solve", lambda _: pytest.fail("solved"))
    sigma = nslimb.sigma.maximum(3)
    scores = torch.randn(16, 3, 10, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    weak = [9, 8, 7, 6] * 4
    best = sigma.best(scores, weak, 1).labels[:, 0]
    for ratios in ([0.1] * 10, [0.91] + [0.01] * 9):
        q = pseudolabels(scores, weak, sigma, ratios, proofs=1).q
        assert torch.equal(q, torch.nn.functional.one_hot(best, 10).float())


def test_ratios_move_the_pseudolabels() -> None:
    sigma = nslimb.sigma.maximum(2)
    scores = torch.zeros(40, 2, 10)
    scores[:, :, 9] = 3.0
    weak = [9] * 40
    free = pseudolabels(scores.log_softmax(-1), weak, sigma, [0.1] * 10, epsilon=40)
    held = pseudolabels(scores.log_softmax(-1), weak, sigma, [0.05] * 9 + [0.55], epsilon=0.5)
    assert free.q[:, :, 9].min() == 1
    assert held.q[:, :, 9].sum(0).max() <= 0.55 * 40 + 0.5 + 1e-6
    assert held.status == "optimal"


def test_positions_may_have_ratios_of_their_own() -> None:
    sigma = nslimb.sigma.formula(3)
    labels = torch.tensor([[1, 10, 2], [3, 11, 1], [2, 12, 4], [5, 10, 5]])
    weak = sigma.apply(labels)
    ratios = np.zeros((3, 13))
    ratios[[0, 2], :10], ratios[1, 10:] = 0.1, 1 / 3
    scores = torch.randn(4, 3, 13, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    found = pseudolabels(scores, weak, sigma, ratios)
    assert_valid(found, weak.tolist(), ratios)
    assert found.q[:, 1, :10].sum() == 0


def test_infeasible_ratios_widen_epsilon_or_pay() -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    scores = torch.zeros(6, 2, 3).log_softmax(-1)
    weak, ratios = [0] * 6, [0.0, 0.0, 1.0]
    widened = pseudolabels(scores, weak, sigma, ratios)
    assert widened.status == "widened"
    assert widened.epsilon == pytest.approx(6.99)
    elastic = pseudolabels(scores, weak, sigma, ratios, slack="elastic")
    assert elastic.status == "violated"
    assert elastic.epsilon == 0.99
    assert elastic.violation == pytest.approx(4 * (6 - 0.99))
    with pytest.raises(SolverFailed, match=r"cannot be met within max_epsilon=3 counts"):
        pseudolabels(scores, weak, sigma, ratios, max_epsilon=3)


@settings(max_examples=40)
@given(st.data())
def test_elastic_slack_is_paid_for_at_its_price(data: st.DataObject) -> None:
    sigma, scores, weak, ratios = problem(data)
    epsilon, penalty = 0.1, 1.5
    found = pseudolabels(scores, weak, sigma, ratios, epsilon=epsilon, slack="elastic", penalty=penalty)
    written = oracle(sigma, scores, weak, ratios, epsilon, "hull")
    dense, lower, upper = written.matrix()
    ratio_rows = sigma.arity * sigma.num_classes
    slack = np.zeros((len(dense), 2 * ratio_rows))
    slack[-ratio_rows:] = np.hstack([np.eye(ratio_rows), -np.eye(ratio_rows)])
    best = milp(
        np.append(written.cost, np.full(2 * ratio_rows, penalty)),
        constraints=LinearConstraint(np.hstack([dense, slack]), lower, upper),
        bounds=Bounds(0, np.append(np.ones(len(written.cost)), np.full(2 * ratio_rows, np.inf))),
    )
    assert found.objective + penalty * found.violation == pytest.approx(best.fun, abs=1e-6)


def test_certain_and_impossible_scores_are_no_trouble() -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    scores = torch.tensor([[[1.0, 0, 0], [1.0, 0, 0]], [[0, 0, 1.0], [0.5, 0.5, 0]]]).log()
    found = pseudolabels(scores, [2, 2], sigma, [1 / 3] * 3, epsilon=2)
    assert torch.isfinite(found.q).all()
    assert torch.equal(sigma.apply(found.q.argmax(-1)), torch.tensor([2, 2]))


def test_scores_need_not_be_normalised() -> None:
    sigma = nslimb.sigma.maximum(2, num_classes=3)
    scores = torch.randn(20, 2, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).log_softmax(-1)
    weak = [0, 1, 2, 2] * 5
    plain = pseudolabels(scores, weak, sigma, [0.3, 0.3, 0.4])
    shifted = pseudolabels(scores + 900.0, weak, sigma, [0.3, 0.3, 0.4])
    assert shifted.epsilon == plain.epsilon
    assert shifted.objective == pytest.approx(plain.objective - 900.0 * 40)


def test_ratios_of_single_precision_are_met_exactly() -> None:
    sigma = nslimb.sigma.maximum(1, num_classes=3)
    scores = torch.randn(60, 1, 3, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    weak = [0] * 20 + [1] * 20 + [2] * 20
    found = pseudolabels(scores, weak, sigma, torch.full((3,), 1 / 3), epsilon=0.0, max_epsilon=float("inf"))
    assert found.status == "optimal"


def test_an_empty_batch_has_no_pseudolabels() -> None:
    found = pseudolabels(torch.zeros(0, 2, 10), [], nslimb.sigma.maximum(2), [0.1] * 10)
    assert found.q.shape == (0, 2, 10)


def test_the_whole_preimage_is_listed_only_within_reason() -> None:
    scores = torch.zeros(64, 5, 10).log_softmax(-1)
    with pytest.raises(
        TooLarge, match=r"encoding='literal' would list 2,620,864 proofs, more than 2,000,000; give proofs"
    ):
        pseudolabels(scores, [9] * 64, nslimb.sigma.maximum(5), [0.1] * 10, encoding="literal")
    assert pseudolabels(scores, [9] * 64, nslimb.sigma.maximum(5), [0.1] * 10).q.shape == (64, 5, 10)


def test_time_runs_out_with_an_error() -> None:
    sigma = nslimb.sigma.maximum(3)
    scores = torch.randn(64, 3, 10, generator=torch.Generator().manual_seed(0)).log_softmax(-1)
    with pytest.raises(SolverFailed, match=r"time limit of 0.001 s reached"):
        pseudolabels(scores, [9] * 64, sigma, [0.1] * 10, encoding="literal", time_limit=0.001)


SIGMA = nslimb.sigma.maximum(2, num_classes=3)
GOOD = torch.zeros(2, 2, 3).log_softmax(-1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratios": [0.5, 0.5]}, r"ratios: expected .* shape \[3\] or \[2, 3\], got shape \[2\]"),
        ({"ratios": [0.5, 0.6, -0.1]}, r"ratios: expected ratios of at least 0 that sum to 1, .* -0.1\]"),
        ({"ratios": [0.5, 0.5, 0.5]}, r"ratios: .* with sum 1\.5"),
        ({"ratios": [0.5, 0.5, float("nan")]}, "ratios: expected"),
        ({"ratios": ["a", "b", "c"]}, "ratios: .* no numbers"),
        ({"epsilon": -0.1}, "epsilon: expected a finite number of at least 0, got -0.1"),
        ({"epsilon": float("nan")}, "epsilon: expected a finite number of at least 0, got nan"),
        ({"max_epsilon": 0.5}, r"max_epsilon: expected a number of at least epsilon=0.99, got 0.5"),
        ({"max_epsilon": "a"}, "max_epsilon: expected a number"),
        ({"encoding": "sat"}, "encoding: expected one of paper, literal, hull, got 'sat'"),
        ({"slack": "none"}, "slack: expected 'widen' or 'elastic', got 'none'"),
        ({"proofs": 0}, "proofs: expected an integer of at least 1"),
        ({"penalty": -1.0}, "penalty: expected"),
        ({"weak": [0, 3]}, "weak: expected"),
        ({"log_scores": GOOD * float("nan")}, "log_scores: expected"),
        ({"sigma": max}, "sigma: expected a Sigma"),
    ],
)
def test_bad_input_is_refused(options: dict[str, Any], message: str) -> None:
    arguments = {"log_scores": GOOD, "weak": [0, 1], "sigma": SIGMA, "ratios": [1 / 3] * 3, **options}
    with pytest.raises(InvalidInput, match=message):
        pseudolabels(**arguments)
