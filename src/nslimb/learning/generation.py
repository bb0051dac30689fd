"""The linear program of one batch, built once and solved at one tolerance after another."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import FloatArray, IntArray
from nslimb.errors import SolverFailed, TooLarge
from nslimb.learning.highs import Model, Solution
from nslimb.learning.programs import (
    Encoding,
    Program,
    Proofs,
    hull,
    hull_columns,
    hull_labels,
    slack_columns,
    stepped,
    stepped_columns,
    tseytin,
)
from nslimb.sigma.component import Sigma

# No label costs more than this many nats: e ** -1000 is as good as impossible, and the program stays well scaled.
MAX_COST = 1e3
# Proofs that may be listed for one batch.
MAX_PROOFS = 2_000_000
# Ratios met to within this many counts are met.
FEASIBLE = 1e-6
# A proof enters the column generation if it improves the objective by more than this.
_IMPROVEMENT = 1e-9
_MAX_ROUNDS = 10_000
_ENDLESS = f"pseudolabels: column generation has not ended after {_MAX_ROUNDS} rounds"


@dataclass(frozen=True, eq=False)
class Batch:
    """What is asked: pseudolabels for ``scores`` [n, M, c] whose counts come near to ``target`` [M, c]."""

    scores: Tensor
    weak: Tensor
    sigma: Sigma
    target: FloatArray
    encoding: Encoding
    proofs: int | None
    integer: bool
    time_limit: float

    @property
    def cost(self) -> FloatArray:
        return -self.scores.cpu().numpy()

    @property
    def generating(self) -> bool:
        """Whether proofs are found by their duals and not listed."""
        return self.encoding == "hull" and self.proofs is None and not self.integer

    def best(self, k: int) -> Proofs:
        """The k most probable label vectors of every sample."""
        labels = self.sigma.best(self.scores, self.weak, k).labels.cpu().numpy()
        sample, rank = np.nonzero(labels[:, :, 0] >= 0)
        return Proofs(sample, labels[sample, rank])

    def listed(self) -> Proofs:
        """All proofs that are allowed."""
        if self.proofs is not None:
            return self.best(self.proofs)
        number = sum(self.sigma.preimage_sizes(self.weak))
        if number > MAX_PROOFS:
            raise TooLarge(
                f"pseudolabels: encoding={self.encoding!r} would list {number:,} proofs, more than {MAX_PROOFS:,}; "
                "give proofs=k, or encoding='hull' without integer=True, which generates its columns"
            )
        distinct, place = self.weak.unique(dim=0, return_inverse=True)
        listed = [self._preimage(weak) for weak in distinct.cpu()]
        chosen = [listed[i] for i in place.tolist()]
        return Proofs(np.repeat(np.arange(len(chosen)), list(map(len, chosen))), np.concatenate(chosen))

    def _preimage(self, weak: Tensor) -> IntArray:
        """All label vectors of a weak label, or of the members of a set."""
        members = [int(weak)] if weak.dim() == 0 else weak.nonzero()[:, 0].tolist()
        return np.concatenate([self.sigma.preimage(s) for s in members])


class BatchProgram:
    """The program of a batch. With a ``penalty`` a count may miss its bounds, at that price."""

    def __init__(self, batch: Batch, penalty: float | None) -> None:
        self.batch, self.cost, self.target = batch, batch.cost, batch.target
        self.proofs = batch.best(1) if batch.generating else batch.listed()
        if batch.encoding == "hull":
            self.program = hull(self.cost, self.proofs)
        else:
            self.program = tseytin(self.cost, self.proofs, batch.encoding)
        self.own_columns = len(self.program.columns)
        self.model = _model(self.program, batch)
        # The column generation needs duals before it is feasible: its slack costs more than any exchange of labels.
        self.elastic = penalty is not None
        self.slacks = 2 * self.target.size if self.elastic or batch.generating else 0
        if self.slacks:
            price = penalty if penalty is not None else MAX_COST * self.cost[..., 0].size
            self.model.add_columns(slack_columns(self.program.ratio_start, self.target.size, price))

    def solve(self, epsilon: float, patient: bool = True) -> FloatArray | None:
        """q at this tolerance, or None where there is none. Without patience also where there seems to be none."""
        rows, bounds = self.program.ratio_start + np.arange(self.target.size), self.target.reshape(-1)
        self.model.set_row_bounds(rows, bounds - epsilon, bounds + epsilon)
        solution = self._generate(patient) if self.batch.generating else self.model.solve()
        if solution is None or (not self.elastic and self._missed(solution).max(initial=0.0) > FEASIBLE):
            return None
        if self.batch.encoding == "hull":
            weights = np.delete(solution.columns, np.s_[self.own_columns : self.own_columns + self.slacks])
            q = hull_labels(weights, self.proofs, self.cost.shape)
        else:
            q = solution.columns[: self.cost.size].reshape(self.cost.shape)
        q = np.maximum(q, 0.0)
        total = q.sum(axis=2, keepdims=True)
        return np.asarray(q / np.where(total > 0, total, 1.0))

    def least_widening(self, epsilon: float) -> float:
        """The smallest number of at least 0 (an integer for integer programs) to add to epsilon that lets some q be."""
        if self.batch.generating:
            return _widening_of_hull(self.batch, self.proofs, epsilon)
        return _required(_model(stepped(self.program, self.target, epsilon), self.batch).solve()).objective

    def _missed(self, solution: Solution) -> FloatArray:
        """By how much counts miss their bounds."""
        return solution.columns[self.own_columns : self.own_columns + self.slacks]

    def _generate(self, patient: bool) -> Solution | None:
        """Solve over the proofs so far; add each sample's best proof under the duals; until none improves."""
        missed = math.inf
        for _ in range(_MAX_ROUNDS):
            solution = _required(self.model.solve())
            before, missed = missed, float(self._missed(solution).sum())
            if not patient and missed > max(FEASIBLE, 0.99 * before):
                return None
            of_sample, of_label = _duals(solution, len(self.cost), self.target.shape)
            rewarded = self.batch.scores + torch.from_numpy(of_label).to(self.batch.scores.device)
            fresh = _improving(self.batch.sigma, rewarded, self.batch.weak, of_sample)
            if len(fresh.sample) == 0:
                return solution
            self.proofs = Proofs(*(np.concatenate(pair) for pair in zip(self.proofs, fresh, strict=True)))
            self.model.add_columns(hull_columns(self.cost, fresh))
        raise SolverFailed(_ENDLESS)


