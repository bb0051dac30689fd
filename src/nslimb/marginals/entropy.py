"""The most even ratios that the weak labels allow: Algorithm 1, regularised."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nslimb.arrays import FloatArray
from nslimb.marginals.likelihood import WeakLikelihood

# The barrier mu bounds how much entropy, in nats, the result is short of the largest.
_LAST_BARRIER = 1e-9
_FIRST_SHARE, _BARRIER_FACTOR = 0.3, 0.1
_MAX_ITERATIONS = 200
_SHORTEST_STEP = 1e-10
# The multiplier may differ from mu / slack, its value on the central path, by this factor.
_MULTIPLIER_SPREAD = 100.0
_LEAST_CURVATURE = 1e-6


class MostEven(NamedTuple):
    """The ratios of largest entropy within a region of high likelihood."""

    ratios: FloatArray  # [G, c]
    loss: float  # nats below the maximum, over all samples; at most the level
    iterations: int
    converged: bool


def level_of(identified: int) -> float:
    """What the true ratios are expected to lose to the maximum likelihood, in nats: d / 2 for d identified directions.

    Twice the loss is close to chi-squared with d degrees of freedom, whose mean is d. Where nothing is identified, the
    level of one direction gives the region an inside.
    """
    return max(1, identified) / 2


def most_even(likelihood: WeakLikelihood, peak: FloatArray, level: float) -> MostEven:
    """Maximise sum_g H(R_g) over ratios R [G, c] with m (l(peak) - l(R)) <= level.

    ``peak`` maximises l; H(R_g) = -sum_y R_gy log R_gy. An interior-point method: with slack(R) the level less the
    left-hand side, H(R) + mu log slack(R) is maximised by Newton's method as mu falls to 1e-9, from a point between the
    peak and uniform ratios. Every iterate is inside the region, so that the result is, even where ``converged`` is
    False. The region need not be convex: the result is the best of its surroundings.
    """
    region = _Region(likelihood, likelihood.value(_positive(peak, likelihood)), level)
    uniform = likelihood.uniform
    if region.slack(uniform) >= 0:
        return MostEven(uniform, max(0.0, region.loss(uniform)), 0, True)
    ratios = _start(region, peak)
    slack = region.slack(ratios)
    if slack <= 0:  # so many samples that rounding alone costs more than the level
        return MostEven(peak, 0.0, 0, False)
    missing = _entropy(uniform, likelihood.possible) - _entropy(ratios, likelihood.possible)
    mu = max(_LAST_BARRIER, _FIRST_SHARE * missing)
    multiplier = mu / slack
    iterations, converged = 0, False
    while iterations < _MAX_ITERATIONS:
        iterations += 1
        model = _Model(region, ratios, multiplier, iterations)
        change, gain = model.step(mu)
        if gain < mu:
            converged = mu <= _LAST_BARRIER
            if converged:
                break
            mu = max(_LAST_BARRIER, _BARRIER_FACTOR * mu)
            change, gain = model.step(mu)
        moved, length = _search(region, ratios, change, gain, mu)
        if length == 0:
            break
        aim = model.multiplier_after(change, mu)
        ratios, slack = moved, region.slack(moved)
        central = mu / slack
        multiplier += length * (aim - multiplier)
        multiplier = float(np.clip(multiplier, central / _MULTIPLIER_SPREAD, central * _MULTIPLIER_SPREAD))
    return MostEven(ratios, max(0.0, region.loss(ratios)), iterations, converged)


class _Region:
    """All R with m (top - l(R)) <= level."""

    def __init__(self, likelihood: WeakLikelihood, top: float, level: float) -> None:
        self.likelihood, self.top, self.level = likelihood, top, level

    def loss(self, ratios: FloatArray) -> float:
        return self.likelihood.samples * (self.top - self.likelihood.value(ratios))

    def slack(self, ratios: FloatArray) -> float:
        return self.level - self.loss(ratios)


class _Model:
    """Entropy and slack to second order about R, in changes z with R -> R + sqrt(R) z that keep every group's sum.

    In these coordinates the entropy's curvature is minus the identity, however small a ratio is. The step solves the
    conditions of an optimum, linearised: grad H + multiplier grad slack = 0 and multiplier * slack = mu.
    """

    def __init__(self, region: _Region, ratios: FloatArray, multiplier: float, steps: int) -> None:
        likelihood, possible = region.likelihood, region.likelihood.possible
        samples = likelihood.samples
        values, slopes, derivative = likelihood.second_order(ratios[None], likelihood.shares[None], steps)
        self.slack = region.level - samples * (region.top - float(values[0]))
        inside = ratios[possible]
        self.root = np.sqrt(inside)
        self.basis = _keeping_sums(self.root, possible)
        self.entropy_slope = self.basis.T @ (-self.root * np.log(inside))
        self.slack_slope = self.basis.T @ (samples * slopes[0] / self.root)
        relative = samples * (np.diag(slopes[0]) - derivative[0]) / np.outer(self.root, self.root)
        bend = self.basis.T @ relative @ self.basis
        wall = np.outer(self.slack_slope, self.slack_slope) / self.slack
        self.multiplier = multiplier
        curvature = np.eye(len(bend)) + multiplier * (bend + wall)
        values, self.axes = np.linalg.eigh(curvature)
        # Curvature of the wrong sign is turned round.
        self.curvature = np.maximum(np.abs(values), _LEAST_CURVATURE)

    def step(self, mu: float) -> tuple[FloatArray, float]:
        """The relative change of the possible ratios, and what it gains to first order."""
        gradient = self.entropy_slope + mu / self.slack * self.slack_slope
        inside = self.axes @ ((self.axes.T @ gradient) / self.curvature)
        return (self.basis @ inside) / self.root, float(gradient @ inside)

    def multiplier_after(self, change: FloatArray, mu: float) -> float:
        """The multiplier that multiplier * slack = mu asks for after the change, to first order."""
        rise = float(self.slack_slope @ (self.basis.T @ (change * self.root)))
        return (mu - self.multiplier * rise) / self.slack


def _search(
    region: _Region, ratios: FloatArray, change: FloatArray, gain: float, mu: float
) -> tuple[FloatArray, float]:
    """The ratios after the longest step tried that raises H + mu log slack, and its length; 0 where none does."""
    possible = region.likelihood.possible
    merit = _entropy(ratios, possible) + mu * np.log(region.slack(ratios))
    length = float(min(1.0, 0.95 / max(1e-300, -change.min())))
    while length > _SHORTEST_STEP:
        moved = ratios.copy()
        moved[possible] *= 1 + length * change
        slack = region.slack(moved)
        wanted = merit + 1e-4 * length * gain - 1e-13
        if slack > 0 and _entropy(moved, possible) + mu * np.log(slack) >= wanted:
            return moved, length
        length *= 0.5
    return ratios, 0.0


def _start(region: _Region, peak: FloatArray) -> FloatArray:
    """The point closest to uniform, of some on the line from the peak to it, that is well inside the region."""
    likelihood = region.likelihood
    share = 2.0 ** -np.arange(1, 51)
    points = peak + share[:, None, None] * (likelihood.uniform - peak)
    values = likelihood.values(points, np.repeat(likelihood.shares[None], len(points), axis=0))
    inside = likelihood.samples * (region.top - values) < 0.9 * region.level
    return np.asarray(points[int(np.argmax(inside)) if inside.any() else -1])


def _positive(ratios: FloatArray, likelihood: WeakLikelihood) -> FloatArray:
    return np.asarray(np.maximum(ratios, 1e-300 * likelihood.possible))


def _entropy(ratios: FloatArray, possible: NDArray[np.bool_]) -> float:
    inside = ratios[possible]
    return float(-(inside @ np.log(inside)))


def _keeping_sums(root: FloatArray, possible: NDArray[np.bool_]) -> FloatArray:
    """An orthonormal basis [L, d] of the changes z of the L possible ratios with sum_y sqrt(R_gy) z_gy = 0."""
    groups = np.arange(len(possible))
    group_of = np.broadcast_to(groups[:, None], possible.shape)[possible]
    rows = np.where(group_of == groups[:, None], root, 0.0)
    return np.asarray(np.linalg.svd(rows)[2][len(rows) :].T)
