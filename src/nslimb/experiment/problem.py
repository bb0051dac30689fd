"""A symbolic component as a configuration names it, in plain values that a job can be given."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from nslimb.experiment.benchmarks import BENCHMARKS, Benchmark
from nslimb.sigma.component import Sigma
from nslimb.sigma.resolve import check_options, resolve_sigma
from nslimb.sigma.support import Support, read_support


@dataclass(frozen=True)
class Problem:
    """``sigma``: a benchmark, a built-in sigma, or one's own as ``file.py:object``; with its options and classes."""

    name: str  # of the entry in the configuration
    sigma: str
    options: dict[str, Any]
    classes: int | tuple[str, ...] | None = None

    def benchmark(self, base: Path | None = None) -> Benchmark:
        """All that the grid asks of it; a sigma that is no benchmark of ours has the defaults."""
        if self.sigma in BENCHMARKS:
            found = BENCHMARKS.get(self.sigma)
            check_options(self.sigma, found.sigma, self.options)
            return found
        build = partial(self._resolve, base)
        return Benchmark(name=self.name, sigma=build, title=self.name.replace("_", " "), tables={self.name: None})

    def _resolve(self, base: Path | None, arity: int, **options: Any) -> Sigma:
        return resolve_sigma(self.sigma, arity, self.classes, options, base)

    def build(self, arity: int, base: Path | None = None) -> Sigma:
        """The sigma itself, compiled."""
        return self.benchmark(base).sigma(arity, **self.options)

    def support(self, arity: int, base: Path | None = None) -> Support | None:
        """The label vectors that occur, where the benchmark lists them; labels are then not independent."""
        if self.benchmark(base).support is None:
            return None
        return _support(self.sigma, json.dumps(self.options, sort_keys=True), arity)


@cache
def _support(benchmark: str, options: str, arity: int) -> Support | None:
    found = BENCHMARKS.get(benchmark)
    sigma = found.sigma(arity, **json.loads(options))
    listed = found.occurring(sigma)
    return None if listed is None else read_support(listed, sigma.arity, sigma.num_classes)
