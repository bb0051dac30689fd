"""The configuration of a grid, typed and checked before any job starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError, field_validator, model_validator

from nslimb.errors import DataError, InvalidInput, NslimbError
from nslimb.experiment.problem import Problem
from nslimb.experiment.variants import Block, Training, Variant, read_variants, settings_of_method

Protocol = Literal["paper", "exact"]


def _texts(values: Any) -> Any:
    """Numbers of a YAML list as the text they were written as."""
    if not isinstance(values, (list, tuple)):
        return values
    return tuple(
        str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value for value in values
    )


# Swept values stay text: rho=10 and rho=10.0 would be two jobs.
Texts = Annotated[tuple[str, ...], BeforeValidator(_texts)]
Names = tuple[str, ...]


class BenchmarkBlock(Block):
    """The cells of one benchmark: every M with every rho, every seed and every method."""

    sigma: str | dict[str, dict[str, Any]] | None = None
    classes: int | Names | None = None
    source: str
    network: str | dict[str, str]  # or one for each of sigma's spaces
    samples: Annotated[int, Field(ge=1)] | Literal["once"]
    M: Texts = Field(min_length=1)
    rho: Texts = ("0",)
    tail: str | tuple[int | str, ...] | None = None
    noise: float = Field(default=0.0, ge=0, lt=1)
    ambiguity: float | None = Field(default=None, ge=0, lt=1)  # None: the benchmark's own
    # Of the classes, or by position, as far as the user knows; None: those of the support.
    ratios: tuple[float, ...] | tuple[tuple[float, ...], ...] | None = None
    methods: Annotated[tuple[Variant, ...], BeforeValidator(read_variants)] = Field(min_length=1)
    seeds: Texts | None = None
    training: dict[str, Any] = Field(default_factory=dict)

    @field_validator("rho")
    @classmethod
    def _tails(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        for value in values:
            number = float(value)
            if number != 0 and not 1 <= number < float("inf"):
                raise ValueError(f"expected 0 (no long tail) or numbers of at least 1, got {value}")
        return _distinct(values)

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, values: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if values is None else check_seeds(values)

    @field_validator("sigma")
    @classmethod
    def _one_sigma(cls, value: Any) -> Any:
        if isinstance(value, dict) and len(value) != 1:
            raise ValueError(f"expected one sigma with its options, {{name: {{option: value}}}}, got {len(value)}")
        return value

    def problem(self, name: str) -> Problem:
        """The symbolic component; an entry without ``sigma`` is called after it."""
        given = name if self.sigma is None else self.sigma
        sigma, options = next(iter(given.items())) if isinstance(given, dict) else (given, {})
        return Problem(name, sigma, dict(options or {}), self.classes)


class RuntimeCells(Block):
    """The cells of a benchmark in the runtime table."""

    M: Texts = Field(min_length=1)
    samples: int = Field(ge=1)


class Runtime(Block):
    """The runtime table: seconds an epoch by batch size, measured over a few batches."""

    batch_sizes: tuple[int, ...] = (64, 256, 512)
    batches: int = Field(default=4, ge=1)
    cells: dict[str, RuntimeCells] = Field(
        default_factory=lambda: {
            "max": RuntimeCells(M=("3", "4"), samples=2000),
            "sum": RuntimeCells(M=("5", "6"), samples=1000),
        }
    )


class Config(Block):
    """A whole grid."""

    name: str = Field(pattern=r"^[a-z0-9_-]+$")
    results: Path = Path("results")
    protocol: Protocol = "paper"
    seeds: Texts = Field(min_length=1)
    validation: int = Field(default=256, ge=1)
    validation_from: Literal["held-out", "drawn", "split"] | None = None  # None: as the protocol has it
    data: Path = Path("data")
    hwf_path: Path | None = None
    hwf_own_split: bool = False
    missing_data: Literal["leave-out", "refuse"] = "leave-out"  # a benchmark whose images can be had nowhere
    base: Path = Path()  # the folder of the configuration file: paths of sigma, source, network and method start there
    training: Training = Training()
    methods: dict[str, dict[str, Any]] = Field(default_factory=dict)
    benchmarks: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")], BenchmarkBlock] = Field(min_length=1)
    adjustments: Names = ("la", "carot")
    metrics: Names = ()
    tables: Names | None = None
    figures: Names | None = None
    studies: Names = ()
    runtime: Runtime = Runtime()

    @field_validator("seeds")
    @classmethod
    def _seeds(cls, values: tuple[str, ...]) -> tuple[str, ...]:
        return check_seeds(values)

    @model_validator(mode="after")
    def _consistent(self) -> Config:
        from nslimb.experiment.checks import check_config

        try:
            check_config(self)
        except NslimbError as error:
            raise ValueError(str(error)) from error
        return self

    def training_of(self, benchmark: str, variant: Variant) -> Training:
        """How a variant is trained: the grid's settings, then the benchmark's, then its own."""
        block = self.benchmarks[benchmark].training
        return Training(**{**self.training.model_dump(), **block, **variant.training})

    def method_settings(self, benchmark: str, variant: Variant) -> dict[str, Any]:
        """A variant's settings: the protocol's for its benchmark, then the grid's for its method, then its own."""
        protocol = {}
        if self.protocol == "paper":
            protocol = dict(self.benchmarks[benchmark].problem(benchmark).benchmark(self.base).paper)
        return settings_of_method(variant, protocol, self.methods.get(variant.method, {}), self.base)

    def start_of(self, benchmark: str, variant: Variant) -> str | None:
        """The method whose trained model a variant begins with: its own choice, else the protocol's."""
        block = self.benchmarks[benchmark]
        if variant.start_from is not None:
            return None if variant.start_from == "none" else variant.start_from
        wanted = block.problem(benchmark).benchmark(self.base).paper_start.get(variant.method)
        there = wanted in [other.name for other in block.methods]
        return wanted if self.protocol == "paper" and there else None

    def seeds_of(self, benchmark: str) -> tuple[str, ...]:
        """The seeds of a benchmark's runs."""
        return self.benchmarks[benchmark].seeds or self.seeds


