"""MNMath: whether equations of handwritten digits hold, a + b = c + d and e f = g h, both or one of them alone."""

from collections.abc import Mapping
from itertools import product
from typing import Literal

import numpy as np

from nslimb.errors import InvalidInput
from nslimb.experiment.benchmarks.base import Benchmark
from nslimb.sigma.component import Sigma

Equation = Literal["both", "sum", "product"]


def _equations(arity: int, equation: Equation = "both") -> Sigma:
    """Two equations over eight digits, or one over four."""
    if equation not in ("both", "sum", "product"):
        raise InvalidInput("equation", "'both', 'sum' or 'product'", repr(equation))
    wanted = 8 if equation == "both" else 4
    if arity != wanted:
        raise InvalidInput("M", f"{wanted} digits for equation {equation!r}", arity)
    if equation == "sum":
        return Sigma.from_expression(lambda y: y[0] + y[1] == y[2] + y[3], classes=[10] * 4)
    if equation == "product":
        return Sigma.from_expression(lambda y: y[0] * y[1] == y[2] * y[3], classes=[10] * 4)
    both = lambda y: (y[0] + y[1] == y[2] + y[3], y[4] * y[5] == y[6] * y[7])  # noqa: E731
    return Sigma.from_expression(both, classes=[10] * 8)


def _support(sigma: Sigma) -> Mapping[tuple[int, ...], float] | None:
    """One equation alone holds for few label vectors: half of the samples are such, half are others.

    Every left side is as likely as every other, and so is every right side that makes the equation hold, or not.
    """
    if sigma.arity != 4:
        return None
    vectors = np.array(list(product(range(10), repeat=4)))
    holds = np.asarray(sigma.apply(vectors)).reshape(100, 100) == sigma.weak_labels.index(True)
    shares = np.where(holds, 1 / holds.sum(axis=1, keepdims=True), 1 / (~holds).sum(axis=1, keepdims=True)) / 200
    return dict(zip(map(tuple, vectors.tolist()), shares.reshape(-1).tolist(), strict=True))


def _four_or_eight(arity: int) -> str:
    return "" if arity in (4, 8) else "8 (both equations) or 4 (one alone)"


MNMATH = Benchmark(
    name="mnmath",
    sigma=_equations,
    title="MNMATH",
    arities=_four_or_eight,
    support=_support,
    tables={"mnmath": None},
)
