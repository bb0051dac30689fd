"""What the grid asks of a benchmark, said by the benchmark itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from nslimb.sigma.component import Sigma

# How the long tail runs: "exp" (head = class 0), "reversed" (head = the last class), or classes from the head on.
Tail = str | tuple[int | str, ...]


def two_only(arity: int) -> str:
    """For benchmarks of pairs."""
    return "" if arity == 2 else "2"


def any_arity(arity: int) -> str:
    """A check of arities: what was expected, in words, where one is not allowed; else nothing."""
    return "" if arity >= 1 else "integers of at least 1"


@dataclass(frozen=True)
class Benchmark:
    """A symbolic component with all that the grid, its tables and its figures need to know about it."""

    name: str
    sigma: Callable[..., Sigma]  # takes the arity, and options of its own by keyword
    title: str  # as figures print it
    arities: Callable[[int], str] = any_arity
    tail: Tail = "exp"
    # The protocol `paper`. Settings of methods: each takes those that it knows.
    paper: Mapping[str, Any] = field(default_factory=lambda: {"proofs": 1, "form": "bce", "encoding": "paper"})
    # The method whose trained model a method begins with.
    paper_start: Mapping[str, str] = field(default_factory=dict)
    # Steps of Adam in Algorithm 1.
    paper_steps: int = 10_000
    # Validation samples and test images that are adjusted together, by rho.
    paper_batches: Callable[[float], tuple[int, int]] = lambda _rho: (32, 128)
    # The tables that show it, and the long tails that each shows (None: all).
    tables: Mapping[str, tuple[str, ...] | None] = field(default_factory=dict)
    experiment: str = ""  # in MLflow; its name if empty
    # Weak labels are candidate sets: each other one joins the true one with this probability.
    ambiguity: float = 0.0
    # The label vectors that occur, where not all do: listed, or by sigma; as ``draw_samples`` takes them.
    support: tuple[tuple[int, ...], ...] | Callable[[Sigma], Any] | None = None

    def occurring(self, sigma: Sigma) -> Any:
        """The label vectors that occur; None where all do."""
        return self.support(sigma) if callable(self.support) else self.support
