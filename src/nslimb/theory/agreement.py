"""Confusion matrices with one class's risk left open, and the agreement 1 - R_P with what a search needs of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from nslimb.arrays import FloatArray, IntArray
from nslimb.errors import TooLarge
from nslimb.sigma.component import Sigma
from nslimb.theory.risk import agreement, agreement_matrix


class Candidates(NamedTuple):
    """Confusion matrices with the risk t of class j left open: row j of H is (1 - t) e_j + t ``rows``[j].

    So ``rows`` [N, c, c] holds distributions, and row j puts nothing on j itself.
    """

    classes: IntArray  # [N]
    rows: FloatArray  # [N, c, c]

    def take(self, index: NDArray[np.int64] | NDArray[np.bool_]) -> Candidates:
        return Candidates(self.classes[index], self.rows[index])

    def matrices(self, risks: FloatArray) -> FloatArray:
        """H for the class risks [N]: [N, c, c]."""
        each = np.arange(len(self.rows))
        matrices = self.rows.copy()
        matrices[each, self.classes] *= risks[:, None]
        matrices[each, self.classes, self.classes] = 1 - risks
        return np.asarray(matrices)


class AnyAgreement(Protocol):
    """1 - R_P and its derivatives for many confusion matrices."""

    classes: int
    degree: int  # of the polynomial that it is along a line

    def value(self, matrices: FloatArray) -> FloatArray: ...

    def gradient(self, matrices: FloatArray) -> FloatArray: ...

    def after_jumps(self, candidates: Candidates, risks: FloatArray) -> FloatArray: ...


class MeanAgreement:
    """The mean of the agreements of several sigmas, each with its share of the samples."""

    def __init__(self, sigmas: Sequence[Sigma], shares: FloatArray, ratios: FloatArray) -> None:
        self.parts = [(share, Agreement(sigma, ratios)) for share, sigma in zip(shares, sigmas, strict=True)]
        self.degree = max(part.degree for _, part in self.parts)
        self.classes = sigmas[0].num_classes

    def value(self, matrices: FloatArray) -> FloatArray:
        """[N, c, c] -> [N]."""
        return np.asarray(sum(share * part.value(matrices) for share, part in self.parts))

    def gradient(self, matrices: FloatArray) -> FloatArray:
        """[N, c, c] -> [N, c, c]."""
        return np.asarray(sum(share * part.gradient(matrices) for share, part in self.parts))

    def after_jumps(self, candidates: Candidates, risks: FloatArray) -> FloatArray:
        """The value [N, c, c] after the row of class b is replaced by e_m, for every b and m."""
        return np.asarray(sum(share * part.after_jumps(candidates, risks) for share, part in self.parts))


class Agreement:
    """1 - R_P and its derivatives for many confusion matrices: a quadratic form for pairs, else the pair pass."""

    def __init__(self, sigma: Sigma, ratios: FloatArray) -> None:
        self.sigma, self.ratios = sigma, ratios
        self.degree, self.classes = sigma.arity, sigma.num_classes
        self.matrix: FloatArray | None = None
        if self.degree == 2:
            try:
                self.matrix = agreement_matrix(sigma, ratios)
            except TooLarge:
                return

    def value(self, matrices: FloatArray) -> FloatArray:
        """[N, c, c] -> [N]."""
        if self.matrix is not None:
            flat = matrices.reshape(-1, self.classes**2)
            return np.asarray(((flat @ self.matrix) * flat).sum(axis=1))
        with torch.no_grad():
            return agreement(self.sigma, self.ratios, torch.from_numpy(matrices)).numpy()

    def gradient(self, matrices: FloatArray) -> FloatArray:
        """[N, c, c] -> [N, c, c]."""
        if self.matrix is not None:
            return np.asarray(2 * (matrices.reshape(-1, self.classes**2) @ self.matrix).reshape(matrices.shape))
        with torch.enable_grad():
            leaf = torch.from_numpy(matrices).requires_grad_()
            (gradient,) = torch.autograd.grad(agreement(self.sigma, self.ratios, leaf).sum(), leaf)
        return gradient.numpy()

    def after_jumps(self, candidates: Candidates, risks: FloatArray) -> FloatArray:
        """The value [N, c, c] after the row of class b is replaced by e_m, for every b and m."""
        size = self.classes
        if self.matrix is not None:
            return self._after_jumps_of_pairs(candidates, risks)
        jumped = np.repeat(candidates.rows, size * size, axis=0).reshape(-1, size, size, size, size)
        each = np.arange(size)
        jumped[:, each[:, None], each, each[:, None]] = np.eye(size)
        classes, repeated = np.repeat(candidates.classes, size * size), np.repeat(risks, size * size)
        matrices = Candidates(classes, jumped.reshape(-1, size, size)).matrices(repeated)
        return self.value(matrices).reshape(-1, size, size)

    def _after_jumps_of_pairs(self, candidates: Candidates, risks: FloatArray) -> FloatArray:
        """With d the change of one row: value + gradient d + d^T S_bb d."""
        assert self.matrix is not None
        size, each = self.classes, np.arange(self.classes)
        matrices = candidates.matrices(risks)
        gradient = self.gradient(matrices)
        own = self.matrix.reshape(size, size, size, size)[each, :, each, :]  # S_bb [b, m, m']
        rows = candidates.rows
        crossed = np.einsum("bml,nbl->nbm", own, rows)
        squared = own[:, each, each] - 2 * crossed + (crossed * rows).sum(axis=2, keepdims=True)
        moved = gradient - (gradient * rows).sum(axis=2, keepdims=True)
        scale = np.where(each == candidates.classes[:, None], risks[:, None], 1.0)[:, :, None]
        return np.asarray(self.value(matrices)[:, None, None] + scale * moved + scale**2 * squared)