def check_seeds(values: tuple[str, ...]) -> tuple[str, ...]:
    """Distinct integers of at least 0."""
    for value in values:
        if not value.isdigit():
            raise ValueError(f"expected integers of at least 0, got {value}")
    return _distinct(values)


def read_config(values: Mapping[str, Any], base: Path | None = None) -> Config:
    """The configuration, or one error that names every bad entry, what was given and what was expected.

    ``base`` is the folder of the configuration file, where it does not say itself.
    """
    if not isinstance(values, Mapping):
        raise InvalidInput("config", "a mapping of keys to values", repr(values))
    place: dict[str, Any] = {} if base is None or "base" in values else {"base": base}
    try:
        return Config(**{**values, **place})
    except ValidationError as error:
        raise InvalidInput("config", "a valid configuration", "\n" + "\n".join(map(_explain, error.errors()))) from None


def read_file(path: Path) -> Config:
    """The configuration in a YAML file."""
    return read_config(read_yaml(path), path.resolve().parent)


def read_yaml(path: Path) -> Any:
    """A YAML file; a key that is given twice in one block is refused, where YAML would silently take the last."""
    import yaml

    class Strict(yaml.SafeLoader):
        """SafeLoader that counts keys."""

    def mapping(loader: Any, node: Any) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":  # `<<`, whose keys may be overridden
                continue
            key = loader.construct_object(key_node, deep=True)
            if key in seen:
                raise DataError(f"{path}: line {key_node.start_mark.line + 1}: {key!r} is given twice in one block")
            seen.add(key)
        loader.flatten_mapping(node)
        return dict(loader.construct_pairs(node, deep=True))

    Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=Strict)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: is no YAML file ({str(error).splitlines()[0]})") from error


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
        return BenchmarkBlock
    if place[:2] == ("runtime", "cells"):
        return RuntimeCells
    kinds: dict[str, type[Block]] = {"training": Training, "runtime": Runtime}
    return kinds.get(str(place[0]), Config) if place else Config


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    numbers = [float(value) for value in values]
    for value, number in zip(values, numbers, strict=True):
        if numbers.count(number) > 1:
            raise ValueError(f"expected distinct values, got {value} twice")
    return values
