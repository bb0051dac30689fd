"""MNIST-Half: sums of two digits from 0 to 4, of which only a few pairs occur. 6 readings of them explain all sums."""

from nslimb.experiment.benchmarks.base import Benchmark, two_only
from nslimb.sigma.library import total

SUPPORT = ((0, 0), (0, 1), (1, 0), (2, 3), (3, 2), (2, 4), (4, 2))

HALF = Benchmark(name="half", sigma=total, title="HALF", arities=two_only, support=SUPPORT, tables={"half": None})
