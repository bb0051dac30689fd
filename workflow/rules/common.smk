# The configuration, checked before any job starts; paths, targets and digests for the rules.
import os
import sys

from nslimb.errors import NslimbError
from nslimb.experiment import cells as grid
from nslimb.experiment.config import read_config
from nslimb.experiment.demands import adjust_demand, train_demand
from nslimb.experiment.names import FIGURES, STUDIES, TABLE_CELLS
from nslimb.experiment.provenance import (
    claim_results,
    code_digest,
    hold_results,
    redate_results,
    versions,
)

try:
    CONFIG = read_config(config)
    claim_results(CONFIG)
except NslimbError as error:
    sys.exit(f"nslimb: {error}")

RESULTS = str(CONFIG.results)
LOGS = f"logs/{CONFIG.name}"
BENCHMARKS = f"{RESULTS}/benchmarks"
GPU = 0 if CONFIG.training.device == "cpu" else 1  # without one, all cores may train
CELL, RUN, TIMING = (
    f"{RESULTS}/{grid.CELL}",
    f"{RESULTS}/{grid.RUN}",
    f"{RESULTS}/{grid.TIMING}",
)


wildcard_constraints:
    **grid.CONSTRAINTS,


def settings():
    """The configuration as plain values, for the jobs; a change of it reruns them."""
    return CONFIG.model_dump(mode="json")


def benchmark_settings(wildcards):
    """What of the configuration a cell's jobs depend on: other benchmarks, seeds and tables may come and go."""
    dumped = settings()
    kept = (
        "name",
        "results",
        "protocol",
        "validation",
        "data",
        "hwf_path",
        "precedence",
        "hierarchy",
        "training",
    )
    name = wildcards.benchmark
    chosen = dict(
        dumped["benchmarks"][name],
        M=[wildcards.M],
        rho=[getattr(wildcards, "rho", "0")],
        methods=["sl"],
    )
    return {
        **{key: dumped[key] for key in kept},
        "benchmarks": {name: chosen},
        "seeds": [getattr(wildcards, "seed", "1")],
        "tables": [],
    }


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


def run_files(name):
    """A file of every run of the grid."""
    return [
        f"{RESULTS}/{grid.run_path(cell, method)}/{name}"
        for cell, method in grid.runs(CONFIG)
    ]


def cell_runs(name):
    """A file of every run of a cell, as an input function."""
    return lambda w: [
        f"{RESULTS}/{grid.run_path(grid.Cell.from_wildcards(w), method)}/{name}"
        for method in grid.settings_of(CONFIG, w.benchmark).methods
    ]


def table_files():
    """Every table in every form, and the comparison with the paper."""
    names = [*grid.tables(CONFIG), "comparison"]
    forms = {"comparison": ("csv",)}
    return [
        f"{RESULTS}/tables/{name}.{form}"
        for name in names
        for form in forms.get(name, ("csv", "md", "tex"))
    ]


def figure_files():
    """Every figure in both formats."""
    return [
        f"{RESULTS}/figures/{name}.{form}"
        for name in FIGURES
        for form in ("png", "svg")
    ]


def study_files():
    """Every study of the configuration: its numbers and its figure."""
    return [
        path
        for name in CONFIG.studies
        for path in (f"{RESULTS}/studies/{name}.csv", f"{RESULTS}/figures/{name}.png")
    ]


def study_inputs(wildcards):
    """The runs that a study looks at: none for those of the theory alone."""
    needed = {"carot_robustness": grid.robustness_runs, "order": grid.order_runs}
    chosen = needed.get(wildcards.study, lambda config: [])(CONFIG)
    return [f"{RESULTS}/{grid.run_path(*run)}/metrics.json" for run in chosen]


def tracked_files():
    """The marks that tell that a cell is mirrored in MLflow."""
    return [f"{RESULTS}/{cell.path}/tracked.json" for cell in grid.cells(CONFIG)]
