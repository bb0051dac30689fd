"""Lower bounds of the partial risk that hold for every confusion matrix, rounding errors included."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csc_array

from nslimb.arrays import FloatArray
from nslimb.sigma.component import Sigma
from nslimb.theory.risk import valid_probability

# Variables of the largest relaxation that is solved: MAX-2 with ten classes has 5,500, MAX-3 220,000.
MAX_VARIABLES = 250_000
# Cuts are dense, so that only smaller ones get them: arity 2 with up to 12 classes.
_MAX_CUT_VARIABLES = 12_000
_OPTIONS = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-9}
_CUT_ROUNDS = 40
_VIOLATED = 1e-7
_EPSILON = float(np.finfo(np.float64).eps)


class Floor(NamedTuple):
    """A proven lower bound: R_P(H) is at least ``value`` for every H whose class j has the risk t, H_jj = 1 - t."""

    value: float
    rows: FloatArray  # [c, c]: the relaxation's own rows, a start for a local search
    cuts: FloatArray  # [Q, 1 + c^2]: the squares that took part


class Relaxation:
    """Lower bounds of V_j(t) = min {R_P(H) : H_jj = 1 - t}: how many weak labels must be wrong if class j is at risk t.

    The minimum is over confusion matrices H, and R_P is a polynomial in their entries, so that no solver finds it
    with certainty. A linear program in more variables gives a bound from below instead.

    With row j written as (1 - t) e_j + t v, the agreement 1 - R_P is a polynomial in v and the other rows:

        sum over multisets C = {a_1, ..., a_M} of classes, over x in Y^M, of theta_C(x) prod_i h_{a_i}(x_i),

    with theta_C(x) >= 0 the probability that the labels are C, in any order, times the probability that predicting x
    agrees. The products are what makes it hard. Each is replaced by a variable of its own, a joint distribution X_C(x)
    of which only the marginals h_{a_i} are known: every H gives such an X, so the program's optimum is at least as good
    as that of any H. (It is the local polytope of a graphical model whose variables are the classes; for arity 2 the
    first level of Sherali and Adams' hierarchy.) For deterministic classifiers, h in {0, 1}, it is exact, and these are
    nearly always the worst; what row j does besides is exact through t.

    For pairs the relaxation may be tightened by cuts: a square (w_0 + sum_a w_a . h_a)^2 is at least 0, and linear in
    h and X. The w that a solution violates most are eigenvectors of its moment matrix, so that in the limit this
    is the semidefinite relaxation (Shor's) on top of the linear one. Cuts hold for every t.

    The solver is not trusted. For any numbers delta_{C,i}(m), and with lambda >= 0 times the squares added to theta,

        1 - R_P <= sum_a max_m sum_{C,i: a_i = a} delta_{C,i}(m) + sum_C max_x [theta_C(x) - sum_i delta_{C,i}(x_i)],

    so the bound is evaluated from the solver's dual values by this formula, whatever they are, and lowered by
    more than its rounding error.
    """

    def __init__(self, sigma: Sigma, ratios: FloatArray) -> None:
        self.arity, self.classes = sigma.arity, sigma.num_classes
        self.members = np.array(list(combinations_with_replacement(range(self.classes), self.arity)))  # [C, M]
        self.potentials = _potentials(sigma, ratios, self.members)  # [C, c, ..., c]
        self.columns, self.right = self._constraints()
        self.takes_cuts = self.arity == 2 and self.potentials.size <= _MAX_CUT_VARIABLES

    @staticmethod
    def variables(sigma: Sigma) -> int:
        """The size of the linear program."""
        clusters = math.comb(sigma.num_classes + sigma.arity - 1, sigma.arity)
        return int(clusters * sigma.num_classes**sigma.arity)

    def no_cuts(self) -> FloatArray:
        """An empty list of cuts, to begin with."""
        return np.zeros((0, 1 + self.classes**2))

    def floor(self, label: int, risk: float, cuts: FloatArray, target: float = -1.0) -> Floor:
        """A lower bound of V_j(t) for j = ``label`` and t = ``risk``; cuts are added until it is above ``target``."""
        potentials = self.potentials_at(label, risk)
        floor = Floor(0.0, np.eye(self.classes), cuts) if len(cuts) else self._floor_without_cuts(potentials, label)
        if self.takes_cuts and (len(cuts) or floor.value <= target):
            return self._floor_with_cuts(potentials, label, floor, target)
        return floor

    def _floor_without_cuts(self, potentials: FloatArray, label: int) -> Floor:
        """The linear program in a tenth to a fifth of its variables: those X_C(x) that count, with theta_C(x) > 0.

        The others add nothing to the objective and only fill X up to a distribution. Without them its marginals are at
        most h instead of equal to h; since any such part can be filled up again, the optimum is the same.
        """
        size, marginals = self.classes, len(self.right) - self.classes
        kept = np.flatnonzero(potentials.reshape(-1) * self._allowed(label))
        columns = self.columns[:, np.concatenate([np.arange(size * size), size * size + kept])]
        solved = _solve(
            np.concatenate([np.zeros(size * size), -potentials.reshape(-1)[kept]]),
            _bounds(columns.shape[1], size, label),
            (columns[:marginals], np.zeros(marginals)),
            (columns[marginals:], np.ones(size)),
        )
        if solved.status != 0:
            return Floor(0.0, np.eye(size), self.no_cuts())
        value = self.bound(potentials, -solved.ineqlin.marginals, self.no_cuts(), np.zeros(0), label)
        return Floor(max(value, 0.0), _rows(solved.x, size), self.no_cuts())

    def _floor_with_cuts(self, potentials: FloatArray, label: int, floor: Floor, target: float) -> Floor:
        """The whole program for arity 2, with cuts added to those that ``floor`` brings until above ``target``."""
        size = self.classes
        cost = np.concatenate([np.zeros(size * size), -potentials.reshape(-1)])
        best, rows, cuts = floor
        for _ in range(_CUT_ROUNDS):
            solved = _solve(
                cost,
                _bounds(len(cost), size, label),
                (-self._squares(cuts), cuts[:, 0] ** 2) if len(cuts) else (None, None),
                (self.columns, self.right),
            )
            if solved.status != 0:
                break
            multipliers = np.maximum(-solved.ineqlin.marginals, 0.0)
            best = max(best, self.bound(potentials, -solved.eqlin.marginals, cuts, multipliers, label))
            rows = _rows(solved.x, size)
            if best > target:
                break
            violated = self._violated(solved.x)
            if not len(violated):
                break
            cuts = np.concatenate([cuts[multipliers > 0], violated])
        return Floor(best, rows, cuts)

    def _allowed(self, label: int) -> NDArray[np.bool_]:
        """Which of the variables X_C(x) exist: those in which class j is not predicted as j.

        The share 1 - t of class j that is predicted right is fixed, and has been put into the potentials.
        """
        states = np.indices((self.classes,) * self.arity).reshape(self.arity, 1, -1)
        return np.asarray(~((self.members.T[:, :, None] == label) & (states == label)).any(axis=0).reshape(-1))

    def _squares(self, cuts: FloatArray) -> FloatArray:
        """(w_0 + sum_a w_a . h_a)^2 - w_0^2 as coefficients of h and X: [Q, variables], for arity 2."""
        rows = cuts[:, 1:].reshape(len(cuts), self.classes, self.classes)
        first, second = self.members.T
        twice = np.where(first == second, 1.0, 2.0)[:, None, None]
        pairs = twice * rows[:, first, :, None] * rows[:, second, None, :]
        return np.asarray(np.concatenate([2 * cuts[:, :1] * cuts[:, 1:], pairs.reshape(len(cuts), -1)], axis=1))

    def _violated(self, solution: FloatArray) -> FloatArray:
        """The eigenvectors of the moment matrix with the most negative eigenvalues, [at most 5, 1 + c^2]."""
        size = self.classes
        single = solution[: size * size]
        blocks = np.zeros((size, size, size, size))  # axes a, b, x, y
        first, second = self.members.T
        pairs = solution[size * size :].reshape(-1, size, size)
        blocks[first, second] += pairs / 2
        blocks[second, first] += pairs.transpose(0, 2, 1) / 2
        blocks[~np.eye(size, dtype=bool)] *= 2
        inner = blocks.transpose(0, 2, 1, 3).reshape(size * size, size * size)
        moments = np.block([[np.ones((1, 1)), single[None]], [single[:, None], inner]])
        values, vectors = np.linalg.eigh(moments)
        return np.asarray(vectors[:, :5][:, values[:5] < -_VIOLATED].T)

    def potentials_at(self, label: int, risk: float) -> FloatArray:
        """theta where class j is right in the share 1 - t: predicting k now means j with 1 - t, and k with t."""
        step = risk * np.eye(self.classes)
        step[:, label] += 1 - risk
        potentials: FloatArray = self.potentials.copy()
        for axis in range(self.arity):
            chosen = self.members[:, axis] == label
            moved = np.tensordot(potentials[chosen], step, axes=(axis + 1, 1))
            potentials[chosen] = np.moveaxis(moved, -1, axis + 1)
        return potentials

    def bound(
        self, potentials: FloatArray, duals: FloatArray, cuts: FloatArray, multipliers: FloatArray, label: int
    ) -> float:
        """The lower bound of R_P by the last formula of the class, for any dual values, less its own rounding error."""
        size, clusters = self.classes, len(self.members)
        messages = duals[: clusters * self.arity * size].reshape(clusters, self.arity, size)
        own, left, constant = np.zeros((size, size)), potentials, 0.0
        if len(cuts):
            added = multipliers @ self._squares(cuts)
            own += added[: size * size].reshape(size, size)
            left = left + added[size * size :].reshape(potentials.shape)
            constant = float(multipliers @ cuts[:, 0] ** 2)
        np.add.at(own, self.members, messages)
        largest = max(1.0, float(np.abs(messages).max()), float(np.abs(left).max()), float(np.abs(own).max()))
        left = left.copy()
        for axis in range(self.arity):
            left -= messages[:, axis].reshape(-1, *np.where(np.arange(self.arity) == axis, size, 1))
        left.reshape(-1)[~self._allowed(label)] = -np.inf
        own[label, label] = -np.inf
        agreement = own.max(axis=1).sum() + left.reshape(clusters, -1).max(axis=1).sum() + constant
        # Each number above is a sum of fewer than so many terms of at most ``largest``.
        terms = clusters * self.arity + 2 * len(cuts) + size
        return float(1 - agreement - 4 * _EPSILON * terms * largest)

    def _constraints(self) -> tuple[csc_array, FloatArray]:
        """sum_{x: x_i = m} X_C(x) = h_{a_i}(m) for all C, i, m, then sum_m h_a(m) = 1."""
        size, clusters, arity = self.classes, len(self.members), self.arity
        states = np.indices((size,) * arity).reshape(arity, -1)  # [M, c^M]
        row = (np.arange(clusters * arity).reshape(clusters, arity, 1) * size + states).reshape(-1)
        variables = np.arange(clusters * states.shape[1]).reshape(clusters, 1, -1) + size * size
        column = np.broadcast_to(variables, (clusters, arity, states.shape[1])).reshape(-1)
        marginal_rows = np.arange(clusters * arity * size)
        marginal = (self.members.reshape(-1, 1) * size + np.arange(size)).reshape(-1)
        total_rows = len(marginal_rows) + np.repeat(np.arange(size), size)
        rows = np.concatenate([row, marginal_rows, total_rows])
        columns = np.concatenate([column, marginal, np.arange(size * size)])
        values = np.concatenate([np.ones(len(row)), -np.ones(len(marginal)), np.ones(size * size)])
        shape = (len(marginal_rows) + size, size * size + clusters * states.shape[1])
        return csc_array((values, (rows, columns)), shape=shape), np.repeat([0.0, 1.0], [len(marginal_rows), size])


def _solve(
    cost: FloatArray, bounds: FloatArray, at_most: tuple[Any, FloatArray | None], equal: tuple[Any, FloatArray]
) -> Any:
    """min cost . x within bounds, A x <= b and A x = b, each constraint a pair (A, b)."""
    return linprog(  # type: ignore[call-overload]  # its types know no sparse matrices
        cost, *at_most, *equal, bounds=bounds, method="highs", options=_OPTIONS
    )


def _bounds(variables: int, size: int, label: int) -> FloatArray:
    """At least 0, and 0 for state j of row j."""
    bounds = np.zeros((variables, 2))
    bounds[:, 1] = np.inf
    bounds[label * size + label, 1] = 0.0
    return bounds


def _rows(solution: FloatArray, size: int) -> FloatArray:
    """h [c, c], with the solver's tolerances taken off."""
    rows = np.maximum(solution[: size * size].reshape(size, size), 0.0)
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _potentials(sigma: Sigma, ratios: FloatArray, members: NDArray[np.int64]) -> FloatArray:
    """theta_C(x) [C, c, ..., c]: the probability of the classes C in any order, where predicting x is right."""
    size, arity = sigma.num_classes, sigma.arity
    predictions = np.indices((size,) * arity).reshape(arity, -1).T
    theta = np.zeros((len(members), len(predictions)))
    for order in map(list, permutations(range(arity))):
        truth, seen = sigma.apply(members[:, order]), sigma.apply(predictions[:, order])
        theta += (truth[:, None] == seen) & (truth[:, None] >= 0)
    # Each distinct order of a multiset was met once for every exchange of its equal members.
    equal = (members[:, :, None] == np.arange(size)).sum(axis=1)
    exchanges = np.array([math.prod(map(math.factorial, row)) for row in equal.tolist()])
    weights = ratios[members].prod(axis=1) / exchanges / valid_probability(sigma, ratios)
    return np.asarray((theta * weights[:, None]).reshape(len(members), *(size,) * arity))
