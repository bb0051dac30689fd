"""Partial labels: one image, and a candidate set that holds its label. The case M = 1 with the identity as sigma."""

from nslimb.experiment.benchmarks.base import Benchmark
from nslimb.sigma.component import Sigma


def _identity(arity: int, num_classes: int = 10) -> Sigma:
    """The label itself."""
    return Sigma.from_function(lambda labels: labels[0], num_classes=num_classes, arity=arity)


def _one(arity: int) -> str:
    return "" if arity == 1 else "1 (a candidate set is that of one image)"


# Each other label joins the set with probability 0.3. Sets need the likelihood and the hull, in either protocol.
PARTIAL = Benchmark(
    name="partial",
    sigma=_identity,
    title="PARTIAL",
    arities=_one,
    paper={},
    ambiguity=0.3,
    tables={"partial": None},
)
