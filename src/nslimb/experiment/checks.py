"""What is refused before any job starts: everything that a configuration names must be there and fit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from nslimb.checks import check_ratios
from nslimb.data.once import ONCE
from nslimb.errors import InvalidInput, NslimbError
from nslimb.experiment.benchmarks import BENCHMARKS
from nslimb.experiment.variants import OF_A_BENCHMARK, Variant, checked_settings
from nslimb.learning.methods import method_class
from nslimb.networks import NETWORKS
from nslimb.registry import Registry
from nslimb.sigma.resolve import SIGMAS

if TYPE_CHECKING:
    from nslimb.experiment.config import BenchmarkBlock, Config


def check_config(config: Config) -> None:
    """Refuse what cannot run, with its place in the configuration."""
    for name, settings in config.methods.items():
        checked_settings(method_class(name, config.base), settings, name)
    for name, block in config.benchmarks.items():
        _at(f"benchmarks.{name}", _check_sigma, config, name, block)
        _at(f"benchmarks.{name}.source", _check_source, config, block)
        for network in [block.network] if isinstance(block.network, str) else block.network.values():
            _at(f"benchmarks.{name}.network", NETWORKS.get, network, config.base)
        _at(f"benchmarks.{name}.network", _check_spaces, config, name, block)
        for variant in block.methods:
            _at(f"benchmarks.{name}", _check_variant, config, name, variant)
        _at(f"benchmarks.{name}", _check_ratios, config, name, block)
        if block.samples == ONCE:
            _at(f"benchmarks.{name}", _check_once, config, name, block)
    _check_lists(config)


def _at(place: str, check: object, *arguments: object) -> None:
    """Call a check; what it refuses is told with its place in the configuration."""
    try:
        check(*arguments)  # type: ignore[operator]
    except NslimbError as error:
        raise NslimbError(f"{place}: {error}") from error


def _check_sigma(config: Config, name: str, block: BenchmarkBlock) -> None:
    problem = block.problem(name)
    if block.sigma is None and problem.sigma not in BENCHMARKS and problem.sigma.replace("-", "_") not in SIGMAS:
        expected = f"one of {', '.join(BENCHMARKS)}, or a key sigma that says what it is"
        raise InvalidInput("benchmark", expected, repr(name))
    benchmark = problem.benchmark(config.base)
    _check_one_file(Path(config.base, problem.sigma))
    for arity in block.M:
        expected = "integers" if not arity.isdigit() else benchmark.arities(int(arity))
        if expected:
            raise InvalidInput("M", expected, arity)
        problem.build(int(arity), config.base)
    if len({int(arity) for arity in block.M}) < len(block.M):
        raise InvalidInput("M", "distinct values", ", ".join(block.M))
    if isinstance(block.tail, str) and block.tail not in ("exp", "reversed"):
        raise InvalidInput("tail", "exp, reversed, or a list of classes from the head on", repr(block.tail))
    for key in block.training:
        if key not in OF_A_BENCHMARK:
            raise InvalidInput("training", f"one of {', '.join(OF_A_BENCHMARK)}", repr(key))
    for variant in block.methods:
        try:
            config.training_of(name, variant)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise InvalidInput(f"methods.{variant.name}.{place}", first["msg"], repr(first["input"])) from None


def _check_one_file(program: Path) -> None:
    """A logic program's edits are noticed by its text, which therefore has to be all of it."""
    if program.suffix != ".lp" or not program.is_file():
        return
    rules = re.sub(r'"(?:\\.|[^"\\\n])*"|%.*', "", program.read_text("utf-8"))  # less strings and comments
    if "#include" in rules:
        raise InvalidInput("sigma", "a logic program in one file", f"{program.name}, which has an #include")


def _check_source(config: Config, block: BenchmarkBlock) -> None:
    from nslimb.data import SOURCES

    path = Path(config.base, block.source)
    if block.source not in SOURCES and not path.exists():
        expected = (
            f"one of {', '.join(SOURCES)}, or your own: a folder with a sub-folder for each class, or an npz file with "
            "images and labels"
        )
        raise InvalidInput("source", expected, f"{block.source!r}, and {path} does not exist")


