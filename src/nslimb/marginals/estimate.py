"""Algorithm 1: the marginal of the hidden labels from weak labels alone."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import FloatArray
from nslimb.errors import InvalidInput
from nslimb.marginals.adam import AdamOptions, adam_steps
from nslimb.marginals.entropy import level_of, most_even
from nslimb.marginals.information import directions, flat_directions
from nslimb.marginals.likelihood import WeakLikelihood, groups_of
from nslimb.marginals.sequences import likelihood_of
from nslimb.marginals.starts import best_start
from nslimb.sigma.component import Sigma

Regularise = Literal["entropy"] | None


class NotIdentified(UserWarning):
    """The weak labels do not determine the ratios of some classes."""


class MarginalEstimate(NamedTuple):
    """What the weak labels say about the hidden marginal."""

    ratios: Tensor  # float64 [c], or [M, c] where positions were grouped
    log_likelihood: float  # sum_j p_j log P_j: the mean over samples
    iterations: int
    converged: bool
    flat: Tensor  # float64 [d, G, c]: orthonormal directions that the weak labels leave open
    flat_classes: tuple[int, ...]  # the classes that those directions move
    level: float = 0.0  # how many nats below the largest log-likelihood of all samples the ratios were allowed to be
    loss: float = 0.0  # ... and are


def estimate_marginal(
    weak: Any,
    sigma: Sigma,
    groups: Any = None,
    *,
    counts: bool = False,
    solver: Literal["newton", "adam"] = "newton",
    adam: AdamOptions = AdamOptions(),  # noqa: B008
    regularise: Regularise = None,
    noise: float = 0.0,
) -> MarginalEstimate:
    """Maximise l(r) = sum_j p_j log P_j(r) over the simplex (Algorithm 1), for any sigma.

    P_j is the probability of weak label j, Psi_sigma(r)_j, given that there is a weak label at all. With ``noise`` e a
    weak label is drawn from all of them at random with probability e: P_j becomes (1 - e) P_j + e / S.

    ``weak`` holds weak labels as indices [m] or, with ``counts=True``, how often each occurred [S]. ``groups`` gives
    each position's group (``[0, 1, 0]`` for HWF-3: digits and operators apart); each group has ratios of its own, over
    the labels that sigma accepts there. Where weak labels are sequences, ``weak`` is [m, L], and the curvature that
    Newton's method steps by comes from the outer products of the samples' scores, as do the directions left open.

    Weak labels that are sets, bool [m, S], or log-weights, float [m, S], enter as the mean logarithm of the sum over
    the set of the (weighted) P_j. That is right where the chance of seeing a set does not depend on which of its
    members is true. For a family P_j is given the sample's member, with a weak label by that member. In both cases the
    information about the ratios is told from the observations made, not from those expected.

    ``solver="newton"`` follows the maximisers of l(r) + mu sum_y log r_y as mu falls to 1e-11. Among ratios of equal
    likelihood it so ends at the one closest to uniform, in the sense of KL(uniform || r). ``solver="adam"`` is the
    paper's: gradient steps on softmax logits.

    The most likely ratios overfit: where weak labels say little, they give whole groups of classes to one of them.
    ``regularise="entropy"`` returns, of all ratios with m (max l - l(r)) <= ``level``, those of largest entropy (summed
    over groups). The level is d / 2 nats for d identified directions, what the true ratios themselves are expected to
    lose. ``log_likelihood`` is that of the ratios returned, ``loss`` what they lose.

    Directions along which the standard error at the most likely ratios is at least 1, more than the simplex is wide,
    are returned as ``flat`` and their classes named in a warning: there the data says nothing. All others count as
    identified. ``converged`` is False where a solver ended before it met its tolerance; the ratios are then the best it
    found, for ``regularise="entropy"`` inside the region in any case.

    Parameters
    ----------
    weak
        Weak labels as indices [m], sequences [m, L], sets or log-weights [m, S]; or how often each occurred [S].
    sigma
        The symbolic component.
    groups
        The group of each position [M], where groups have ratios of their own. Where sigma has several spaces and
        nothing else is given, positions of one space are a group.
    counts
        Whether ``weak`` holds counts.
    solver, adam
        ``"newton"``, or ``"adam"`` with its options, as the paper has it.
    regularise
        ``"entropy"`` for the most even ratios within the likelihood's confidence region.
    noise
        The share of weak labels that are random.

    Returns
    -------
    MarginalEstimate
        ``ratios`` [c], or [M, c] with groups, the ``log_likelihood``, ``iterations``, ``converged``, and what the weak
        labels leave open.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> sigma = Sigma.from_function(max, num_classes=3, arity=2)
    >>> estimate_marginal([10, 30, 60], sigma, counts=True).ratios.square()[0]  # r_0 ** 2 = P(s = 0)
    tensor(0.1000, dtype=torch.float64)
    >>> estimate_marginal([10, 30, 60], sigma, counts=True, regularise="entropy").ratios  # uniform: [11, 33, 56]
    tensor([0.3333, 0.3333, 0.3333], dtype=torch.float64)

    References
    ----------
    Algorithm 1 of the paper.
    """
    groups = groups_of(Sigma.check(sigma, families=True)) if groups is None else groups
    likelihood = likelihood_of(weak, sigma, groups, counts, noise)
    if solver not in ("newton", "adam"):
        raise InvalidInput("solver", "'newton' or 'adam'", repr(solver))
    check_regularise(regularise)
    if solver == "adam" and regularise is not None:
        raise InvalidInput("regularise", "None with solver='adam', which does not find the maximum", repr(regularise))
    with torch.inference_mode(False), torch.enable_grad():
        solved = best_start(likelihood) if solver == "newton" else adam_steps(likelihood, adam)
        found = described(likelihood, solved, regularise, groups is not None)
    if found.flat_classes:
        classes = ", ".join(map(str, found.flat_classes))
        warnings.warn(
            f"{likelihood.samples:.0f} weak labels of {sigma!r} leave {len(found.flat)} direction(s) of the marginal "
            f"open, among the classes {classes}: their ratios are the closest to uniform that fit",
            NotIdentified,
            stacklevel=2,
        )
    return found


def described(
    likelihood: WeakLikelihood, solved: tuple[FloatArray, int, bool], regularise: Regularise, by_position: bool
) -> MarginalEstimate:
    """The estimate from what a solver found: the ratios [G, c], its iterations and whether it converged."""
    ratios, iterations, converged = solved
    flat = flat_directions(likelihood, ratios)
    weight = (flat**2).sum(axis=(0, 1))
    classes = tuple(np.flatnonzero(weight > 0.25 * weight.max()).tolist()) if len(flat) else ()
    level = loss = 0.0
    if regularise is not None:
        level = level_of(directions(likelihood) - len(flat))
        even = most_even(likelihood, ratios, level)
        ratios, loss = even.ratios, even.loss
        iterations, converged = iterations + even.iterations, converged and even.converged
    return MarginalEstimate(
        ratios=torch.from_numpy(np.ascontiguousarray(ratios[likelihood.positions] if by_position else ratios[0])),
        log_likelihood=likelihood.value(ratios),
        iterations=iterations,
        converged=converged,
        flat=torch.from_numpy(flat),
        flat_classes=classes,
        level=level,
        loss=loss,
    )


def check_regularise(regularise: Any) -> None:
    """Refuse what is neither None nor ``"entropy"``."""
    if regularise is not None and not (isinstance(regularise, str) and regularise == "entropy"):
        raise InvalidInput("regularise", "None (maximum likelihood) or 'entropy'", repr(regularise))
