"""MNIST-Add-N: the sum of two numbers of N = M / 2 digits, digit by digit."""

from nslimb.experiment.benchmarks.base import Benchmark
from nslimb.sigma.component import Sigma
from nslimb.sigma.sequences import addition


def _addition(arity: int) -> Sigma:
    return addition(arity // 2)


def _even(arity: int) -> str:
    return "" if arity >= 2 and arity % 2 == 0 else "even integers of at least 2 (two numbers of M / 2 digits)"


# The binary cross-entropy would need every sum listed.
ADDITION = Benchmark(
    name="addition",
    sigma=_addition,
    title="ADD",
    arities=_even,
    paper={"proofs": 1, "form": "nll", "encoding": "paper"},
    tables={"addition": None},
)
