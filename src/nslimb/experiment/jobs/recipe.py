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
        training, path = {**config["training"], **own}, config["hwf_path"]
        return cls(
            data=Path(config["data"]),
            base=Path(config["base"]),
            results=Path(config["results"]),
            hwf_path=None if path is None else Path(path),
            device=training["device"],
            threads=training["threads"],
            look_every=training["look_every"],
        )


def sigma_of(recipe: Recipe, host: Host) -> Sigma:
    """The symbolic component of a recipe."""
    values = dict(recipe["problem"])
    arity = values.pop("arity")
    if isinstance(values["classes"], list):
        values["classes"] = tuple(values["classes"])
    return Problem(**values).build(arity, host.base)


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
