# The configuration, checked before any job starts; paths, targets and recipes for the rules.
import os
import sys
from functools import lru_cache
from pathlib import Path

from nslimb.errors import NslimbError
from nslimb.experiment import cells as grid
from nslimb.experiment import names, paths, places, recipes
from nslimb.experiment.commandline import check_configfiles, check_profiles
from nslimb.experiment.config import read_config, read_yaml
from nslimb.experiment.demands import adjust_demand, train_demand
from nslimb.experiment.figures import figure_name
from nslimb.experiment.figures.shown import figure_entries
from nslimb.experiment.finished import MARK, is_settled
from nslimb.experiment.folder import (
    check_results,
    claim_results,
    hold_results,
    redate_results,
    sweep_results,
)
from nslimb.experiment.needs import check_images, what_can_run
from nslimb.experiment.progress import start_watching, stop_watching
from nslimb.experiment.provenance import versions
from nslimb.experiment.studies import STUDIES
from nslimb.experiment.titles import class_names, run_title

try:
    files = [Path(path) for path in workflow.configfiles]
    check_configfiles(files)
    for path in files:
        read_yaml(path)  # what YAML would silently pass over
    CONFIG = read_config(config, files[-1].resolve().parent if files else None)
    check_results(CONFIG)
    WHOLE = CONFIG  # what has run elsewhere may be published here
    CONFIG, LEFT_OUT = what_can_run(CONFIG)
    if workflow.is_main_process:  # not in every job
        check_profiles(sys.argv)
        check_images(CONFIG)
        for line in LEFT_OUT:
            print(f"nslimb: {line}", file=sys.stderr)
except NslimbError as error:
    sys.exit(f"nslimb: {error}")

# Jobs read from it where they run: device, threads, folders. What they depend on is in their recipes.
config.update(CONFIG.model_dump(mode="json"))

RESULTS = str(CONFIG.results)
FRONT = f"{RESULTS}/result.html"
# For the report's first page, which shows it.
config["front"] = str(Path(FRONT).resolve()) if Path(FRONT).exists() else ""
LOGS = f"logs/{CONFIG.name}"
BENCHMARKS = f"{RESULTS}/benchmarks"
GPU = 0 if CONFIG.training.device == "cpu" else 1  # without one, all cores may train
CELL, RUN, TIMING = paths.below(RESULTS, (paths.CELL, paths.RUN, paths.TIMING))
FIGURE_NAMES = [figure_name(entry) for entry in figure_entries(CONFIG)]


wildcard_constraints:
    **paths.CONSTRAINTS,


def settings():
    """The configuration as plain values, for jobs that look at the whole grid."""
    return CONFIG.model_dump(mode="json")


def cell_recipe(make):
    """A recipe of a cell, as a parameter."""
    return lambda w: make(CONFIG, grid.Cell.from_wildcards(w))


def run_recipe(make):
    """A recipe of a run, as a parameter."""
    return lambda w: make(CONFIG, grid.Cell.from_wildcards(w), w.method)


def described(wildcards):
    """Which run it is, for run.yaml."""
    cell = grid.Cell.from_wildcards(wildcards)
    return {
        "cell": vars(cell),
        "cell_path": cell.path,
        "method": wildcards.method,
        "grid": CONFIG.name,
    }


def ready(wildcards):
    """The mark that a benchmark's source is ready, below the results folder."""
    return paths.source_file(grid.source_name(CONFIG, wildcards.benchmark))


def source_ready(wildcards):
    """The same as an input."""
    return f"{RESULTS}/{ready(wildcards)}"


def source_recipe(wildcards):
    """The recipe of a source, which several benchmarks may share."""
    users = [
        name
        for name in CONFIG.benchmarks
        if grid.source_name(CONFIG, name) == wildcards.source
    ]
    return recipes.source_recipe(CONFIG, users[0])


@lru_cache(maxsize=None)
def settled(cell, method):
    """Whether a run was restored and nothing makes it again."""
    return is_settled(CONFIG, cell, method)


def unless_settled(inputs):
    """The inputs of a run as a function of its wildcards; none where it is settled."""
    return lambda w: (
        [] if settled(grid.Cell.from_wildcards(w), w.method) else inputs(w)
    )


