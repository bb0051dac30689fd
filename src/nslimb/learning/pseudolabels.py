"""Pseudolabels by linear programming: eq. (6), close to the scores, true to sigma and to the label ratios."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import FloatArray
from nslimb.checks import check_count, check_log_scores, check_ratios, check_weak
from nslimb.errors import InvalidInput, SolverFailed, TooLarge
from nslimb.learning.highs import Model, Solution
from nslimb.learning.programs import (
    Encoding,
    Proofs,
    hull,
    hull_columns,
    hull_labels,
    slack_columns,
    tseytin,
)
from nslimb.sigma.component import Sigma

# No label costs more than this many nats: e ** -1000 is as good as impossible, and the program stays well scaled.
MAX_COST = 1e3
# Proofs that may be listed for one batch.
MAX_PROOFS = 2_000_000
# A proof enters the column generation if it improves the objective by more than this.
_IMPROVEMENT = 1e-9
# Ratios met to within this many counts are met.
_FEASIBLE = 1e-6
_MAX_ROUNDS = 10_000


class PseudoLabels(NamedTuple):
    """Pseudolabels of a batch."""

    q: Tensor  # [B, M, c], each row a distribution
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
    """Solve eq. (6): min sum_i <-log P_i, Q_i> such that Q abides by sigma and |sum_l Q_i[l, j] - n r_ij| <= epsilon.

    ``encoding`` is how Q abides by sigma: ``"hull"``, as mixtures of label vectors of each sample's weak label;
    ``"paper"``, by the aggregated constraints as printed; ``"literal"``, by one constraint for each literal. Their
    optima never fall in the order paper, literal, hull, ``integer=True``.

    ``proofs=k`` allows the k most probable label vectors of each sample; ``proofs=None`` all of them, for ``"hull"`` by
    column generation, which never lists them.

    ``ratios`` is [c], or [M, c] where positions differ. Where no Q meets them, ``slack="widen"`` adds 1 to epsilon
    until one does, up to ``max_epsilon`` (by default n, where every Q does); ``slack="elastic"`` pays ``penalty`` for
    each count beyond epsilon, in one solve.

    >>> sigma = Sigma.from_function(max, num_classes=2, arity=2)
    >>> scores = torch.tensor([[[0.6, 0.4], [0.4, 0.6]], [[0.9, 0.1], [0.8, 0.2]]]).log()
    >>> pseudolabels(scores, [1, 1], sigma, ratios=[0.5, 0.5], epsilon=0.0).q[:, :, 1]
    tensor([[0., 1.],
            [1., 0.]])
    """
    Sigma.check(sigma)
    check_log_scores(log_scores, sigma.arity, sigma.num_classes)
    indices = check_weak(weak, len(log_scores), len(sigma.weak_labels), log_scores.device)
    _check_choices(epsilon, encoding, slack, max_epsilon, penalty, time_limit)
    if proofs is not None:
        check_count("proofs", proofs)
    if len(log_scores) == 0:
        return PseudoLabels(torch.zeros_like(log_scores), 0.0, epsilon, "optimal", 0.0)
    # Every position takes one label, so that a shift of all its scores changes no choice.
    given = log_scores.detach().double().clamp_min(-MAX_COST)
    scores = (given - given.amax(dim=-1, keepdim=True)).clamp_min(-MAX_COST)
    target = len(scores) * np.broadcast_to(check_ratios(ratios, sigma.arity, sigma.num_classes), scores.shape[1:])
    batch = _Batch(scores, indices, sigma, target, encoding, proofs, integer, penalty, slack, time_limit)
    if slack == "elastic":
        q, used = _required(batch.solve(epsilon)), epsilon
    else:
        most = float(len(scores)) if max_epsilon is None else min(max_epsilon, float(len(scores)))
        q, used = _widen(batch.solve, epsilon, most)
    excess = np.maximum(np.abs(q.sum(axis=0) - target) - used, 0.0)
    violation = float(excess[excess > _FEASIBLE].sum())
    status: Literal["optimal", "widened", "violated"] = "optimal"
    if used > epsilon:
        status = "widened"
    elif violation > 0:
        status = "violated"
    objective = float((-given.cpu().numpy() * q).sum())
    return PseudoLabels(torch.from_numpy(q).to(log_scores), objective, used, status, violation)


def _required(q: FloatArray | None) -> FloatArray:
    if q is None:
        raise SolverFailed("pseudolabels: the elastic program is always feasible, yet HiGHS found no solution")
    return q


def _widen(solve: Callable[[float], FloatArray | None], epsilon: float, limit: float) -> tuple[FloatArray, float]:
    """The solution at the first of epsilon, epsilon + 1, ... that has one, found by doubling and halving."""
    found = solve(epsilon)
    if found is not None:
        return found, epsilon
    most = max(0, math.ceil(limit - epsilon))
    below, above = 0, 1
    while above <= most and (found := solve(epsilon + above)) is None:
        below, above = above, min(2 * above, most) if above < most else most + 1
    if found is None:
        raise SolverFailed(
            f"pseudolabels: the ratios cannot be met within max_epsilon={limit:g} counts in this batch; "
            "widen it, or let slack='elastic' pay for what is missed"
        )
    while above - below > 1:
        middle = (below + above) // 2
        better = solve(epsilon + middle)
        if better is None:
            below = middle
        else:
            found, above = better, middle
    return found, epsilon + above


class _Batch:
    """The program of one batch, solved at one tolerance after another without being built again."""

    def __init__(
        self,
        scores: Tensor,
        weak: Tensor,
        sigma: Sigma,
        target: FloatArray,
        encoding: Encoding,
        proofs: int | None,
        integer: bool,
        penalty: float,
        slack: str,
        time_limit: float,
    ) -> None:
        self.cost: FloatArray = -scores.cpu().numpy()
        self.target = target
        self.scores, self.weak, self.sigma = scores, weak, sigma
        self.encoding = encoding
        self.generating = encoding == "hull" and proofs is None and not integer
        self.proofs = self._best(1) if self.generating else self._listed(proofs)
        program = hull(self.cost, self.proofs) if encoding == "hull" else tseytin(self.cost, self.proofs, encoding)
        self.ratio_rows = program.ratio_start + np.arange(target.size)
        self.own_columns = len(program.columns)
        self.model = Model(
            program.columns,
            program.row_lower,
            program.row_upper,
            integer=integer,
            growing=self.generating,
            time_limit=time_limit,
        )
        # The column generation needs duals before it is feasible: its slack costs more than any exchange of labels.
        self.elastic = slack == "elastic"
        self.slack_cost = penalty if self.elastic else MAX_COST * sigma.arity * len(self.cost)
        self.slacks = 2 * target.size if self.elastic or self.generating else 0
        if self.slacks:
            self.model.add_columns(slack_columns(program.ratio_start, target.size, self.slack_cost))

    def solve(self, epsilon: float) -> FloatArray | None:
        """q at this tolerance, or None where there is none."""
        bounds = self.target.reshape(-1)
        self.model.set_row_bounds(self.ratio_rows, bounds - epsilon, bounds + epsilon)
        solution = self._generate() if self.generating else self.model.solve()
        if solution is None:
            return None
        slack = solution.columns[self.own_columns : self.own_columns + self.slacks]
        if not self.elastic and slack.max(initial=0.0) > _FEASIBLE:
            return None
        if self.encoding == "hull":
            weights = np.concatenate(
                [solution.columns[: self.own_columns], solution.columns[self.own_columns + self.slacks :]]
            )
            q = hull_labels(weights, self.proofs, self.cost.shape)
        else:
            q = solution.columns[: self.cost.size].reshape(self.cost.shape)
        q = np.maximum(q, 0.0)
        return np.asarray(q / q.sum(axis=2, keepdims=True))

    def _generate(self) -> Solution | None:
        """Solve over the proofs so far; add each sample's best proof under the duals; until none improves."""
        for _ in range(_MAX_ROUNDS):
            solution = self.model.solve()
            if solution is None:
                return None
            batch = len(self.cost)
            of_sample = solution.duals[:batch]
            of_label = solution.duals[batch : batch + self.target.size].reshape(self.target.shape)
            fresh = self._price(of_label, of_sample)
            if len(fresh.sample) == 0:
                return solution
            self.proofs = Proofs(*(np.concatenate(pair) for pair in zip(self.proofs, fresh, strict=True)))
            self.model.add_columns(hull_columns(self.cost, fresh))
        raise SolverFailed(f"pseudolabels: column generation has not ended after {_MAX_ROUNDS} rounds")

    def _price(self, of_label: FloatArray, of_sample: FloatArray) -> Proofs:
        """Each sample's label vector of least reduced cost, where that is negative."""
        rewarded = self.scores + torch.from_numpy(of_label).to(self.scores.device)
        best = self.sigma.best(rewarded, self.weak, 1)
        reduced = -best.log_probs[:, 0].cpu().numpy() - of_sample
        improving = np.flatnonzero(reduced < -_IMPROVEMENT * (1 + np.abs(of_sample)))
        return Proofs(improving, best.labels[:, 0].cpu().numpy()[improving])

    def _best(self, k: int) -> Proofs:
        labels = self.sigma.best(self.scores, self.weak, k).labels.cpu().numpy()
        sample, rank = np.nonzero(labels[:, :, 0] >= 0)
        return Proofs(sample, labels[sample, rank])

    def _listed(self, proofs: int | None) -> Proofs:
        if proofs is not None:
            return self._best(proofs)
        weak = self.weak.cpu().numpy()
        sizes = self.sigma.preimage_sizes()
        number = sum(sizes[s] for s in weak)
        if number > MAX_PROOFS:
            raise TooLarge(
                f"pseudolabels: encoding={self.encoding!r} would list {number:,} proofs, more than {MAX_PROOFS:,}; "
                "give proofs=k, or encoding='hull' without integer=True, which generates its columns"
            )
        listed = {s: self.sigma.preimage(int(s)) for s in np.unique(weak)}
        sample = np.repeat(np.arange(len(weak)), [sizes[s] for s in weak])
        return Proofs(sample, np.concatenate([listed[s] for s in weak]))


def _check_choices(
    epsilon: float, encoding: str, slack: str, max_epsilon: float | None, penalty: float, time_limit: float
) -> None:
    for name, value in (("epsilon", epsilon), ("penalty", penalty), ("time_limit", time_limit)):
        if not isinstance(value, Real) or not 0 <= value < math.inf:
            raise InvalidInput(name, "a number of at least 0", repr(value))
    if max_epsilon is not None and (not isinstance(max_epsilon, Real) or not max_epsilon >= epsilon):
        raise InvalidInput("max_epsilon", f"a number of at least epsilon={epsilon:g}", repr(max_epsilon))
    if encoding not in ("paper", "literal", "hull"):
        raise InvalidInput("encoding", "'paper', 'literal' or 'hull'", repr(encoding))
    if slack not in ("widen", "elastic"):
        raise InvalidInput("slack", "'widen' or 'elastic'", repr(slack))
