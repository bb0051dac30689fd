"""What the runs took, and which of the planned ones are missing."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from nslimb.experiment import places
from nslimb.experiment.cells import runs
from nslimb.experiment.collect import MAIN
from nslimb.experiment.config import read_file
from nslimb.experiment.results.data import PROTOCOLS, TITLES, Results, printed
from nslimb.experiment.results.layout import markdown

APART = ("split", "ablation", "noise", "confirmation", "addition")


def costs(results: Results) -> str:
    """Core hours of training by benchmark and protocol, and of the grids apart."""
    main, apart = (frame[frame["adjustment"] == "none"] for frame in (_all(results), _apart(results)))
    trained = pd.concat([frame for frame in (main, apart) if len(frame)] or [main])
    if not len(trained):
        return "Nothing has been run yet.\n"
    lines = [["", *(f"`{name}`: {what}" for name in PROTOCOLS for what in ("runs", "core hours"))]]
    own_rows = [(title, main[main["benchmark"] == benchmark]) for benchmark, title in TITLES.items()]
    for title, own in [*own_rows, ("other grids", apart), ("all", trained)]:
        row = [title]
        for protocol in PROTOCOLS:
            part = own[own["protocol"] == protocol]
            row += [str(len(part)), f"{part['seconds'].sum() / 3600:.2f}"]
        lines.append(row)
    hours = trained["seconds"].sum() / 3600
    grids = ", ".join(f"`{name}`" for name in APART)
    told = (
        f"Training took {hours:.1f} core hours in all, one thread a run; by the clock it would be half of that on two "
        f"cores that are always busy, which was not measured. Other grids are {grids}; the seconds of runs on "
        "reasoning shortcuts and on several networks are not published."
    )
    return f"{told}\n\n{markdown(lines)}"


def planned(*grids: str) -> list[tuple[str, str, str, str, str, str]]:
    """The runs of grids in `config` by protocol, benchmark, M, rho, seed and method."""
    found: list[tuple[str, str, str, str, str, str]] = []
    for name in grids:
        config = read_file(places.ROOT / "config" / f"{name}.yaml")
        for cell, method in runs(config):
            sigma = config.benchmarks[cell.benchmark].problem(cell.benchmark).sigma
            found.append((config.protocol, sigma, cell.M, cell.rho, cell.seed, method))
    return found


def missing(results: Results) -> str:
    """How many of the planned runs are published, by benchmark and method; those that are complete are not listed."""
    keys = ["protocol", "benchmark", "M", "rho", "seed", "method"]
    done = set(_all(results)[keys].drop_duplicates().itertuples(index=False, name=None))
    all_runs = planned(*MAIN.values())
    wanted, there = Counter(map(_group, all_runs)), Counter(_group(run) for run in all_runs if run in done)
    number = sum(there.values())
    if number == len(all_runs):
        return f"All {number} planned runs are done.\n"
    lines = [["", "method", "done", "planned"]]
    for (protocol, benchmark, method), total in wanted.items():
        if there[protocol, benchmark, method] < total:
            name = f"{TITLES.get(benchmark, benchmark)}, `{protocol}`"
            lines.append([name, printed(method), str(there[protocol, benchmark, method]), str(total)])
    head = f"{number} of {len(all_runs)} planned runs (`config/cpu_paper.yaml` and `config/cpu_exact.yaml`) are done."
    return f"{head} Not complete:\n\n{markdown(lines)}"


def _apart(results: Results) -> pd.DataFrame:
    """The runs of all grids that have a file of their own."""
    frames = [getattr(results, name) for name in APART]
    return pd.concat([frame for frame in frames if len(frame)] or [results.ablation])


def _all(results: Results) -> pd.DataFrame:
    return pd.concat([frame for frame in (results.runs, results.changed) if len(frame)] or [results.runs])


def _group(run: tuple[str, ...]) -> tuple[str, str, str]:
    return run[0], run[1], run[5]