def of_run(path):
    """A file of a run or of its cell, as an input."""
    return unless_settled(lambda w: path.format(**dict(w.items())))


def restored_mark(wildcards):
    """The mark of a run that was restored and is to be made again: it is newer than what was restored."""
    cell = grid.Cell.from_wildcards(wildcards)
    marks = files_of([(cell, wildcards.method)], MARK)
    return [mark for mark in marks if Path(mark).exists()]


def start_model(wildcards):
    """The trained model that a run begins with, where its variant says so."""
    variant = grid.variant_of(CONFIG, wildcards.benchmark, wildcards.method)
    start = CONFIG.start_of(wildcards.benchmark, variant)
    cell = grid.Cell.from_wildcards(wildcards)
    return [] if start is None else files_of([(cell, start)], names.MODEL)


def train_asks(what):
    """Memory or runtime of a training job, as a resource function."""
    return lambda w, attempt: getattr(
        train_demand(CONFIG, w.benchmark, w.M, w.method, attempt), what
    )


def adjust_asks(what):
    """Memory or runtime of an adjustment job, as a resource function."""
    return lambda w, attempt: getattr(
        adjust_demand(CONFIG, w.benchmark, w.M, attempt), what
    )


def files_of(runs, name):
    """A file of each of these runs."""
    return [f"{RESULTS}/{grid.run_path(*run)}/{name}" for run in runs]


def run_files(name):
    """A file of every run of the grid."""
    return files_of(grid.runs(CONFIG), name)


def cell_runs(name):
    """A file of every run of a cell, as an input function."""
    return lambda w: files_of(
        (
            (grid.Cell.from_wildcards(w), variant.name)
            for variant in grid.block_of(CONFIG, w.benchmark).methods
        ),
        name,
    )


def titles(wildcards):
    """The methods of a cell and the short names of their runs."""
    cell = grid.Cell.from_wildcards(wildcards)
    methods = [
        variant.name for variant in grid.block_of(CONFIG, cell.benchmark).methods
    ]
    return {method: run_title(CONFIG, cell, method) for method in methods}


@lru_cache(maxsize=None)
def named_classes(benchmark):
    """The names of a benchmark's classes, as MLflow shows them."""
    return class_names(CONFIG, benchmark)


def cell_command(wildcards):
    """The command that makes a cell again."""
    chosen = [f"--configfile {os.path.relpath(path)}" for path in files]
    mark = f"{RESULTS}/{grid.Cell.from_wildcards(wildcards).path}/{names.TRACKED}"
    return " ".join(["snakemake --cores 2", *chosen, "--", mark])


def table_files():
    """Every table in every form, the comparison with the paper, and the page of them all."""
    tables = [
        paths.table_file(name, form)
        for name in grid.table_names(CONFIG)
        for form in ("csv", "md", "tex")
    ]
    comparison = paths.table_file("comparison", "csv")
    return [*paths.below(RESULTS, [*tables, comparison]), FRONT]


def figure_files():
    """Every figure in both formats."""
    return paths.below(
        RESULTS,
        (
            paths.figure_file(name, form)
            for name in FIGURE_NAMES
            for form in ("png", "svg")
        ),
    )


def figure_caption(name):
    """A figure's own caption; of one's own figure a general one."""
    own = places.ROOT / "workflow" / "report" / "figures" / f"{name}.rst"
    return f"../report/figures/{name}.rst" if own.exists() else "../report/figure.rst"


def study_names():
    """The studies of the configuration by the names that their files have."""
    return {entry.rpartition(":")[2]: entry for entry in CONFIG.studies}


def study_files():
    """Every study of the configuration: its numbers and its figure."""
    return paths.below(
        RESULTS,
        (
            path
            for name in study_names()
            for path in (paths.study_file(name), paths.figure_file(name, "png"))
        ),
    )


def study_inputs(wildcards):
    """The runs that a study looks at: none for those of the theory alone."""
    study = STUDIES.get(study_names()[wildcards.study], CONFIG.base)
    return files_of(study.needs(CONFIG), names.METRICS)


def tracked_files():
    """The marks that tell that a cell is mirrored in MLflow."""
    return [f"{RESULTS}/{cell.path}/{names.TRACKED}" for cell in grid.cells(CONFIG)]