def _check_once(config: Config, name: str, block: BenchmarkBlock) -> None:
    """Where every image is used once, none is left for validation, and the tail is that of the images."""
    if _is_listed(config, name, block):
        raise InvalidInput("samples", "a number, as only listed label vectors occur, which are drawn", ONCE)
    if config.adjustments:
        expected = "none ([]) with samples: once, which leaves no validation samples to choose their settings by"
        raise InvalidInput("adjustments", expected, ", ".join(config.adjustments))
    if any(float(rho) != 0 for rho in block.rho):
        raise InvalidInput("rho", "0 with samples: once, which uses every image", ", ".join(block.rho))
    if block.noise:
        raise InvalidInput("noise", "0 with samples: once", block.noise)


def _is_listed(config: Config, name: str, block: BenchmarkBlock) -> bool:
    """Whether only listed label vectors occur in some of the cells."""
    return any(block.problem(name).support(int(arity), config.base) is not None for arity in block.M)


def _check_spaces(config: Config, benchmark: str, block: BenchmarkBlock) -> None:
    """A network for each space of sigma, where there are several networks."""
    if isinstance(block.network, str):
        return
    for arity in block.M:
        sigma = block.problem(benchmark).build(int(arity), config.base)
        known = [space.name for space in sigma.spaces]
        if sigma.spaces_share_labels:
            expected = "a sigma whose classes are those of its spaces, one after another (sigma.by_space())"
            raise InvalidInput("sigma", expected, repr(sigma))
        if sorted(block.network) != sorted(known):
            expected = f"one network, or one for each of the spaces {', '.join(known)}"
            raise InvalidInput("network", expected, ", ".join(block.network))


def _check_ratios(config: Config, benchmark: str, block: BenchmarkBlock) -> None:
    """Known ratios must fit sigma and what occurs, and be there for methods that ask for them."""
    from nslimb.experiment.recipes import given_ratios

    asking = [
        variant.name for variant in block.methods if config.method_settings(benchmark, variant).get("ratios") == "given"
    ]
    if not asking and block.ratios is None:
        return
    for arity in block.M:
        found = given_ratios(config, benchmark, arity)
        if found is None:
            expected = f"the ratios of the classes that you know, as {asking[0]} trains with them"
            raise InvalidInput("ratios", expected, "none, and all label vectors may occur")
        check_ratios(found, int(arity), block.problem(benchmark).build(int(arity), config.base).num_classes)


def _check_variant(config: Config, benchmark: str, variant: Variant) -> None:
    settings, needs = config.method_settings(benchmark, variant), method_class(variant.method, config.base).needs
    estimates = "estimated_ratios" in needs and settings.get("ratios") != "given"
    if estimates and _is_listed(config, benchmark, config.benchmarks[benchmark]):
        expected = (
            "a method that does not estimate ratios by Algorithm 1, which does not hold where label vectors are listed "
            "(labels are not independent); transport trains with the known ones"
        )
        raise InvalidInput(f"methods.{variant.name}", expected, variant.method)
    others = {other.name: other for other in config.benchmarks[benchmark].methods}
    origin, seen = config.start_of(benchmark, variant), [variant.name]
    while origin is not None:
        if origin not in others:
            expected = f"one of {', '.join(others)}, or none"
            raise InvalidInput(f"methods.{variant.name}.start_from", expected, repr(origin))
        if origin in seen:
            raise InvalidInput(f"methods.{variant.name}.start_from", "another method", " -> ".join([*seen, origin]))
        seen.append(origin)
        origin = config.start_of(benchmark, others[origin])


def _check_lists(config: Config) -> None:
    from nslimb.adjustment.base import ADJUSTMENTS, as_adjustment
    from nslimb.experiment.cells import tables_of
    from nslimb.experiment.figures import FIGURES
    from nslimb.experiment.studies import STUDIES
    from nslimb.metrics.registry import METRICS

    lists: tuple[tuple[str, Registry[Any], tuple[str, ...]], ...] = (
        ("adjustments", ADJUSTMENTS, config.adjustments),
        ("metrics", METRICS, config.metrics),
        ("figures", FIGURES, config.figures or ()),
        ("studies", STUDIES, config.studies),
    )
    for key, registry, entries in lists:
        for entry in entries:
            _at(key, as_adjustment if key == "adjustments" else registry.get, entry, config.base)
        short = [entry.rpartition(":")[2] for entry in entries]
        for name in short:
            if short.count(name) > 1:
                raise InvalidInput(key, "distinct names", f"{name} twice")
    known = [*tables_of(config), "runtime"]
    paper = ("max", "max_full", "sum", "hwf", "smallest_parent")  # of which a configuration may leave some empty
    for table in config.tables or ():
        if table not in known and table not in paper:
            raise InvalidInput("tables", f"one of {', '.join(known)}", repr(table))
