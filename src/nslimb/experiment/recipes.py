"""What each step of a run depends on: the one place that says which of the configuration, and which code.

A recipe is plain values. The workflow gives it to a job as its parameter, so that a job runs again when its recipe
changes, and a job reads nothing else of the configuration but where it runs (device, threads, folders).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from nslimb.data.catalogue import SOURCES, source_digest
from nslimb.data.once import ONCE
from nslimb.data.pixels import default_augment
from nslimb.experiment import places
from nslimb.experiment.benchmarks import BENCHMARKS
from nslimb.experiment.cells import Cell, block_of, variant_of
from nslimb.experiment.config import Config
from nslimb.experiment.digests import code_digest, entry_file, module_file
from nslimb.experiment.jobs.recipe import digest_of
from nslimb.experiment.problem import Problem
from nslimb.experiment.variants import Variant
from nslimb.files import digest
from nslimb.learning.methods import METHODS, method_class
from nslimb.networks import NETWORKS
from nslimb.sigma.resolve import SIGMAS, is_rule_file
from nslimb.sigma.support import known_ratios

Recipe = dict[str, Any]


def samples_recipe(config: Config, cell: Cell) -> Recipe:
    """For drawing a cell's weak samples."""
    block = block_of(config, cell.benchmark)
    problem = block.problem(cell.benchmark)
    own = problem.benchmark(config.base)
    tail = own.tail if block.tail is None else block.tail
    ambiguity = own.ambiguity if block.ambiguity is None else block.ambiguity
    return {
        **_problem(config, cell.benchmark, cell.M),
        "samples": block.samples,
        **_validation(config, cell.benchmark),
        "rho": cell.rho,
        "tail": tail if isinstance(tail, str) else list(tail),
        **({"noise": block.noise} if block.noise else {}),  # not a key of runs without
        **({"ambiguity": ambiguity} if ambiguity else {}),
        **({} if problem.support(int(cell.M), config.base) is None else {"support": True}),
        "seed": int(cell.seed),
        "code": _code("samples", _sigma_files(config, cell.benchmark)),
    }


def marginals_recipe(config: Config, cell: Cell) -> Recipe:
    """For estimating a cell's marginal."""
    problem = block_of(config, cell.benchmark).problem(cell.benchmark)
    paper = {"solver": "adam", "steps": problem.benchmark(config.base).paper_steps}
    listed = problem.support(int(cell.M), config.base) is not None
    known = given_ratios(config, cell.benchmark, cell.M) if listed else None
    return {
        "problem": _problem(config, cell.benchmark, cell.M)["problem"],
        **(
            {} if known is None else {"ratios": known}
        ),  # labels are dependent: ratios are known or not, never estimated
        "estimator": paper if config.protocol == "paper" else {"solver": "newton", "regularise": "entropy"},
        "code": _code("marginals", _sigma_files(config, cell.benchmark)),
    }


def train_recipe(config: Config, cell: Cell, method: str) -> Recipe:
    """For training a method on a cell."""
    block, variant = block_of(config, cell.benchmark), variant_of(config, cell.benchmark, method)
    files = _sigma_files(config, cell.benchmark)
    files += [entry_file(METHODS, variant.method, config.base), *_network_files(config, block.network)]
    return {
        **_problem(config, cell.benchmark, cell.M),
        "network": block.network,
        "protocol": config.protocol,
        "method": {"method": variant.method, "settings": config.method_settings(cell.benchmark, variant)},
        "training": _training(config, cell.benchmark, variant),
        **_ratios(config, cell, variant),
        "start_from": config.start_of(cell.benchmark, variant),
        "seed": int(cell.seed),
        "code": _code("train", files),
    }


def adjust_recipe(config: Config, cell: Cell, method: str, source: Recipe | None = None) -> Recipe:
    """For the metrics of a trained model, before and after adjustment; with the settings of all steps before it.

    ``source`` stands for the configuration's own, where that does not say which images it means.
    """
    train = train_recipe(config, cell, method)
    code = {"adjust": _code("adjust", _adjust_files(config, cell, method)), "train": train.pop("code")}
    before = {"samples": samples_recipe(config, cell), "marginals": marginals_recipe(config, cell)}
    if source is not None:
        train["source"] = before["samples"]["source"] = source
    for step, recipe in before.items():
        code[step] = recipe.pop("code")
    return {
        **train,
        "samples": digest_of(before["samples"]),
        "marginals": digest_of(before["marginals"]),
        "adjustments": list(config.adjustments),
        "choice": _choice(config, cell),
        "metrics": list(config.metrics),
        **({"support": True} if "support" in before["samples"] else {}),
        "code": code,
    }


def given_ratios(config: Config, benchmark: str, arity: str) -> Any:
    """The ratios that are known, [c] or [M, c]: the configuration's, else those of the label vectors that occur."""
    block = block_of(config, benchmark)
    problem = block.problem(benchmark)
    support = problem.support(int(arity), config.base)
    if support is None:
        return block.model_dump(mode="json")["ratios"]
    size = problem.build(int(arity), config.base).num_classes
    return known_ratios(support, size, block.ratios).tolist()


def _ratios(config: Config, cell: Cell, variant: Variant) -> Recipe:
    """The known ratios, for a method that asks for them."""
    if "given_ratios" not in method_class(variant.method, config.base).needs:
        return {}
    return {"ratios": given_ratios(config, cell.benchmark, cell.M)}


