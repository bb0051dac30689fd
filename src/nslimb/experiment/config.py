"""The configuration of a grid, typed and checked before any job starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator

from nslimb.errors import InvalidInput
from nslimb.experiment.names import ARITIES, BENCHMARKS, METHODS, NETWORKS, SOURCES, STUDIES, TABLES


def _texts(values: Any) -> Any:
    """Numbers of a YAML list as the text they were written as."""
    if not isinstance(values, (list, tuple)):
        return values
    return tuple(
        str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value for value in values
    )


# Swept values stay text: rho=10 and rho=10.0 would be two jobs.
Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]


class Block(BaseModel):
    """A part of the configuration: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Benchmark(Block):
    """The cells of one benchmark: every M with every rho, every seed and every method."""

    source: Literal[SOURCES]  # type: ignore[valid-type]
    network: Literal[NETWORKS]  # type: ignore[valid-type]
    samples: int = Field(ge=1)
    M: Texts = Field(min_length=1)
    rho: Texts = Field(min_length=1)
    methods: tuple[Literal[METHODS], ...] = Field(min_length=1)  # type: ignore[valid-type]

    @field_validator("rho")
    @classmethod
    def _tails(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            number = float(value)
            if number != 0 and not 1 <= number < float("inf"):
                raise ValueError(f"expected 0 (no long tail) or numbers of at least 1, got {value}")
        return _distinct(values)


class Training(Block):
    """How every network is trained; the defaults are the paper's."""

    epochs: int = Field(default=100, ge=1)
    batch_size: int = Field(default=64, ge=1)
    learning_rate: float = Field(default=1e-3, gt=0)
    pre_epochs: int = Field(default=20, ge=0)
    warm_up: int = Field(default=0, ge=0)
    epsilon: float = Field(default=0.99, ge=0)
    device: str = "auto"
    threads: int = Field(default=1, ge=1)


class Runtime(Block):
    """The runtime table: seconds an epoch by batch size, measured over a few batches."""

    batch_sizes: tuple[int, ...] = (64, 256, 512)
    batches: int = Field(default=4, ge=1)
    max_M: Texts = ("3", "4")  # noqa: N815
    max_samples: int = 2000
    sum_M: Texts = ("5", "6")  # noqa: N815
    sum_samples: int = 1000


class Config(Block):
    """A whole grid."""

    name: str = Field(pattern=r"^[a-z0-9_-]+$")
    results: Path = Path("results")
    protocol: Literal["paper", "exact"] = "paper"
    seeds: Texts = Field(min_length=1)
    validation: int = Field(default=256, ge=1)
    data: Path = Path("data")
    hwf_path: Path | None = None
    precedence: bool = False
    hierarchy: dict[str, tuple[str, ...]] | None = None
    training: Training = Training()
    benchmarks: dict[Literal[BENCHMARKS], Benchmark] = Field(min_length=1)  # type: ignore[valid-type]
    tables: tuple[Literal[TABLES], ...]  # type: ignore[valid-type]
    studies: tuple[Literal[STUDIES], ...] = ()  # type: ignore[valid-type]
    runtime: Runtime = Runtime()

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            if not value.isdigit():
                raise ValueError(f"expected integers of at least 0, got {value}")
        return _distinct(values)

    @model_validator(mode="after")
    def _arities(self) -> Config:
        for name, benchmark in self.benchmarks.items():
            for arity in _distinct(benchmark.M):
                if not arity.isdigit() or not ARITIES[name](int(arity)):
                    raise ValueError(f"benchmarks.{name}.M: expected {ARITIES[name].__doc__}, got {arity}")
        return self


def read_config(values: Mapping[str, Any]) -> Config:
    """The configuration, or one error that names every bad entry, what was given and what was expected."""
    try:
        return Config(**values)
    except ValidationError as error:
        raise InvalidInput("config", "a valid configuration", "\n" + "\n".join(map(_explain, error.errors()))) from None


def _explain(problem: Any) -> str:
    place = ".".join(str(part) for part in problem["loc"]) or "config"
    if problem["type"] == "extra_forbidden":
        parent = problem["loc"][:-1]
        valid = sorted(_block_at(parent).model_fields)
        return f"  {place}: unknown key; the keys here are {', '.join(valid)}"
    message = problem["msg"].removeprefix("Value error, ")
    given = "" if problem["type"] in ("missing", "value_error") else f", got {problem['input']!r}"
    return f"  {place}: {message}{given}"


def _block_at(place: tuple[Any, ...]) -> type[Block]:
    """The kind of block that a path of keys leads to."""
    if place[:1] == ("benchmarks",):
        return Benchmark
    kinds: dict[str, type[Block]] = {"training": Training, "runtime": Runtime}
    return kinds.get(str(place[0]), Config) if place else Config


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    numbers = [float(value) for value in values]
    for value, number in zip(values, numbers, strict=True):
        if numbers.count(number) > 1:
            raise ValueError(f"expected distinct values, got {value} twice")
    return values
