"""Smallest Parent: the closest common ancestor of M objects in a hierarchy."""

from collections.abc import Mapping, Sequence

from nslimb.experiment.benchmarks.base import Benchmark
from nslimb.sigma.component import Sigma
from nslimb.sigma.library import smallest_parent


def _smallest_parent(arity: int, hierarchy: Mapping[str, Sequence[str]] | None = None) -> Sigma:
    """CIFAR-10's hierarchy of Listing 1 by default; else the sorted leaves of ``hierarchy`` are the classes."""
    if hierarchy is None:
        return smallest_parent(arity=arity)
    leaves = [child for children in hierarchy.values() for child in children if child not in hierarchy]
    return smallest_parent(hierarchy, arity, classes=sorted(leaves))


def _several(arity: int) -> str:
    return "" if arity >= 2 else "integers of at least 2"


# The paper counts its whole pre-images, which are small, and takes the negative log-likelihood, as its released code
# does; that code has 1 - prod(1 - p) for the probability of a superclass where the text has the sum.
SMALLEST_PARENT = Benchmark(
    name="smallest_parent",
    sigma=_smallest_parent,
    title="SMALLEST PARENT",
    arities=_several,
    paper={"form": "nll", "encoding": "paper"},
    paper_steps=5_000,
    paper_batches=lambda _rho: (256, 1024),
    tables={"smallest_parent": None},
)
