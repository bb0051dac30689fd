"""From what a grid has left on disk to its table files; what is missing on disk is missing in them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd

from nslimb.errors import BrokenFile
from nslimb.experiment import tables
from nslimb.experiment.cells import table_runs, timings
from nslimb.experiment.cells import tables as table_names
from nslimb.experiment.config import Config
from nslimb.experiment.gather import gather
from nslimb.experiment.names import TABLE_CELLS
from nslimb.files import read_sealed, set_aside, write_text

REFERENCE, RUNTIMES = Path("reference/tables.csv"), Path("reference/runtimes.csv")


def write_table(config: Config, name: str, reference: Path = REFERENCE) -> None:
    """One of the paper's tables: tables/NAME.csv, .md and .tex."""
    benchmark = config.benchmarks[TABLE_CELLS[name][0]]
    runs = gather(config, table_runs(config, name))
    frame = tables.tidy(name, runs, config.protocol, benchmark.source, tables.read_reference(reference))
    how = f"{benchmark.source}, {config.training.epochs} epochs, {len(config.seeds)} seed(s)"
    missing = sum(run["metrics"] is None for run in runs)
    gap = f", {missing} of {len(runs)} runs missing" if missing else ""
    caption = f"{name}: accuracy (%), protocol {config.protocol}, {how}{gap}"
    _write(config, name, frame, tables.laid_out(frame), caption)


def write_runtime(config: Config, reference: Path = RUNTIMES) -> None:
    """Minutes an epoch beside the paper's: tables/runtime.csv, .md and .tex."""
    measured = []
    for folder in timings(config):
        benchmark, arity, batch = (part.split("=")[1] for part in folder.split("/")[1:])
        path = config.results / folder / "timing.json"
        timing = read_sealed(path) if path.exists() else None
        measured.append({"benchmark": benchmark, "M": arity, "batch_size": int(batch), "timing": timing})
    frame = tables.runtime(measured, pd.read_csv(reference))
    caption = f"runtime: minutes an epoch by protocol, extrapolated from {config.runtime.batches} batches"
    _write(config, "runtime", frame, frame.set_index("algorithm"), caption)


def write_comparison(config: Config, reference: Path = REFERENCE) -> None:
    """Each of the paper's entries beside ours, from the tables: tables/comparison.csv."""
    keys = {"M": str, "rho": str}
    ours = [pd.read_csv(_path(config, name, "csv"), dtype=keys) for name in table_names(config) if name != "runtime"]
    tables.write_csv(_path(config, "comparison", "csv"), tables.comparison(ours, tables.read_reference(reference)))


def write_all(config: Config) -> None:
    """Every table as far as the grid has come; broken files are set aside and count as missing."""
    names = table_names(config)
    jobs = [partial(write_table, config, name) for name in names if name != "runtime"]
    jobs += [partial(write_comparison, config)] if jobs else []
    jobs += [partial(write_runtime, config)] if "runtime" in names else []
    for job in jobs:
        while True:
            try:
                job()
                break
            except BrokenFile as error:
                set_aside(error.path)


def _path(config: Config, name: str, form: str) -> Path:
    return config.results / "tables" / f"{name}.{form}"


def _write(config: Config, name: str, tidy: pd.DataFrame, laid: pd.DataFrame, caption: str) -> None:
    tables.write_csv(_path(config, name, "csv"), tidy)
    write_text(_path(config, name, "md"), tables.markdown(laid, caption))
    write_text(_path(config, name, "tex"), tables.latex(laid, caption))
