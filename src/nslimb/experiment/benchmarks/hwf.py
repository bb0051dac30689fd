"""HWF-M: the value of a handwritten formula of M symbols."""

from nslimb.experiment.benchmarks.base import Benchmark
from nslimb.sigma.component import Sigma
from nslimb.sigma.library import formula

# Digits, then operators among the first, as in the paper's released code.
ORDER = (0, 1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9)


def _formula(arity: int, precedence: bool = False) -> Sigma:
    """Left to right by default, as the released code evaluates; ``precedence`` multiplies first, as the text says."""
    return formula(arity, precedence=precedence)


def _odd(arity: int) -> str:
    return "" if arity % 2 == 1 else "odd integers (digits and operators alternate)"


HWF = Benchmark(name="hwf", sigma=_formula, title="HWF", arities=_odd, tail=ORDER, tables={"hwf": None})
