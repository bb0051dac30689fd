"""SUM-M: the sum of M digits."""

from nslimb.experiment.benchmarks.base import Benchmark
from nslimb.experiment.benchmarks.max import ILP_FROM_SL
from nslimb.sigma.library import total

# No SUM command is released; the linear program begins as it does on MAX.
SUM = Benchmark(name="sum", sigma=total, title="SUM", paper_start=ILP_FROM_SL, tables={"sum": None})
