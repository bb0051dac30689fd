"""The benchmarks of the grid by name; one's own needs no more than a sigma."""

from __future__ import annotations

from nslimb.experiment.benchmarks.base import Benchmark
from nslimb.registry import Registry

__all__ = ["BENCHMARKS", "Benchmark"]

BENCHMARKS: Registry[Benchmark] = Registry(
    "benchmark",
    {
        "max": "nslimb.experiment.benchmarks.max:MAX",
        "sum": "nslimb.experiment.benchmarks.sum:SUM",
        "hwf": "nslimb.experiment.benchmarks.hwf:HWF",
        "smallest_parent": "nslimb.experiment.benchmarks.smallest_parent:SMALLEST_PARENT",
        "addition": "nslimb.experiment.benchmarks.addition:ADDITION",
        "partial": "nslimb.experiment.benchmarks.partial:PARTIAL",
        "even_odd": "nslimb.experiment.benchmarks.even_odd:EVEN_ODD",
        "half": "nslimb.experiment.benchmarks.half:HALF",
        "mnmath": "nslimb.experiment.benchmarks.mnmath:MNMATH",
        "xor": "nslimb.experiment.benchmarks.xor:XOR",
    },
)
