"""What the runs took, and which of the planned ones are missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

from nslimb.experiment import places
from nslimb.experiment.cells import runs
from nslimb.experiment.collect import MAIN
from nslimb.experiment.config import read_file
from nslimb.experiment.results.data import CHANGED, PROTOCOLS, TITLES, Results, printed
from nslimb.experiment.results.layout import groups, markdown


def costs(results: Results) -> str:
    """Hours of jobs and by the clock of training: by table and protocol, of the other grids, and of the whole."""
    clock = results.clock
    if not len(clock):
        return "Nothing has been run yet.\n"
    lines = [["", "protocol", "runs", "hours of all jobs", "hours by the clock"]]
    for title, rows in _parts(results):
        lines += [
            [title, f"`{protocol}`", *_hours(rows[rows["protocol"] == protocol])]
            for protocol in PROTOCOLS
            if protocol in rows["protocol"].to_numpy()
        ]
    lines.append(["all", "both", *_hours(clock)])
    total, passed = clock["seconds"].sum() / 3600, by_the_clock(clock) / 3600
    told = (
        f"The training jobs, one thread each, took {total:.1f} hours together, and {passed:.1f} hours by the clock, in "
        "which at least one of them ran, on two cores that had other work too. So these hours bound the core hours "
        f"from above: {_outlier(clock)} Grids ran beside each other, so that the hours by the clock of the rows add up "
        "to more than those of the whole. Drawing samples, estimating ratios and adjusting take a few seconds a run "
        "and are not in it."
    )
    silent = int(clock["ended"].isna().sum())
    if silent:
        told += f" {silent} runs of before do not tell when they trained and count as if they had been alone."
    return f"{told}\n\n{markdown(lines)}"


def _outlier(clock: pd.DataFrame) -> str:
    """The job that took longest beside others of its kind."""
    kind = clock.groupby(["grid", "protocol", "benchmark", "M", "method"])["seconds"]
    usual = kind.transform("median")
    most = int((clock["seconds"] / usual).argmax())
    longest, alike = float(clock["seconds"].iloc[most]), float(usual.iloc[most])
    return f"a job that stood still counts {longest / 60:.0f} minutes, where others of its kind took {alike:.0f} s."


def by_the_clock(frame: pd.DataFrame) -> float:
    """Seconds in which at least one of the jobs was at work; jobs that do not tell when count as if alone."""
    known = frame[frame["ended"].notna()]
    ended, seconds = known["ended"].to_numpy(float), known["seconds"].to_numpy(float)
    order = np.argsort(ended - seconds)
    begin, end = (ended - seconds)[order], ended[order]
    busy_until = np.maximum.accumulate(np.concatenate([[-np.inf], end]))[:-1]
    alone = frame["seconds"][frame["ended"].isna()].sum()
    return float(np.clip(end - np.maximum(begin, busy_until), 0, None).sum() + alone)


def _parts(results: Results) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of the clock by table of the paper, then what else is on the page, then the grids apart."""
    clock = results.clock
    on_page = clock["grid"].isin(MAIN.values())
    plain = clock[on_page & ~clock["method"].isin(CHANGED)]
    for title, cells in groups(results):
        yield title, pd.concat([results.at(plain, place) for place in cells] or [plain[:0]])
    yield "Figure 1", plain[(plain["benchmark"] == "max") & (plain["M"] == "2")]
    yield "one setting changed", clock[on_page & clock["method"].isin(CHANGED)]
    for grid, rows in clock[~on_page].groupby("grid", sort=False):
        yield f"`config/{grid}.yaml`", rows


def _hours(rows: pd.DataFrame) -> list[str]:
    return [str(len(rows)), *(f"{seconds / 3600:.2f}" for seconds in (rows["seconds"].sum(), by_the_clock(rows)))]


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


def _all(results: Results) -> pd.DataFrame:
    return pd.concat([frame for frame in (results.runs, results.changed) if len(frame)] or [results.runs])


def _group(run: tuple[str, ...]) -> tuple[str, str, str]:
    return run[0], run[1], run[5]
