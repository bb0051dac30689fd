"""Pseudolabels by linear programming: close to the scores, true to sigma and to the label ratios.

The program is eq. (5) of the paper; the README of its released code calls it Eq. (6).
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import FloatArray
from nslimb.checks import check_bool, check_choice, check_count, check_log_scores, check_number, check_ratios
from nslimb.errors import InvalidInput, SolverFailed
from nslimb.learning.generation import FEASIBLE, MAX_COST, Batch, BatchProgram
from nslimb.learning.programs import Encoding, hull_labels
from nslimb.sigma.component import Sigma

_ROUNDING = 1e-8


class PseudoLabels(NamedTuple):
    """Pseudolabels of a batch."""

    q: Tensor  # [B, M, c], each row a distribution; 0 at positions that a sample does not have (families)
    objective: float  # sum over samples and positions of <-log P, Q>, penalties not counted
    epsilon: float  # the tolerance that was met
    status: Literal["optimal", "widened", "violated"]  # widened: epsilon had to grow; violated: slack was paid for
    violation: float  # by how many counts the ratios are missed beyond epsilon, over all positions and classes


def pseudolabels(
    log_scores: Tensor,
    weak: Any,
    sigma: Sigma,
    ratios: Any,
    epsilon: float = 0.99,
    encoding: Encoding = "hull",
    proofs: int | None = None,
    integer: bool = False,
    *,
    slack: Literal["widen", "elastic"] = "widen",
    max_epsilon: float | None = None,
    penalty: float = 10.0,
    time_limit: float = 60.0,
) -> PseudoLabels:
    """Solve eq. (5): min sum_i <-log P_i, Q_i> such that Q abides by sigma and |sum_l Q_i[l, j] - n r_ij| <= epsilon.

    ``encoding`` is how Q abides by sigma: ``"hull"``, as mixtures of label vectors of each sample's weak label;
    ``"paper"``, by the aggregated constraints as printed; ``"literal"``, by one constraint for each literal. Their
    optima never fall in the order paper, literal, hull, ``integer=True``.

    ``proofs=k`` allows the k most probable label vectors of each sample; ``proofs=None`` all of them, for ``"hull"`` by
    column generation, which never lists them. ``proofs=1`` leaves no choice, whatever the ratios: that one is returned.

    ``ratios`` is [c], or [M, c] where positions differ. Where no Q meets them, ``slack="widen"`` takes the first of
    epsilon + 1, epsilon + 2, ... that one meets (one more linear program finds it), up to ``max_epsilon`` (by default
    n, where every Q does); ``slack="elastic"`` pays ``penalty`` for each count beyond epsilon, in one solve.

    Weak labels may be sets, bool [B, S]: all label vectors of their members are allowed. In a family n is the number of
    samples that have the position, where members differ in length; then ``encoding`` is ``"hull"``.

    Parameters
    ----------
    log_scores
        Log-probabilities [B, M, c], ``logits.log_softmax(-1)``.
    weak
        Weak labels as indices [B] into ``sigma.weak_labels``, sequences [B, L] for a transducer, or sets [B, S].
    sigma
        The symbolic component.
    ratios
        Label ratios [c], or [M, c] where positions differ.
    epsilon
        By how much each count may miss, in counts of the batch.
    encoding, proofs
        How Q abides by sigma, and how many label vectors of a sample are allowed.
    integer
        One label vector a sample instead of a mixture.
    slack, max_epsilon, penalty
        What to do where the ratios cannot be met.
    time_limit
        Seconds.

    Returns
    -------
    PseudoLabels
        ``q`` [B, M, c], the ``objective``, the ``epsilon`` that was needed, and the solver's ``status``.

    Raises
    ------
    SolverFailed
        If there is no solution within the limits.

    Examples
    --------
    >>> sigma = Sigma.from_function(max, num_classes=2, arity=2)
    >>> scores = torch.tensor([[[0.6, 0.4], [0.4, 0.6]], [[0.9, 0.1], [0.8, 0.2]]]).log()
    >>> pseudolabels(scores, [1, 1], sigma, ratios=[0.5, 0.5], epsilon=0.0).q[:, :, 1]
    tensor([[0., 1.],
            [1., 0.]])

    References
    ----------
    Eq. (5) of the paper.
    """
    Sigma.check(sigma, families=True)
    check_log_scores(log_scores, sigma.arity, sigma.num_classes)
    observed = sigma.check_explained(weak, len(log_scores), log_scores.device)
    if observed.is_floating_point():
        expected = "integers or sets (bool); soft_pseudolabels and semantic_loss take log-weights"
        raise InvalidInput("weak", expected, f"log-weights of dtype {observed.dtype}")
    _check_choices(epsilon, encoding, slack, max_epsilon, penalty, time_limit)
    check_bool("integer", integer)
    if proofs is not None:
        check_count("proofs", proofs)
    if len(log_scores) == 0:
        return PseudoLabels(torch.zeros_like(log_scores), 0.0, epsilon, "optimal", 0.0)
    # Every position takes one label, so that a shift of all its scores changes no choice.
    given = log_scores.detach().double().clamp_min(-MAX_COST)
    scores = (given - given.amax(dim=-1, keepdim=True)).clamp_min(-MAX_COST)
    having = sigma.used(observed)
    if having is not None and encoding != "hull":
        raise InvalidInput("encoding", "'hull' where members of a family differ in length", repr(encoding))
    number = len(scores) if having is None else having.sum(dim=0).cpu().numpy()[:, None]
    target = number * np.broadcast_to(check_ratios(ratios, sigma.arity, sigma.num_classes), scores.shape[1:])
    batch = Batch(scores, observed, sigma, target, encoding, proofs, integer, time_limit)
    limit = min(math.inf if max_epsilon is None else max_epsilon, float(len(scores)))
    elastic = slack == "elastic"
    if proofs == 1:
        q, used = _forced(batch, epsilon, limit, elastic)
    else:
        q, used = _solve(BatchProgram(batch, penalty if elastic else None), epsilon, limit)
    excess = np.maximum(np.abs(q.sum(axis=0) - target) - used, 0.0)
    violation = float(excess[excess > FEASIBLE].sum())
    status: Literal["optimal", "widened", "violated"] = "optimal"
    if used > epsilon:
        status = "widened"
    elif violation > 0:
        status = "violated"
    objective = float((-given.cpu().numpy() * q).sum())
    return PseudoLabels(torch.from_numpy(q).to(log_scores), objective, used, status, violation)


def _solve(program: BatchProgram, epsilon: float, limit: float) -> tuple[FloatArray, float]:
    """q and the tolerance that it meets: the first of epsilon, epsilon + 1, ... that can be met."""
    if program.elastic:
        return _required(program.solve(epsilon)), epsilon
    found = program.solve(epsilon, patient=False)
    if found is not None:
        return found, epsilon
    least = program.least_widening(epsilon)
    used = _widened(epsilon, least, limit)
    # What is met to within rounding is met, also by a solver that is stricter than that.
    return _required(program.solve(max(used, epsilon + least + _ROUNDING))), used


def _widened(epsilon: float, least: float, limit: float) -> float:
    """epsilon + 0, 1, ..., the first that is at least epsilon + ``least``."""
    steps = max(0, math.ceil(least - FEASIBLE))
    if steps > max(0, math.ceil(limit - epsilon)):
        raise SolverFailed(
            f"pseudolabels: the ratios cannot be met within max_epsilon={limit:g} counts in this batch; "
            "widen it, or let slack='elastic' pay for what is missed"
        )
    return epsilon + steps


def _forced(batch: Batch, epsilon: float, limit: float, elastic: bool) -> tuple[FloatArray, float]:
    """What any program gives with one proof a sample: q is that proof, and epsilon all that is left to be found."""
    proofs = batch.best(1)
    q = hull_labels(np.ones(len(proofs.sample)), proofs, batch.cost.shape)
    excess = float(np.abs(q.sum(axis=0) - batch.target).max())
    return q, epsilon if elastic else _widened(epsilon, excess - epsilon, limit)


def _required(q: FloatArray | None) -> FloatArray:
    if q is None:
        raise SolverFailed("pseudolabels: the program has a solution, yet HiGHS found none")
    return q


def _check_choices(
    epsilon: float, encoding: str, slack: str, max_epsilon: float | None, penalty: float, time_limit: float
) -> None:
    for name, value in (("epsilon", epsilon), ("penalty", penalty), ("time_limit", time_limit)):
        check_number(name, value)
    if max_epsilon is not None and (not isinstance(max_epsilon, Real) or not max_epsilon >= epsilon):
        raise InvalidInput("max_epsilon", f"a number of at least epsilon={epsilon:g}", repr(max_epsilon))
    check_choice("encoding", encoding, get_args(Encoding))
    if slack not in ("widen", "elastic"):
        raise InvalidInput("slack", "'widen' or 'elastic'", repr(slack))