def _widening_of_hull(batch: Batch, proofs: Proofs, epsilon: float) -> float:
    """The least widening, by column generation from ``proofs``; samples of one weak label are alike and share a row."""
    weak, member, number = batch.weak.unique(dim=0, return_inverse=True, return_counts=True)
    found = np.unique(np.column_stack([member.cpu().numpy()[proofs.sample], proofs.labels]), axis=0)
    samples = number.cpu().numpy().astype(np.float64)
    free = np.zeros((len(weak), *batch.target.shape))
    program = hull(free, Proofs(found[:, 0], found[:, 1:]))
    program.row_lower[: len(weak)] = program.row_upper[: len(weak)] = samples
    program = stepped(
        replace(program, columns=replace(program.columns, upper=samples[found[:, 0]])), batch.target, epsilon
    )
    model = _model(program, batch)
    for _ in range(_MAX_ROUNDS):
        solution = _required(model.solve())
        of_sample, of_label = _duals(solution, len(weak), (2, *batch.target.shape))
        rewarded = torch.from_numpy(of_label.sum(axis=0)).to(batch.scores.device).expand(free.shape)
        fresh = _improving(batch.sigma, rewarded, weak, of_sample)
        if len(fresh.sample) == 0:
            return solution.objective
        columns = stepped_columns(hull_columns(free, fresh), program.ratio_start, batch.target.size)
        model.add_columns(replace(columns, upper=samples[fresh.sample]))
    raise SolverFailed(_ENDLESS)


def _duals(solution: Solution, samples: int, shape: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Duals of the rows of the samples, and of the ratio rows in the given shape."""
    return solution.duals[:samples], solution.duals[samples:].reshape(shape)


def _improving(sigma: Sigma, rewarded: Tensor, weak: Tensor, of_sample: FloatArray) -> Proofs:
    """Each sample's label vector of least reduced cost, where that is negative."""
    best = sigma.best(rewarded, weak, 1)
    reduced = -best.log_probs[:, 0].cpu().numpy() - of_sample
    improving = np.flatnonzero(reduced < -_IMPROVEMENT * (1 + np.abs(of_sample)))
    return Proofs(improving, best.labels[:, 0].cpu().numpy()[improving])


def _required(solution: Solution | None) -> Solution:
    if solution is None:
        raise SolverFailed("pseudolabels: every program can be met with enough slack, yet HiGHS found no solution")
    return solution


def _model(program: Program, batch: Batch) -> Model:
    return Model(
        program.columns,
        program.row_lower,
        program.row_upper,
        integer=batch.integer,
        growing=batch.generating,
        time_limit=batch.time_limit,
    )
