"""How sure Algorithm 1 is: bootstrap intervals for the ratios of the hidden labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from nslimb.arrays import FloatArray
from nslimb.checks import check_count
from nslimb.errors import InvalidInput
from nslimb.marginals.estimate import MarginalEstimate, Regularise, check_regularise, described
from nslimb.marginals.likelihood import WeakLikelihood, groups_of
from nslimb.marginals.newton import climb, rows_at_once
from nslimb.marginals.profile import likelihood_interval
from nslimb.marginals.starts import best_start, chance, misfit
from nslimb.seeds import numpy_generator
from nslimb.sigma.component import Sigma

# Few enough that a progress bar moves, enough to share a pass.
_ROWS = 50
_AT_THE_EDGE = 1e-3


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """The estimate with an interval for each ratio, [c], or [M, c] where positions were grouped."""

    estimate: MarginalEstimate
    level: float
    lower: FloatArray
    upper: FloatArray
    identified: NDArray[np.bool_]  # [c]: False for the classes that the weak labels leave open
    replicates: FloatArray  # [resamples, ...], the estimates from resampled weak labels


def bootstrap_marginal(
    weak: Any,
    sigma: Sigma,
    groups: Any = None,
    *,
    counts: bool = False,
    resamples: int = 200,
    level: float = 0.95,
    seed: int = 1,
    progress: Callable[[int], None] | None = None,
    regularise: Regularise = None,
    noise: float = 0.0,
) -> Bootstrap:
    """Percentile intervals: Algorithm 1 again on resampled weak labels, all of them in batched passes.

    ``weak``, ``groups``, ``counts``, ``regularise`` and ``noise`` as in ``nslimb.estimate_marginal``. Resampling m
    weak labels with replacement is drawing their counts from a multinomial with the observed shares. The interval of a
    class is between the (1 - level) / 2 and (1 + level) / 2 quantiles of its ``resamples`` estimates. ``progress`` is
    called with the number of estimates that are done.

    A bootstrap knows nothing of weak labels that happen not to be in the data. So where some class's quantiles touch 0
    or 1, or the weak labels leave it open (``estimate.flat_classes``), the intervals also take in those of the
    likelihood ratio (``nslimb.marginals.profile.likelihood_interval``).

    With ``regularise`` the ``estimate`` is the regularised one; resamples and intervals are those of the most likely
    ratios, and an interval that leaves the estimate out is extended to it.

    Parameters
    ----------
    weak, sigma, groups, counts, regularise, noise
        As for ``nslimb.estimate_marginal``.
    resamples
        How many times the weak labels are drawn anew.
    level
        Of the intervals.
    seed
        Of the draws.
    progress
        Called with the number of estimates that are done.

    Returns
    -------
    Bootstrap
        The ``estimate``, and ``lower`` and ``upper`` of each ratio.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> found = bootstrap_marginal([100, 300, 600], Sigma.from_function(max, num_classes=3, arity=2), counts=True)
    >>> found.estimate.ratios.numpy().round(2), found.lower.round(2), found.upper.round(2)
    (array([0.32, 0.32, 0.37]), array([0.29, 0.29, 0.35]), array([0.35, 0.35, 0.39]))
    """
    check_count("resamples", resamples)
    if not 0 < level < 1:
        raise InvalidInput("level", "a number between 0 and 1", level)
    check_regularise(regularise)
    groups = groups_of(Sigma.check(sigma, families=True)) if groups is None else groups
    likelihood = WeakLikelihood.from_weak(weak, sigma, groups, counts, noise)
    if likelihood.samples > 1e15 or likelihood.samples % 1:
        raise InvalidInput("weak", "whole counts, to draw as many weak labels again", f"{likelihood.samples} in all")
    samples = int(likelihood.samples)
    drawn = numpy_generator(seed, "bootstrap").multinomial(samples, likelihood.shares, size=resamples) / samples
    rows = min(_ROWS, rows_at_once(likelihood))
    parts = []
    with torch.inference_mode(False), torch.enable_grad():
        solved = best_start(likelihood)
        first = solved[0]
        estimate = described(likelihood, solved, regularise, groups is not None)
        for i in range(0, resamples, rows):
            parts.append(_estimates(likelihood, drawn[i : i + rows], first))
            if progress is not None:
                progress(min(i + rows, resamples))
    found = np.concatenate(parts)
    identified = np.ones(sigma.num_classes, dtype=bool)
    identified[list(estimate.flat_classes)] = False
    lower, upper = _intervals(likelihood, first, found, identified, level)
    if groups is None:
        lower, upper = lower[0], upper[0]
    else:
        lower, upper = lower[likelihood.positions], upper[likelihood.positions]
    if regularise is not None:
        lower, upper = np.minimum(lower, estimate.ratios.numpy()), np.maximum(upper, estimate.ratios.numpy())
    return Bootstrap(
        estimate=estimate,
        level=level,
        lower=lower,
        upper=upper,
        identified=identified,
        replicates=found[:, 0] if groups is None else found[:, likelihood.positions],
    )


def _intervals(
    likelihood: WeakLikelihood, first: FloatArray, found: FloatArray, identified: NDArray[np.bool_], level: float
) -> tuple[FloatArray, FloatArray]:
    """Both ends [G, c] from the estimates ``found`` [n, G, c] of the resamples."""
    lower, upper = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)
    doubtful = likelihood.possible & (~identified | (lower < _AT_THE_EDGE) | (upper > 1 - _AT_THE_EDGE))
    # What is missing from one class has gone to its neighbours, so that theirs are too short as well.
    doubtful = likelihood.possible & doubtful.any(axis=1, keepdims=True)
    doubtful &= likelihood.possible.sum(axis=1, keepdims=True) > 1  # an only label has ratio 1
    with torch.inference_mode(False), torch.enable_grad():
        low, high = likelihood_interval(likelihood, first, doubtful, level) if doubtful.any() else (lower, upper)
    return np.where(doubtful, np.minimum(lower, low), lower), np.where(doubtful, np.maximum(upper, high), upper)


def _estimates(likelihood: WeakLikelihood, shares: FloatArray, first: FloatArray) -> FloatArray:
    """Algorithm 1 for each of the shares [n, S]: ratios [n, G, c].

    The likelihood may have several maxima, and the search for the best start is too slow for every resample. So it is
    kept for the few that need it:

    1. Every resample is first maximised from uniform ratios.
    2. Where the result fits worse than chance allows, it is maximised again from halfway between uniform ratios and
       ``first``, the estimate of the whole data, for which the search was done.
    3. Resamples that end at a saddle point get a search of their own; and so do those that still do not fit, provided
       that the whole data does fit (otherwise the model is wrong, and no start would help).
    """
    uniform, samples = likelihood.uniform, likelihood.samples
    stops = climb(likelihood, shares, np.repeat(uniform[None], len(shares), axis=0))
    ratios, values = stops.ratios, stops.values
    unfit = _unfit(likelihood, shares, values)
    again = np.flatnonzero(unfit & ~stops.curves_up)
    if len(again):
        start = (uniform + first) / 2
        others = climb(likelihood, shares[again], np.repeat(start[None], len(again), axis=0))
        better = others.values > values[again] + 1e-9
        ratios[again[better]], values[again[better]] = others.ratios[better], others.values[better]
    stuck = stops.curves_up
    if misfit(likelihood.shares, samples, likelihood.value(first)) <= chance(likelihood):
        stuck = stuck | _unfit(likelihood, shares, values)
    for i in np.flatnonzero(stuck):
        ratios[i] = best_start(replace(likelihood, shares=shares[i]))[0]
    return ratios


def _unfit(likelihood: WeakLikelihood, shares: FloatArray, values: FloatArray) -> NDArray[np.bool_]:
    """Which of the values l(R) [n] fall short of the shares [n, S] by more than chance allows."""
    short = [misfit(p, likelihood.samples, value) for p, value in zip(shares, values, strict=True)]
    return np.array(short) > chance(likelihood)
