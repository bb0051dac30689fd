"""MAX-M: the largest of M digits."""

from nslimb.experiment.benchmarks.base import Benchmark
from nslimb.sigma.library import maximum

# The linear program goes on from the finished SL model, as in all released MAX commands.
ILP_FROM_SL = {"ilp-emp": "sl", "ilp-alg1": "sl", "ilp-gold": "sl"}


def _batches(rho: float) -> tuple[int, int]:
    return (256, 1024) if rho == 0 else (32, 128)


# A run belongs to the fullest table that shows it.
MAX = Benchmark(
    name="max",
    sigma=maximum,
    title="MAX",
    tail="reversed",
    paper_start=ILP_FROM_SL,
    paper_batches=_batches,
    tables={"max": ("0", "5", "50"), "max_full": None},
    experiment="max_full",
)
