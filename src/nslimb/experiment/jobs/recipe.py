"""What a job is given: a recipe of plain values, and a host that no result depends on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nslimb.data.catalogue import open_source
from nslimb.data.source import ImageSource
from nslimb.errors import BrokenFile
from nslimb.experiment.problem import Problem
from nslimb.files import digest
from nslimb.sigma.component import Sigma

Recipe = Mapping[str, Any]
_PATHS = ("data", "base", "results", "hwf_path")


def digest_of(recipe: Recipe) -> str:
    """A short digest of plain values."""
    return digest(json.dumps(recipe, sort_keys=True, default=str).encode())[:16]


@dataclass(frozen=True)
class Host:
    """Where a job runs and finds its files."""

    data: Path
    base: Path
    results: Path
    hwf_path: Path | None = None
    device: str = "auto"
    threads: int = 1
    look_every: int = 1

    @classmethod
    def from_config(cls, config: Mapping[str, Any], benchmark: str | None = None) -> Host:
        """From a configuration written out as plain values, for a benchmark of it."""
        own = {} if benchmark is None else config["benchmarks"][benchmark]["training"]
        training = {**config["training"], **own}
        of_job = {key: training[key] for key in ("device", "threads", "look_every")}
        return cls.from_plain({**{key: config[key] for key in _PATHS}, **of_job})

    def plain(self) -> dict[str, Any]:
        """Plain values, for another process."""
        return {key: str(value) if isinstance(value, Path) else value for key, value in vars(self).items()}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Host:
        """From plain values."""
        paths = {key: None if values[key] is None else Path(values[key]) for key in _PATHS}
        return cls(**{**values, **paths})


def sigma_of(recipe: Recipe, host: Host) -> Sigma:
    """The symbolic component of a recipe."""
    return _problem_of(recipe).build(recipe["problem"]["arity"], host.base)


def support_of(recipe: Recipe, host: Host, sigma: Sigma) -> Any:
    """The label vectors that occur, as its benchmark lists them."""
    return _problem_of(recipe).benchmark(host.base).occurring(sigma)


def _problem_of(recipe: Recipe) -> Problem:
    values = {key: value for key, value in recipe["problem"].items() if key not in ("arity", "rules")}
    if isinstance(values["classes"], list):
        values["classes"] = tuple(values["classes"])
    return Problem(**values)


def source_of(recipe: Recipe, host: Host, sigma: Sigma, ready: str) -> ImageSource:
    """The images of a recipe; if they are broken, the mark that they are ready goes, and the next run fetches them."""
    try:
        return open_source(
            recipe["source"]["spec"],
            host.data,
            hwf_path=host.hwf_path,
            base=host.base,
            class_names=sigma.class_names,
            own_split=recipe["source"].get("own_split", False),
        )
    except BrokenFile:
        if ready:
            (host.results / ready).unlink(missing_ok=True)
        raise
