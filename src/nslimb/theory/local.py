"""A lower bound of Phi_{sigma,j}: feasible confusion matrices with a large risk of class j."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nslimb.arrays import FloatArray, IntArray
from nslimb.errors import TooLarge
from nslimb.sigma.component import Sigma
from nslimb.theory.agreement import Agreement, AnyAgreement, Candidates
from nslimb.theory.risk import pair_entries

_MAX_STEPS = 30
_MAX_ENTRIES = 300_000  # of the tables of the pair pass; SUM-7 has 35,000
_ROUNDS = 3
_KEPT = 2  # candidates refined for each class and risk
_GRID = 129
_GAIN = 1e-12  # of agreement, below which a step counts as none


class _Polynomial:
    """Polynomials on [0, 1] of the degree of the agreement, from their values at Chebyshev points."""

    def __init__(self, degree: int) -> None:
        self.nodes = (1 - np.cos(np.pi * np.arange(degree + 1) / degree)) / 2
        self.weights = (-1.0) ** np.arange(degree + 1)
        self.weights[[0, -1]] /= 2
        self.grid = np.linspace(0, 1, _GRID)
        self.on_grid = self.basis(self.grid)

    def basis(self, points: FloatArray) -> FloatArray:
        """The values [..., degree + 1] of the basis at ``points`` [...], by the barycentric formula."""
        distance = points[..., None] - self.nodes
        exact = distance == 0
        terms = np.where(exact.any(axis=-1, keepdims=True), exact, self.weights / np.where(exact, 1.0, distance))
        return np.asarray(terms / terms.sum(axis=-1, keepdims=True))

    def largest(self, values: FloatArray, level: FloatArray) -> FloatArray:
        """The largest t in [0, 1] where the polynomial is at least ``level``, -1 where there is none on the grid.

        ``values`` [..., degree + 1] and ``level`` [...] broadcast. Bisects behind the last point of the grid.
        """
        enough = values @ self.on_grid.T >= level[..., None]
        last = _GRID - 1 - np.argmax(enough[..., ::-1], axis=-1)
        low = self.grid[last]
        high = self.grid[np.minimum(last + 1, _GRID - 1)]
        values = np.broadcast_to(values, (*low.shape, values.shape[-1]))
        for _ in range(50):
            middle = (low + high) / 2
            fits = (self.basis(middle) * values).sum(axis=-1) >= level
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.where(enough.any(axis=-1), low, -1.0)


def _level(partial_risks: FloatArray) -> FloatArray:
    """The share of right weak labels, 1 - R, that a classifier must reach; a hair less, for rounding.

    ``_feasible`` forgives a larger shortfall, more than twice this one. So what is found here always passes there.
    """
    return np.asarray(1 - partial_risks - 4e-13)


def check_pairs(sigma: Sigma) -> None:
    """Refuse a sigma with too many pairs of states for the passes that a search needs."""
    if pair_entries(sigma) > _MAX_ENTRIES:
        raise TooLarge(
            f"class risk bounds: {sigma!r} has {pair_entries(sigma)} pairs of states and labels in a layer, "
            f"more than {_MAX_ENTRIES}; the search needs thousands of passes over them"
        )


class LocalBounds(NamedTuple):
    risks: FloatArray  # [K, c]: the risk of class j that some H reaches
    confusion: FloatArray  # [K, c, c, c]: that H


class LocalSolver:
    """max 1 - H_jj subject to R_P(H) <= R, for all classes and a vector of partial risks at once.

    A candidate fixes everything but the risk t of class j; its agreement is then a polynomial in t, and its best t
    for any R is the polynomial's last crossing of 1 - R. Candidates are improved at their own t by the better of two
    steps: Frank and Wolfe's with a line search, or Baum and Eagon's (the agreement is a polynomial with coefficients of
    at least 0, so H * gradient, normalised, never lowers it). Where neither gains, one row may jump to a vertex.
    The agreement never falls, so t never falls, and every candidate stays feasible. What is found for one R is a
    start for every other.
    """

    @classmethod
    def of(cls, sigma: Sigma, ratios: FloatArray) -> LocalSolver:
        """For one sigma."""
        check_pairs(sigma)
        return cls(Agreement(sigma, ratios))

    def __init__(self, agreement: AnyAgreement, seed: int = 0) -> None:
        self.agreement = agreement
        self.polynomial = _Polynomial(agreement.degree)
        self.pool = self._starts(np.random.default_rng(seed))
        self.values = self._values(self.pool)
        for risk in (1.0, 0.5):
            chosen = self._best_per_class(self._at(risk), _KEPT)
            fixed = np.full(len(chosen), risk)
            self._add(self._ascend(self.pool.take(chosen), fixed, None))

    def solve(self, partial_risks: FloatArray) -> LocalBounds:
        size = self.agreement.classes
        best = np.full((len(partial_risks), size), -1.0)
        for _ in range(_ROUNDS):
            risks = self._risks(partial_risks)
            chosen = np.stack([self._best_per_class(row, _KEPT) for row in risks])  # [K, c * kept]
            level = np.repeat(_level(partial_risks), chosen.shape[1])
            start = np.take_along_axis(risks, chosen, axis=1).reshape(-1)
            feasible = start >= 0
            self._add(self._ascend(self.pool.take(chosen.reshape(-1)[feasible]), start[feasible], level[feasible]))
            self._share(partial_risks)
            risks = self._risks(partial_risks)
            index = np.stack([self._best_per_class(row, 1) for row in risks])  # [K, c]
            reached = np.take_along_axis(risks, index, axis=1)
            done = (reached <= best + 1e-9).all()
            best = reached
            if done:
                break
        winners = self.pool.take(index.reshape(-1))
        risks, matrices = self._feasible(winners, best.reshape(-1), np.repeat(1 - partial_risks, size))
        return LocalBounds(risks.reshape(-1, size), matrices.reshape(-1, size, size, size))

    def _share(self, partial_risks: FloatArray) -> None:
        """What is best for one class becomes a candidate for every other class that it gets wrong."""
        risks = self._risks(partial_risks)
        index = np.stack([self._best_per_class(row, 1) for row in risks])
        reached = np.take_along_axis(risks, index, axis=1).reshape(-1)
        found = np.unique(np.stack([index.reshape(-1), reached.round(9)]), axis=1)
        matrices = self.pool.take(found[0].astype(np.int64)).matrices(np.maximum(found[1], 0.0))
        which, classes = np.nonzero(np.einsum("njj->nj", matrices) < 1 - 1e-9)
        each, rows = np.arange(len(which)), matrices[which]
        rows[each, classes, classes] = 0
        rows[each, classes] /= rows[each, classes].sum(axis=1, keepdims=True)
        self._add(Candidates(classes, rows))

    def improve(self, candidates: Candidates, risks: FloatArray) -> None:
        """Candidates found elsewhere, for the class risks [N]: improved there and added to the pool."""
        self._add(self._ascend(candidates, risks, None))

    def _starts(self, rng: np.random.Generator) -> Candidates:
        """All else right and j seen as k; the same with k seen as j; random maps; random matrices."""
        size = self.agreement.classes
        j, k = np.nonzero(~np.eye(size, dtype=bool))
        seen_as = np.tile(np.eye(size), (len(j), 1, 1))
        seen_as[np.arange(len(j)), j] = np.eye(size)[k]
        swapped = seen_as.copy()
        swapped[np.arange(len(j)), k] = np.eye(size)[j]
        every = np.repeat(np.arange(size), 4)
        maps = np.where(
            rng.random((len(every), size)) < 0.5, np.arange(size), rng.integers(size, size=(len(every), size))
        )
        soft = rng.dirichlet(np.ones(size), size=(len(every), size))
        rows = np.concatenate([seen_as, swapped, np.eye(size)[maps], soft])
        classes = np.concatenate([j, j, every, every])
        own = rows[np.arange(len(rows)), classes]
        own[np.arange(len(rows)), classes] = 0
        own += (own.sum(axis=1, keepdims=True) == 0) * (np.arange(size) == (classes[:, None] + 1) % size)
        rows[np.arange(len(rows)), classes] = own / own.sum(axis=1, keepdims=True)
        return Candidates(classes, rows)

    def _values(self, candidates: Candidates) -> FloatArray:
        """The agreement at the nodes of t: [N, degree + 1]."""
        nodes = self.polynomial.nodes
        repeated = candidates.take(np.repeat(np.arange(len(candidates.rows)), len(nodes)))
        return self.agreement.value(repeated.matrices(np.tile(nodes, len(candidates.rows)))).reshape(-1, len(nodes))

    def _at(self, risk: float) -> FloatArray:
        return np.asarray(self.values @ self.polynomial.basis(np.array(risk)))

    def _risks(self, partial_risks: FloatArray) -> FloatArray:
        """The risk that each candidate of the pool reaches: [K, N]."""
        return self.polynomial.largest(
            self.values[None], np.broadcast_to(_level(partial_risks)[:, None], (len(partial_risks), len(self.values)))
        )

    def _best_per_class(self, score: FloatArray, kept: int) -> IntArray:
        """Indices into the pool of the ``kept`` best of each class, class after class."""
        order = np.lexsort((-score, self.pool.classes))
        first = np.searchsorted(self.pool.classes[order], np.arange(self.agreement.classes))
        return np.asarray(order[(first[:, None] + np.arange(kept)).reshape(-1)])

    def _add(self, candidates: Candidates) -> None:
        self.pool = Candidates(*(np.concatenate(pair) for pair in zip(self.pool, candidates, strict=True)))
        self.values = np.concatenate([self.values, self._values(candidates)])

    def _ascend(self, candidates: Candidates, risks: FloatArray, level: FloatArray | None) -> Candidates:
        """Raise the agreement at t = ``risks``; with a ``level`` t then follows to the level's last crossing."""
        rows, risks = candidates.rows.copy(), risks.copy()
        active = np.arange(len(rows))
        for _ in range(_MAX_STEPS):
            if not len(active):
                break
            now = Candidates(candidates.classes[active], rows[active])
            before = self.agreement.value(now.matrices(risks[active]))
            moved, after = self._step(now, risks[active])
            rows[active] = moved.rows
            gained = after > before + _GAIN
            if level is not None:
                reached = self.polynomial.largest(self._values(moved), level[active])
                gained |= reached > risks[active] + 1e-10
                risks[active] = np.maximum(reached, risks[active])
            active = active[gained]
        return Candidates(candidates.classes, rows)

    def _step(self, candidates: Candidates, risks: FloatArray) -> tuple[Candidates, FloatArray]:
        size, each = self.agreement.classes, np.arange(len(candidates.rows))
        classes, rows = candidates
        gradient = self.agreement.gradient(candidates.matrices(risks))
        gradient[each, classes, classes] = -np.inf
        vertices = np.eye(size)[gradient.argmax(axis=2)]
        gradient[each, classes, classes] = 0.0
        options = np.stack([rows, self._line_search(candidates, vertices, risks), self._grow(rows, gradient)])
        values = np.stack([self.agreement.value(Candidates(classes, option).matrices(risks)) for option in options])
        choice = values.argmax(axis=0)
        moved, after = options[choice, each], values[choice, each]
        stuck = np.flatnonzero(after <= values[0] + _GAIN)
        if len(stuck):
            jumps = self.agreement.after_jumps(candidates.take(stuck), risks[stuck])
            jumps[np.arange(len(stuck)), classes[stuck], classes[stuck]] = -np.inf
            jumps = jumps.reshape(len(stuck), -1)
            best = jumps.argmax(axis=1)
            reached = jumps[np.arange(len(stuck)), best]
            gain = reached > values[0, stuck] + _GAIN
            row, vertex = np.divmod(best[gain], size)
            moved[stuck[gain], row] = np.eye(size)[vertex]
            after[stuck[gain]] = reached[gain]
        return Candidates(classes, moved), after

    def _line_search(self, candidates: Candidates, vertices: FloatArray, risks: FloatArray) -> FloatArray:
        """The best point between the rows and the vertices, on the grid."""
        classes, rows = candidates
        direction = vertices - rows
        points = rows[:, None] + self.polynomial.nodes[:, None, None] * direction[:, None]
        count = len(self.polynomial.nodes)
        along = Candidates(np.repeat(classes, count), points.reshape(-1, *rows.shape[1:]))
        values = self.agreement.value(along.matrices(np.repeat(risks, count))).reshape(-1, count)
        best = self.polynomial.grid[(values @ self.polynomial.on_grid.T).argmax(axis=1)]
        return np.asarray(rows + best[:, None, None] * direction)

    @staticmethod
    def _grow(rows: FloatArray, gradient: FloatArray) -> FloatArray:
        grown = rows * gradient
        total = grown.sum(axis=2, keepdims=True)
        return np.where(total > 0, grown / np.where(total > 0, total, 1.0), rows)

    def _feasible(self, candidates: Candidates, risks: FloatArray, level: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Take back what rounding gained: shrink t until the agreement, evaluated anew, is enough."""
        for step in (0.0, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10):
            low = np.maximum(risks - step, 0.0)
            short = self.agreement.value(candidates.matrices(low)) < level - 1e-12
            risks = np.where(short, risks, low)
            if not short.any():
                break
        return risks, candidates.matrices(risks)
