"""A linear relaxation of the partial risk that no confusion matrix can beat, with a bound that rounding cannot break."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement, permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array

from nslimb.sigma.component import Sigma
from nslimb.theory.inputs import FloatArray
from nslimb.theory.risk import valid_probability

# Variables of the largest relaxation that is solved: MAX-2 has 5,600.
MAX_VARIABLES = 30_000
_EPSILON = float(np.finfo(np.float64).eps)


class Floor(NamedTuple):
    """min R_P(H) over all H with H_jj = 1 - t is at least ``value``."""

    value: float
    rows: FloatArray  # [c, c]: the relaxation's own rows, a start for a local search


class Relaxation:
    """Lower bounds of V_j(t) = min {R_P(H) : H_jj = 1 - t}.

    With row j written as (1 - t) e_j + t v, the agreement 1 - R_P is a polynomial in v and the other rows:

        sum over multisets C = {a_1, ..., a_M} of classes, over x in Y^M, of theta_C(x) prod_i h_{a_i}(x_i),

    with theta_C(x) >= 0 the probability that the labels are C, in any order, times the probability that predicting x
    agrees. Replacing each product by a joint distribution X_C(x) whose marginals are the h_{a_i} gives a linear program
    (the local polytope of a graphical model whose variables are the classes). For arity 2 it is the first level of
    Sherali and Adams' hierarchy. Its vertices with h in {0, 1} are the deterministic classifiers, for which it is
    exact; what row j does besides is exact through t.

    The solver is not trusted. For any numbers delta_{C,i}(m),

        1 - R_P <= sum_a max_m sum_{C,i: a_i = a} delta_{C,i}(m) + sum_C max_x [theta_C(x) - sum_i delta_{C,i}(x_i)],

    so the bound is evaluated from the solver's dual values by this formula, whatever they are, and lowered by
    more than its rounding error.
    """

    def __init__(self, sigma: Sigma, ratios: FloatArray) -> None:
        self.arity, self.classes = sigma.arity, sigma.num_classes
        self.members = np.array(list(combinations_with_replacement(range(self.classes), self.arity)))  # [C, M]
        self.potentials = _potentials(sigma, ratios, self.members)  # [C, c, ..., c]
        self.constraints, self.right = self._constraints()

    @staticmethod
    def variables(sigma: Sigma) -> int:
        """The size of the linear program."""
        return math.comb(sigma.num_classes + sigma.arity - 1, sigma.arity) * sigma.num_classes**sigma.arity

    def floor(self, label: int, risk: float) -> Floor:
        """A lower bound of V_j(t) for j = ``label`` and t = ``risk``."""
        size, clusters = self.classes, len(self.members)
        potentials = self._at(label, risk)
        upper = np.full(self.constraints.shape[1], np.inf)
        upper[label * size + label] = 0.0
        cost = np.concatenate([np.zeros(size * size), -potentials.reshape(-1)])
        solved = linprog(
            cost,
            A_eq=self.constraints,
            b_eq=self.right,
            bounds=np.stack([np.zeros(len(upper)), upper], axis=1),
            method="highs",
            options={"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-9},
        )
        if solved.x is None or solved.status != 0:
            return Floor(0.0, np.eye(size))
        messages = -solved.eqlin.marginals[: clusters * self.arity * size].reshape(clusters, self.arity, size)
        rows = np.maximum(solved.x[: size * size].reshape(size, size), 0.0)
        return Floor(self._bound(potentials, messages, label), rows / rows.sum(axis=1, keepdims=True))

    def _at(self, label: int, risk: float) -> FloatArray:
        """theta with row j put in: along each axis of class j, state k stands for (1 - t) e_j + t e_k."""
        step = risk * np.eye(self.classes)
        step[:, label] += 1 - risk
        potentials = self.potentials.copy()
        for axis in range(self.arity):
            chosen = self.members[:, axis] == label
            moved = np.tensordot(potentials[chosen], step, axes=(axis + 1, 1))
            potentials[chosen] = np.moveaxis(moved, -1, axis + 1)
        return potentials

    def _bound(self, potentials: FloatArray, messages: FloatArray, label: int) -> float:
        """1 minus the right-hand side above, lowered by a bound of its rounding error."""
        own = np.zeros((self.classes, self.classes))
        np.add.at(own, self.members, messages)
        left = potentials.copy()
        for axis in range(self.arity):
            chosen = self.members[:, axis] == label
            shape = [-1, *np.where(np.arange(self.arity) == axis, self.classes, 1)]
            left -= messages[:, axis].reshape(shape)
            # Row j has no state j: what it does as j is part of the potentials.
            left[(chosen, *[slice(None)] * axis, label)] = -np.inf
        own[label, label] = -np.inf
        agreement = own.max(axis=1).sum() + left.reshape(len(left), -1).max(axis=1).sum()
        terms = messages.size + potentials.size
        rounding = _EPSILON * terms * (np.abs(messages).max(initial=0.0) + 1 / len(self.members))
        return float(1 - agreement - min(rounding, 1e-9) - 1e-12)

    def _constraints(self) -> tuple[csr_array, FloatArray]:
        """sum_{x: x_i = m} X_C(x) = h_{a_i}(m) for all C, i, m, then sum_m h_a(m) = 1."""
        size, clusters, arity = self.classes, len(self.members), self.arity
        states = np.indices((size,) * arity).reshape(arity, -1)  # [M, c^M]
        row = (np.arange(clusters * arity).reshape(clusters, arity, 1) * size + states).reshape(-1)
        column = np.arange(clusters * states.shape[1]).reshape(clusters, 1, -1) + size * size
        column = np.broadcast_to(column, (clusters, arity, states.shape[1])).reshape(-1)
        marginal_rows = np.arange(clusters * arity * size)
        marginal = (self.members.reshape(-1, 1) * size + np.arange(size)).reshape(-1)
        total_rows = len(marginal_rows) + np.repeat(np.arange(size), size)
        rows = np.concatenate([row, marginal_rows, total_rows])
        columns = np.concatenate([column, marginal, np.arange(size * size)])
        values = np.concatenate([np.ones(len(row)), -np.ones(len(marginal)), np.ones(size * size)])
        shape = (len(marginal_rows) + size, size * size + clusters * states.shape[1])
        return csr_array((values, (rows, columns)), shape=shape), np.repeat([0.0, 1.0], [len(marginal_rows), size])


def _potentials(sigma: Sigma, ratios: FloatArray, members: NDArray[np.int64]) -> FloatArray:
    """theta [C, c, ..., c], the same under any exchange of axes of equal classes."""
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
