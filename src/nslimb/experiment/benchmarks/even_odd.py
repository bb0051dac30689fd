"""MNIST-EvenOdd: sums of two digits, of which only a few pairs occur. 36 readings of the digits explain them all."""

from nslimb.experiment.benchmarks.base import Benchmark, two_only
from nslimb.sigma.library import total

_PAIRS = ((0, 6), (2, 8), (4, 6), (4, 8), (1, 5), (3, 7), (1, 9), (3, 9))
SUPPORT = (*_PAIRS, *((second, first) for first, second in _PAIRS))

EVEN_ODD = Benchmark(
    name="even_odd", sigma=total, title="EVEN-ODD", arities=two_only, support=SUPPORT, tables={"even_odd": None}
)
