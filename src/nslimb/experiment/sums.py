"""The table of MNIST-Add-N: sums and digits learned, beside what others have published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nslimb.experiment.chance import interval
from nslimb.experiment.gather import GridRun

Frame = pd.DataFrame
LEVEL = 0.95
CAPTION = (
    "sums right (%) of two numbers of N digits, each image used once, after the last epoch; mean over seeds with its "
    f"{100 * LEVEL:.0f} % interval (Student's t), and in brackets the digits right"
)


def read_published(path: Path) -> Frame:
    """What others report: N, system, sum_accuracy (empty where it timed out), remark and source."""
    return pd.read_csv(path)


def with_sums(frame: Frame, runs: list[GridRun]) -> Frame:
    """The tidy table with N, the share of sums that come out (%) with its interval, and what digits of 99 % give."""
    found: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        if run.metrics is not None:
            share = run.metrics.adjustments["none"]["test_weak_accuracy"]
            found.setdefault((run.cell.M, run.printed), []).append(100 * share)
    rows = [sums_right(found.get(key, [])) for key in zip(frame["M"], frame["training"], strict=True)]
    digits = frame["M"].astype(int) // 2
    columns = {"N": digits, "digits_of_99": 100 * 0.99 ** (2 * digits)}
    joined: Frame = frame.assign(**columns, **{name: [row[name] for row in rows] for name in rows[0]})
    return joined


def sums_right(values: list[float]) -> dict[str, float]:
    """Mean and interval of the sums right in each run (%); an interval takes two runs."""
    mean, low, high = interval(values, LEVEL)
    known = len(values) > 1
    return {
        "sum_accuracy": mean,
        "sum_lower": max(low, 0.0) if known else np.nan,
        "sum_upper": min(high, 100.0) if known else np.nan,
    }


def laid_out(frame: Frame, published: Frame) -> Frame:
    """Methods below each other, ours first, a column for each N; others where they have an entry for one of these N."""
    sizes = sorted(set(frame["N"]))
    ours = {(row["training"], row["N"]): _entry(row) for row in frame.to_dict("records")}
    wide = {name: [ours.get((name, size), "") for size in sizes] for name in dict.fromkeys(frame["training"])}
    wide["digits of 99 % each"] = [f"{100 * 0.99 ** (2 * size):.1f}" for size in sizes]
    theirs = {(row["system"], row["N"]): _printed(row) for row in published.to_dict("records")}
    for system in dict.fromkeys(published.loc[published["N"].isin(sizes), "system"]):
        wide[f"{system} (published)"] = [theirs.get((system, size), "") for size in sizes]
    laid: Frame = pd.DataFrame.from_dict(wide, orient="index", columns=[f"N = {size}" for size in sizes])
    return laid


def _entry(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["sum_accuracy"]):
        return "missing"
    interval = "" if pd.isna(row["sum_lower"]) else f" [{row['sum_lower']:.1f}, {row['sum_upper']:.1f}]"
    return f"{row['sum_accuracy']:.1f}{interval} ({row['accuracy_mean']:.2f})"


def _printed(row: Mapping[Any, Any]) -> str:
    return str(row["remark"]) if pd.isna(row["sum_accuracy"]) else f"{row['sum_accuracy']:.2f}"
