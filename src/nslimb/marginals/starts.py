"""Where to start Newton's method: from uniform ratios, and from others where that is not good enough."""

from __future__ import annotations

import math

import numpy as np

from nslimb.arrays import FloatArray
from nslimb.marginals.likelihood import WeakLikelihood
from nslimb.marginals.newton import Stops, climb

_MAX_ESCAPES = 5


def best_start(likelihood: WeakLikelihood) -> tuple[FloatArray, int, bool]:
    """The maximiser [G, c] of l, the iterations spent, and whether they converged.

    A point where the likelihood still curves up in some direction (parity is symmetric at uniform ratios) is left to
    both sides. Where the fit is worse than chance allows, ratios that favour one class are tried too.
    """
    uniform = likelihood.uniform
    best = _climb(likelihood, uniform[None])
    spent = int(best.iterations[0])
    for _ in range(_MAX_ESCAPES):
        if not best.curves_up[0]:
            break
        moved = [shifted(likelihood, best.ratios[0], sign * best.upward[0]) for sign in (0.5, -0.5)]
        others = _climb(likelihood, np.stack(moved))
        spent += int(others.iterations.sum())
        tried = Stops.joined([best, others])
        best = tried.only(int(np.argmax(tried.values - 1e-9 * tried.curves_up)))
    if misfit(likelihood.shares, likelihood.samples, best.values[0]) > chance(likelihood):
        groups, labels = np.nonzero(likelihood.possible)
        starts = np.repeat(uniform[None], len(groups), axis=0)
        starts[np.arange(len(groups)), groups] *= 0.5
        starts[np.arange(len(groups)), groups, labels] += 0.5
        others = _climb(likelihood, starts)
        spent += int(others.iterations.sum())
        if others.values.max() > best.values[0] + 1e-9:
            best = others.only(int(np.argmax(others.values)))
    return best.ratios[0], spent, bool(best.converged[0] and not best.curves_up[0])


def misfit(shares: FloatArray, samples: float, value: float) -> float:
    """Half the deviance: what the best possible fit has above l(R), over all samples, in nats."""
    seen = shares[shares > 0]
    return samples * (float(seen @ np.log(seen)) - value)


def chance(likelihood: WeakLikelihood) -> float:
    """The largest misfit, in nats, that chance alone may cause where the model is right.

    Twice the misfit of a right model is distributed like a chi-squared with about S degrees of freedom, S the number of
    weak labels: of mean S and standard deviation sqrt(2 S). The limit is the mean and three deviations, halved. For
    sequences there is no limit: most of them occur once, and then the misfit does not tell a bad model from a good one.
    """
    if not likelihood.sigma.is_listed:
        return math.inf
    size = len(likelihood.shares)
    return float(size / 2 + 3 * np.sqrt(size / 2))


def _climb(likelihood: WeakLikelihood, starts: FloatArray) -> Stops:
    return climb(likelihood, np.repeat(likelihood.shares[None], len(starts), axis=0), starts)


def shifted(likelihood: WeakLikelihood, ratios: FloatArray, relative: FloatArray) -> FloatArray:
    """The ratios changed by a factor of exp(relative), each group summing to 1 again."""
    moved = ratios.copy()
    moved[likelihood.possible] *= np.exp(relative / np.abs(relative).max())
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))
