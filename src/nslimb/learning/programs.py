"""The encodings of the linear program, eq. (5): which columns and rows make pseudolabels abide by sigma.

A batch of n samples with M positions and c classes has *proofs*: label vectors of each sample's weak label. Rows come
first for the samples, last for the ratios: row ``ratio_start + i * c + j`` counts label j at position i, so that
|count - n r_ij| <= epsilon is its bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse

from nslimb.arrays import FloatArray, IntArray
from nslimb.learning.highs import Columns

Encoding = Literal["paper", "literal", "hull"]


class Proofs(NamedTuple):
    """Label vectors ``labels`` [T, M], each of the sample in ``sample`` [T]; -1 at positions that it does not have."""

    sample: IntArray
    labels: IntArray


@dataclass(frozen=True, eq=False)
class Program:
    """A linear program whose ratio rows are still unbounded."""

    columns: Columns
    row_lower: FloatArray
    row_upper: FloatArray
    ratio_start: int


def hull(cost: FloatArray, proofs: Proofs) -> Program:
    """alpha >= 0 over proofs, sum alpha = 1 for each sample: q is a mixture of label vectors."""
    batch, arity, classes = cost.shape
    ratio_rows = np.full(arity * classes, np.inf)
    return Program(
        columns=hull_columns(cost, proofs),
        row_lower=np.concatenate([np.ones(batch), -ratio_rows]),
        row_upper=np.concatenate([np.ones(batch), ratio_rows]),
        ratio_start=batch,
    )


def hull_columns(cost: FloatArray, proofs: Proofs) -> Columns:
    """One column a proof: its cost, 1 in its sample's row and 1 in the ratio row of each of its labels."""
    batch, arity, classes = cost.shape
    number = len(proofs.sample)
    positions = np.arange(arity)
    there = proofs.labels >= 0
    rows = np.concatenate([proofs.sample[:, None], batch + positions * classes + proofs.labels], axis=1)
    kept = rows[np.concatenate([np.ones((number, 1), dtype=np.bool_), there], axis=1)]
    return Columns(
        cost=(cost[proofs.sample[:, None], positions, proofs.labels] * there).sum(axis=1),
        upper=np.ones(number),
        start=np.concatenate([[0], np.cumsum(1 + there.sum(axis=1))]),
        row=kept,
        value=np.ones(kept.size),
    )


def hull_labels(weights: FloatArray, proofs: Proofs, shape: tuple[int, int, int]) -> FloatArray:
    """q [n, M, c] from the weights alpha of the proofs."""
    q = np.zeros(shape)
    np.add.at(q, (proofs.sample[:, None], np.arange(shape[1]), proofs.labels), weights[:, None] * (proofs.labels >= 0))
    return q


