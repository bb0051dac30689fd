"""MAX-M: the largest of M digits."""

from nslimb.experiment.benchmarks.base import Benchmark
from nslimb.sigma.library import maximum

# A run belongs to the fullest table that shows it.
MAX = Benchmark(
    name="max",
    sigma=maximum,
    title="MAX",
    tail="reversed",
    tables={"max": ("0", "5", "50"), "max_full": None},
    experiment="max_full",
)
