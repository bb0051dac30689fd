"""The parity of bits, as images of 0 and 1: both readings of the bits explain it, and balanced ratios do not help."""

from itertools import product

from nslimb.experiment.benchmarks.base import Benchmark
from nslimb.sigma.component import Sigma


def _parity(arity: int) -> Sigma:
    """Digits other than 0 and 1 are none of the bits."""
    return Sigma.from_steps(
        0, lambda state, label: (state + label) % 2 if label < 2 else None, lambda state: state, 10, arity
    )


def _support(sigma: Sigma) -> list[tuple[int, ...]]:
    return list(product((0, 1), repeat=sigma.arity))


XOR = Benchmark(name="xor", sigma=_parity, title="XOR", support=_support, tables={"xor": None})