def tseytin(cost: FloatArray, proofs: Proofs, encoding: Encoding) -> Program:
    """The paper's constraints over q (first columns, n M c of them) and alpha (one for each proof).

    ``"paper"`` ties a proof to its literals by their sum, -M alpha + sum q >= 0, as printed; ``"literal"`` by each one,
    q - alpha >= 0, as released.
    """
    batch, arity, classes = cost.shape
    number = len(proofs.sample)
    literals = (proofs.sample[:, None] * arity + np.arange(arity)) * classes + proofs.labels  # columns of q, [T, M]
    alpha = cost.size + np.arange(number)
    proof_and_literals = np.concatenate([alpha[:, None], literals], axis=1)
    signs = np.ones(arity + 1)
    rows = _Rows()
    rows.add(proofs.sample, alpha, 1.0, lower=np.ones(batch))
    if encoding == "paper":
        signs[0] = -arity
        rows.add(np.arange(number)[:, None], proof_and_literals, signs, lower=np.zeros(number))
    else:
        pairs = np.stack([np.repeat(alpha, arity), literals.reshape(-1)], axis=1)
        rows.add(np.arange(len(pairs))[:, None], pairs, np.array([-1.0, 1.0]), lower=np.zeros(len(pairs)))
    signs = np.array([1.0] + [-1.0] * arity)
    rows.add(np.arange(number)[:, None], proof_and_literals, signs, lower=np.full(number, 1.0 - arity))
    every_q = np.arange(cost.size)
    one = np.ones(batch * arity)
    rows.add(every_q // classes, every_q, 1.0, lower=one, upper=one)
    start = rows.count
    rows.add(every_q % (arity * classes), every_q, 1.0, lower=np.full(arity * classes, -np.inf))
    matrix = rows.matrix(cost.size + number)
    return Program(
        columns=Columns(
            cost=np.concatenate([cost.reshape(-1), np.zeros(number)]),
            upper=np.ones(cost.size + number),
            start=matrix.indptr.astype(np.int64),
            row=matrix.indices.astype(np.int64),
            value=matrix.data,
        ),
        row_lower=np.concatenate(rows.lower),
        row_upper=np.concatenate(rows.upper),
        ratio_start=start,
    )


class _Rows:
    """Blocks of rows, each given by its entries."""

    def __init__(self) -> None:
        self.entries: list[tuple[IntArray, IntArray, FloatArray]] = []
        self.lower: list[FloatArray] = []
        self.upper: list[FloatArray] = []
        self.count = 0

    def add(
        self,
        row: IntArray,
        column: IntArray,
        value: FloatArray | float,
        lower: FloatArray,
        upper: FloatArray | None = None,
    ) -> None:
        """Append ``len(lower)`` rows; row, column and value are broadcast against each other."""
        r, c, v = np.broadcast_arrays(self.count + row, column, value)
        self.entries.append((r.reshape(-1), c.reshape(-1), v.reshape(-1)))
        self.lower.append(lower)
        self.upper.append(np.full(len(lower), np.inf) if upper is None else upper)
        self.count += len(lower)

    def matrix(self, width: int) -> sparse.csc_matrix:
        row, column, value = (np.concatenate(parts) for parts in zip(*self.entries, strict=True))
        return sparse.csc_matrix((value, (row, column)), shape=(self.count, width))


def slack_columns(ratio_start: int, number: int, penalty: float) -> Columns:
    """Two columns for each ratio row that let it fall short or run over, at ``penalty`` a unit."""
    rows = ratio_start + np.repeat(np.arange(number), 2)
    return Columns(
        cost=np.full(2 * number, penalty),
        upper=np.full(2 * number, np.inf),
        start=np.arange(2 * number + 1),
        row=rows,
        value=np.tile([1.0, -1.0], number),
    )


def stepped(program: Program, target: FloatArray, epsilon: float) -> Program:
    """The least that epsilon must grow: minimise s >= 0, the last column, with |count - target| <= epsilon + s.

    The ratio rows come twice, as count + s bounded below and, after them, count - s bounded above.
    """
    number = target.size
    own = stepped_columns(program.columns, program.ratio_start, number)
    missing = np.full(number, np.inf)
    return Program(
        columns=Columns(
            cost=np.append(own.cost, 1.0),
            upper=np.append(own.upper, np.inf),
            start=np.append(own.start, own.start[-1] + 2 * number),
            row=np.concatenate([own.row, program.ratio_start + np.arange(2 * number)]),
            value=np.concatenate([own.value, np.ones(number), -np.ones(number)]),
        ),
        row_lower=np.concatenate([program.row_lower[: program.ratio_start], target.reshape(-1) - epsilon, -missing]),
        row_upper=np.concatenate([program.row_upper[: program.ratio_start], missing, target.reshape(-1) + epsilon]),
        ratio_start=program.ratio_start,
    )


def stepped_columns(columns: Columns, ratio_start: int, number: int) -> Columns:
    """``columns`` without cost, their entries in the ratio rows twice."""
    shape = (ratio_start + number, len(columns))
    once = sparse.csc_matrix((columns.value, columns.row, columns.start), shape=shape)
    twice = sparse.vstack([once, once[ratio_start:]], format="csc")
    return Columns(
        cost=np.zeros(len(columns)),
        upper=columns.upper,
        start=twice.indptr.astype(np.int64),
        row=twice.indices.astype(np.int64),
        value=twice.data,
    )
