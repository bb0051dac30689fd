"""SUM-M: the sum of M digits."""

from nslimb.experiment.benchmarks.base import Benchmark
from nslimb.sigma.library import total

SUM = Benchmark(name="sum", sigma=total, title="SUM", tables={"sum": None})
