"""From what a grid has left on disk to its table files; what is missing on disk is missing in them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd

from nslimb.errors import BrokenFile
from nslimb.experiment import names, paths, places, sums, tables
from nslimb.experiment.benchmarks import BENCHMARKS
from nslimb.experiment.cells import table_names, table_runs, tables_of, timing_path, timings
from nslimb.experiment.config import Config
from nslimb.experiment.gather import gather
from nslimb.experiment.runs.base import read_schema
from nslimb.experiment.runs.timing import Timing
from nslimb.experiment.shortcuts import told
from nslimb.experiment.titles import printed_adjustments, printed_name
from nslimb.experiment.verdict import verdict
from nslimb.files import set_aside, write_text

REFERENCE, RUNTIMES = places.REFERENCE / "tables.csv", places.REFERENCE / "runtimes.csv"
MEMORY, SUMS = places.REFERENCE / "memory.csv", places.REFERENCE / "addition.csv"

# What a reader of a table must know of its protocol.
_PROTOCOLS = {
    "paper": ". One proof a sample leaves the linear program no choice: ILP(EMP) and ILP(ALG1) then train alike. "
    "LA and CAROT adjust shuffled batches of test images, with settings chosen by weak accuracy and never none",
    "exact": ". Whole pre-images; LA and CAROT adjust the whole test set at once, or not at all where weak validation "
    "samples do not favour it",
}


def papers_entries(config: Config, entry: str) -> pd.DataFrame:
    """The paper's numbers; none for a problem over other classes than the paper's (Smallest Parent of digits)."""
    reference = tables.read_reference(REFERENCE)
    block = config.benchmarks[entry]
    problem, arity = block.problem(entry), int(block.M[0])
    if problem.sigma not in BENCHMARKS or not problem.options:
        return reference
    ours, papers = problem.build(arity, config.base), BENCHMARKS.get(problem.sigma).sigma(arity)
    return reference if ours.class_names == papers.class_names else reference.iloc[:0]


def write_table(config: Config, name: str) -> None:
    """One of the tables: tables/NAME.csv, .md and .tex."""
    entry = tables_of(config)[name][0]
    block = config.benchmarks[entry]
    runs = gather(config, table_runs(config, name))
    reference = papers_entries(config, entry)
    frame = tables.tidy(name, runs, printed_adjustments(config), config.protocol, block.source, reference)
    how = f"{block.source}, {_epochs(config, entry)}, {len(config.seeds_of(entry))} seed(s)"
    missing = sum(run.metrics is None for run in runs)
    gap = f", {missing} of {len(runs)} runs missing" if missing else ""
    caption = f"{name}: accuracy (%), protocol {config.protocol}, {how}{gap}{_PROTOCOLS[config.protocol]}"
    if block.problem(entry).sigma == "addition":
        frame = sums.with_sums(frame, runs)
        caption = f"{name}: {sums.CAPTION}, {how}{gap}"
        _write(config, name, frame, sums.laid_out(frame, sums.read_published(SUMS)), caption)
        return
    oracles = {run.printed for run in runs if run.oracle}
    below = "\n\n".join(filter(None, (verdict(runs), told(runs))))
    _write(config, name, frame, tables.laid_out(frame, oracles), caption, below)


def write_runtime(config: Config) -> None:
    """Minutes an epoch beside the paper's: tables/runtime.csv, .md and .tex."""
    measured = []
    for benchmark, arity, batch in timings(config):
        path = config.results / timing_path(benchmark, arity, batch) / names.TIMING_FILE
        measured.append((benchmark, arity, batch, read_schema(path, Timing) if path.exists() else None))
    frame = tables.runtime(measured, pd.read_csv(RUNTIMES), pd.read_csv(MEMORY))
    caption = (
        f"runtime: minutes an epoch and peak memory by protocol, extrapolated from {config.runtime.batches} batches"
    )
    _write(config, "runtime", frame, frame.set_index("algorithm").astype(object).fillna("-"), caption)


def write_comparison(config: Config) -> None:
    """Each of the paper's entries beside ours, from the tables: tables/comparison.csv."""
    keys = {"M": str, "rho": str}
    ours = [pd.read_csv(_path(config, name, "csv"), dtype=keys) for name in table_names(config) if name != "runtime"]
    tables.write_csv(_path(config, "comparison", "csv"), tables.comparison(ours, tables.read_reference(REFERENCE)))


def write_all(config: Config) -> None:
    """Every table as far as the grid has come; broken files are set aside and count as missing."""
    wanted = table_names(config)
    jobs = [partial(write_table, config, name) for name in wanted if name != "runtime"]
    jobs += [partial(write_comparison, config), partial(_write_front, config)] if jobs else []
    jobs += [partial(write_runtime, config)] if "runtime" in wanted else []
    for job in jobs:
        while True:
            try:
                job()
                break
            except BrokenFile as error:
                set_aside(error.path)


def _epochs(config: Config, entry: str) -> str:
    """How long the methods of a benchmark train, with those that differ from the first in brackets."""
    variants = config.benchmarks[entry].methods
    epochs = {printed_name(config, entry, each.name): config.training_of(entry, each).epochs for each in variants}
    usual, *_ = epochs.values()
    others = ", ".join(f"{name}: {number}" for name, number in epochs.items() if number != usual)
    return f"{usual} epochs" + (f" ({others})" if others else "")


def _write_front(config: Config) -> None:
    from nslimb.experiment.front import write_front

    write_front(config)


def _path(config: Config, name: str, form: str) -> Path:
    return config.results / paths.table_file(name, form)


def _write(config: Config, name: str, tidy: pd.DataFrame, laid: pd.DataFrame, caption: str, below: str = "") -> None:
    tables.write_csv(_path(config, name, "csv"), tidy)
    write_text(_path(config, name, "md"), tables.markdown(laid, caption) + (f"\n{below}\n" if below else ""))
    write_text(_path(config, name, "tex"), tables.latex(laid, caption))
