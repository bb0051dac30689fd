"""From lower bounds of the partial risk at a few class risks t to an upper bound of Phi_{sigma,j} for every R."""

from __future__ import annotations

import bisect

import numpy as np

from nslimb.arrays import FloatArray
from nslimb.theory.relaxation import Relaxation

# A bound this close to the local value counts as met. Where a gap stays, its place is found to ``_FINE``.
_TIGHT = 1e-6
_FINE = 1e-4
_ROUNDING = 1e-12
# The gap that cuts aim for, at so many points for each R.
_CLOSE = 1e-3
_CUT_POINTS = 12
_FIRST_PROGRAMS, _PROGRAMS_PER_RISK = 12, 4


class ClassCertificate:
    """Upper bounds of Phi_j(R) = max {t : V_j(t) <= R} for one class j, with V_j(t) = min {R_P(H) : H_jj = 1 - t}.

    A linear program bounds V_j from below at one t. Between two such points V_j cannot sag far below the line that
    joins them, because its curvature is bounded; so a few programs bound V_j for all t, and serve every R.

    In detail: for fixed directions of the rows, the agreement as a function of t has a second derivative of at least
    -kappa, with kappa the expected number of ordered pairs of positions that both have class j (for arity 2), or twice
    that: it is a sum over such pairs of f(j, j) - f(j, v) - f(v, j) + f(v, v) with f in [0, 1], and f(j, j) = 1 for
    arity 2.
    So 1 - V_j(t) + kappa t^2 / 2 is a maximum of convex functions, hence convex, and between two points where
    V_j is at least F_1 and F_2

        V_j(t) >= chord(t) - kappa / 2 (t - t_1) (t_2 - t).
    """

    def __init__(self, relaxation: Relaxation, label: int, pairs: float) -> None:
        self.relaxation, self.label = relaxation, label
        # Slightly more than the true value: rounding must not make it less, or 0.
        self.kappa = (pairs if relaxation.arity == 2 else 2 * pairs) * (1 + 1e-9) + 1e-14
        self.points, self.floors = [0.0], [0.0]
        self.cuts = relaxation.no_cuts()
        self.rows: list[FloatArray] = []  # of the relaxation, at the risks of ``order``
        self.order: list[float] = []
        self.evaluate(1.0)

    def evaluate(self, risk: float, target: float = -1.0) -> None:
        """Add a point, or raise the floor of one; with a ``target`` cuts are added until the floor is above it."""
        floor = self.relaxation.floor(self.label, risk, self.cuts, target)
        self.cuts = floor.cuts
        self.rows.append(floor.rows)
        self.order.append(risk)
        place = bisect.bisect_left(self.points, risk)
        if place < len(self.points) and self.points[place] == risk:
            self.floors[place] = max(self.floors[place], floor.value)
        else:
            self.points.insert(place, risk)
            self.floors.insert(place, floor.value)

    def bound(self, partial_risk: float) -> tuple[float, int]:
        """The largest risk t for which V_j(t) <= R has not been ruled out, and the index of the point beyond it."""
        points, floors = np.array(self.points), np.array(self.floors)
        if floors[-1] <= partial_risk:
            return 1.0, len(points)
        width, rise = np.diff(points), np.diff(floors)
        # kappa / 2 s^2 + linear s + constant <= 0 for s = t - t_1 up to the larger root, written without cancellation.
        linear = rise / width - self.kappa * width / 2
        constant = floors[:-1] - partial_risk
        under = linear**2 - 2 * self.kappa * constant
        with np.errstate(divide="ignore", invalid="ignore"):
            swing = np.sqrt(under)
            root = np.where(linear > 0, -2 * constant / (linear + swing), (swing - linear) / self.kappa)
        inside = (constant <= 0) | ((under >= 0) & (root > 0) & (root < width))
        last = int(np.flatnonzero(inside)[-1])  # the first always is: its floor at t = 0 is 0
        return min(1.0, float(points[last] + np.clip(root[last], 0.0, width[last])) + _ROUNDING), last + 1

    def tighten(self, partial_risks: FloatArray, local: FloatArray) -> FloatArray:
        """Add points until each bound meets its local value, or the relaxation has no more to give: [K] bounds."""
        open_ = set(range(len(partial_risks)))
        for _ in range(_FIRST_PROGRAMS + _PROGRAMS_PER_RISK * len(partial_risks)):
            gaps = {}
            for k in open_:
                bound, right = self.bound(float(partial_risks[k]))
                gaps[k] = (bound - local[k], right)
            open_ = {k for k in open_ if self._worthwhile(gaps[k][0], gaps[k][1], float(partial_risks[k]))}
            if not open_:
                break
            worst = max(open_, key=lambda k: gaps[k][0])
            self.evaluate(self._next(gaps[worst][1], float(partial_risks[worst]), float(local[worst])))
        return np.array([self.bound(float(risk))[0] for risk in partial_risks])

    def cut(self, partial_risks: FloatArray, local: FloatArray) -> FloatArray:
        """Where a gap is left, close it by cuts if the relaxation takes any: [K] bounds."""
        for risk, reached in zip(partial_risks.tolist(), local.tolist(), strict=True):
            tried: set[float] = set()
            for _ in range(_CUT_POINTS if self.relaxation.takes_cuts else 0):
                bound, right = self.bound(risk)
                if bound - reached <= 1.5 * _CLOSE:
                    break
                low = self.points[right - 1]
                high = self.points[right] if right < len(self.points) else 1.0
                if self.floors[right - 1] <= risk and low > reached + _CLOSE / 2 and low not in tried:
                    point = low
                elif low < reached + _CLOSE < high:
                    point = reached + _CLOSE
                elif high - low > _CLOSE:
                    point = (low + high) / 2
                else:
                    break
                tried.add(point)
                self.evaluate(point, risk)
        return np.array([self.bound(float(risk))[0] for risk in partial_risks])

    def _worthwhile(self, gap: float, right: int, partial_risk: float) -> bool:
        """Whether a further point may close the gap: not where it is closed, nor where the points are dense already."""
        if gap <= 2 * _TIGHT or right == len(self.points):
            return False
        bracketed = self.floors[right - 1] <= partial_risk
        return self.points[right] - self.points[right - 1] > (_FINE if bracketed and gap > _FINE else _TIGHT)

    def _next(self, right: int, partial_risk: float, local: float) -> float:
        """Where to look next: just above the local value, else where the line through the two floors meets R."""
        low, high = self.points[right - 1], self.points[right]
        if low < local + _TIGHT < high:
            return local + _TIGHT
        if self.floors[right - 1] > partial_risk:
            return (low + high) / 2
        share = (partial_risk - self.floors[right - 1]) / (self.floors[right] - self.floors[right - 1])
        return low + (high - low) * min(max(share, 0.05), 0.95)