def _training(config: Config, benchmark: str, variant: Variant) -> Recipe:
    """How a variant is trained, with the augmentation that goes with its source where none is asked for."""
    chosen = config.training_of(benchmark, variant).learned()
    return {**chosen, "augment": chosen["augment"] or default_augment(block_of(config, benchmark).source)}


def _validation(config: Config, benchmark: str) -> Recipe:
    """How many samples choose settings, and where they come from: there are none where every image is used once."""
    if block_of(config, benchmark).samples == ONCE:
        return {"validation": 0, "validation_from": "none"}
    usual = "drawn" if config.protocol == "paper" else "held-out"
    return {"validation": config.validation, "validation_from": config.validation_from or usual}


def _choice(config: Config, cell: Cell) -> Recipe:
    """How settings of adjustments are chosen, and what is adjusted together."""
    if config.protocol == "exact":
        return {"rule": "least-change"}
    own = block_of(config, cell.benchmark).problem(cell.benchmark).benchmark(config.base)
    batch, test_batch = own.paper_batches(float(cell.rho))
    return {"rule": "paper", "batch": batch, "test_batch": test_batch}


def timing_recipe(config: Config, benchmark: str, arity: str) -> Recipe:
    """For a measurement of the runtime table."""
    block, cells = block_of(config, benchmark), config.runtime.cells[benchmark]
    files = _sigma_files(config, benchmark)
    files += [entry_file(METHODS, name) for name in ("sl", "ilp-alg1")]
    return {
        **_problem(config, benchmark, arity),
        "network": block.network,
        "samples": cells.samples,
        "batches": config.runtime.batches,
        "paper": dict(block.problem(benchmark).benchmark(config.base).paper),
        "code": _code("timing", files),
    }


def source_recipe(config: Config, benchmark: str) -> Recipe:
    """For getting an image source."""
    return {"source": _source(config, benchmark), "code": _code("fetch", [])}


def step_digest(step: str) -> str:
    """The code of a step that names no entries of registries: tables, tracking."""
    return code_digest([places.SCRIPTS / f"{step}.py"])


def figures_digest(config: Config) -> str:
    """The code of the figures."""
    from nslimb.experiment.figures import FIGURES
    from nslimb.experiment.figures.shown import figure_entries

    files = [entry_file(FIGURES, entry, config.base) for entry in figure_entries(config)]
    return code_digest([places.SCRIPTS / "figures.py", *(file for file in files if file is not None)])


def study_digest(config: Config, entry: str) -> str:
    """The code of a study."""
    from nslimb.experiment.studies import STUDIES

    file = entry_file(STUDIES, entry, config.base)
    return code_digest([places.SCRIPTS / "study.py", *([] if file is None else [file])])


def _problem(config: Config, benchmark: str, arity: str) -> Recipe:
    block = block_of(config, benchmark)
    problem = block.problem(benchmark)
    rules = {"rules": digest(Path(config.base, problem.sigma).read_bytes())} if is_rule_file(problem.sigma) else {}
    return {
        "problem": {**asdict(problem), "arity": int(arity), **rules},
        "source": _source(config, benchmark),
    }


def _source(config: Config, benchmark: str) -> Recipe:
    """A source by name, or the user's own with a digest of its content."""
    spec = block_of(config, benchmark).source
    if spec == "hwf":
        where = None if config.hwf_path is None else str(source_digest(config.hwf_path))
        return {"spec": spec, "digest": where, "own_split": config.hwf_own_split}
    return {"spec": spec} if spec in SOURCES else {"spec": spec, "digest": source_digest(spec, config.base)}


def _sigma_files(config: Config, benchmark: str) -> list[Path | None]:
    problem = block_of(config, benchmark).problem(benchmark)
    return [_sigma_file(problem, config.base)]


def _network_files(config: Config, network: str | dict[str, str]) -> list[Path | None]:
    names = [network] if isinstance(network, str) else network.values()
    return [entry_file(NETWORKS, name, config.base) for name in names]


def _sigma_file(problem: Problem, base: Path) -> Path | None:
    if problem.sigma in BENCHMARKS:
        return entry_file(BENCHMARKS, problem.sigma)
    if is_rule_file(problem.sigma):
        return None  # no code: its text is part of the problem
    known = problem.sigma.replace("-", "_")
    return entry_file(SIGMAS, known if known in SIGMAS else problem.sigma, base)


def _adjust_files(config: Config, cell: Cell, method: str) -> list[Path | None]:
    from nslimb.adjustment.base import ADJUSTMENTS
    from nslimb.metrics.registry import METRICS

    block, variant = block_of(config, cell.benchmark), variant_of(config, cell.benchmark, method)
    files = _sigma_files(config, cell.benchmark)
    files += [entry_file(METHODS, variant.method, config.base), *_network_files(config, block.network)]
    files += [entry_file(ADJUSTMENTS, name, config.base) for name in config.adjustments]
    files += [entry_file(METRICS, name, config.base) for name in config.metrics]
    return files


def _code(step: str, files: Iterable[Path | None]) -> str:
    script = places.SCRIPTS / f"{step}.py"
    entries = [module_file(f"nslimb.experiment.jobs.{step}"), *([script] if script.is_file() else []), *files]
    return code_digest([file for file in entries if file is not None])
