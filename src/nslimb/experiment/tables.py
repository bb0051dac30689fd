"""Tables: ours beside the paper's, tidy as CSV, and in the paper's own layout as Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nslimb.experiment.chance import Accuracy, clear_winner
from nslimb.experiment.gather import GridRun
from nslimb.experiment.runs.timing import Timing
from nslimb.files import write_text

Frame = pd.DataFrame
KEYS = ["table", "benchmark", "M", "rho", "training", "adjustment"]
_MEASURES = ("accuracy", "macro_recall", "worst_class", "geometric_mean")


def read_reference(path: Path) -> Frame:
    """The paper's entries, keys as text."""
    frame = pd.read_csv(path, dtype={"M": str, "rho": str})
    return frame.rename(columns={"mean": "paper_mean", "std": "paper_std"})


def collect(runs: list[GridRun], adjustments: dict[str, str]) -> Frame:
    """One row for each (run, adjustment): keys, seed and measures in per cent; a run without metrics has none.

    ``adjustments`` are the names to show, ``none`` first, and how they are printed.
    """
    rows = []
    for run in runs:
        for adjustment, printed in adjustments.items():
            found = None if run.metrics is None else run.metrics.adjustments[adjustment]
            rows.append(
                {
                    "benchmark": run.cell.benchmark.upper(),
                    "M": run.cell.M,
                    "rho": run.cell.rho,
                    "training": run.printed,
                    "adjustment": printed,
                    "seed": run.cell.seed,
                    **{measure: None if found is None else 100 * found[measure] for measure in _MEASURES},
                    "test_images": None if found is None else int(np.sum(found["confusion_matrix"])),
                }
            )
    return pd.DataFrame(rows)


def tidy(
    table: str, runs: list[GridRun], adjustments: dict[str, str], protocol: str, source: str, reference: Frame
) -> Frame:
    """Mean and standard deviation over seeds beside the paper's; missing runs are counted, never dropped or zero."""
    each = collect(runs, adjustments)
    keys = KEYS[1:]
    grouped = each.groupby(keys, sort=False, dropna=False)
    frame = grouped.agg(
        seeds=("accuracy", "count"),
        missing=("accuracy", lambda values: int(values.isna().sum())),
        **{f"{measure}_{name}": (measure, name) for measure in _MEASURES for name in ("mean", "std")},
        test_images=("test_images", "max"),
    ).reset_index()
    frame.insert(0, "table", table)
    frame.insert(6, "protocol", protocol)
    frame.insert(7, "source", source)
    frame = frame.merge(reference[reference["table"] == table], how="left", on=KEYS)
    frame["difference"] = frame["accuracy_mean"] - frame["paper_mean"]
    of_cell = ceilings(runs)
    frame["ceiling"] = [of_cell.get((arity, rho)) for arity, rho in zip(frame["M"], frame["rho"], strict=True)]
    return frame


def ceilings(runs: list[GridRun]) -> dict[tuple[str, str], float]:
    """The accuracy (%) that can be reached on a cell, by M and rho, mean over seeds.

    The test share of each class that is not lost, times the recall of the supervised network where there is one.
    """
    found: dict[tuple[str, str], list[float]] = {}
    for cell in dict.fromkeys(run.cell for run in runs):
        own = [run.metrics for run in runs if run.cell == cell and run.metrics is not None]
        if not own or own[0].ceiling is None:
            continue
        matrix = np.array(own[0].adjustments["none"]["confusion_matrix"])
        shares, recall = matrix.sum(axis=1) / matrix.sum(), np.ones(len(matrix))
        for run in runs:
            if run.cell == cell and run.supervised and run.metrics is not None:
                learned = np.array(run.metrics.adjustments["none"]["class_accuracy"], dtype=float)
                recall = np.nan_to_num(learned, nan=1.0)
        kept = np.isin(np.arange(len(shares)), own[0].ceiling.lost, invert=True)
        found.setdefault((cell.M, cell.rho), []).append(100 * float(shares[kept] @ recall[kept]))
    return {key: float(np.mean(values)) for key, values in found.items()}


def comparison(tables: list[Frame], reference: Frame) -> Frame:
    """Each of the paper's entries with ours, the difference, and whether it lies within the paper's spread."""
    ours = pd.concat(tables)
    ours = ours.loc[ours["paper_mean"].notna(), [*KEYS, "accuracy_mean", "accuracy_std", "seeds", "protocol", "source"]]
    frame = reference.merge(ours, how="left", on=KEYS)
    frame["difference"] = frame["accuracy_mean"] - frame["paper_mean"]
    within = frame["difference"].abs() <= frame["paper_std"]
    frame["within_paper_spread"] = within.map({True: "yes", False: "no"}).where(frame["accuracy_mean"].notna(), "")
    return frame


def runtime(measured: list[tuple[str, str, int, Timing | None]], reference: Frame, memory: Frame) -> Frame:
    """Minutes an epoch and peak memory beside the paper's.

    Each entry is benchmark, M, batch size and what was measured, if it was.
    """
    rows = [
        {
            "algorithm": algorithm,
            "batch_size": batch,
            "benchmark": benchmark.upper(),
            "M": arity,
            "protocol": protocol,
            "minutes_per_epoch": timing and timing.minutes_per_epoch[protocol][algorithm],
            "peak_mb": timing and timing.peak_mb[protocol][algorithm],
        }
        for protocol in ("paper", "exact")
        for algorithm in ("SL", "LP")
        for benchmark, arity, batch, timing in measured
    ]
    paper = reference.rename(columns={"minutes_per_epoch": "paper_minutes_per_epoch"})
    keys = ["algorithm", "batch_size", "benchmark", "M"]
    frame = pd.DataFrame(rows).merge(paper.astype({"M": str}), how="left", on=keys)
    frame = frame.merge(memory.rename(columns={"peak_mb": "paper_peak_mb"}).astype({"M": str}), how="left", on=keys)
    return frame.round({"minutes_per_epoch": 4, "peak_mb": 0})


def with_names(frame: Frame, oracles: set[str]) -> Frame:
    """A tidy table with the name of each row's method, of its cell, and whether it is clearly the best of its cell."""
    shown = frame.copy()
    shown["method"] = [
        t if a == "none" else f"{t} + {a}" for t, a in zip(shown["training"], shown["adjustment"], strict=True)
    ]
    shown["cell"] = [f"{b}-{m}, rho={r}" for b, m, r in zip(shown["benchmark"], shown["M"], shown["rho"], strict=True)]
    shown["best"] = False
    for _, rivals in shown[~shown["training"].isin(oracles)].groupby("cell"):
        columns = ["accuracy_mean", "accuracy_std", "seeds", "test_images"]
        winner = clear_winner([Accuracy(*row) for row in rivals[columns].itertuples(index=False)])
        if winner is not None:
            shown.loc[rivals.index[winner], "best"] = True
    return shown


def laid_out(frame: Frame, oracles: set[str]) -> Frame:
    """A tidy table as the paper prints it: a row for each method, a column for each cell, ``mean ± std``.

    The best entry of a cell is bold, unless chance may have made its lead; ``oracles``, which saw gold labels, are no
    rivals.
    """
    shown = with_names(frame, oracles)
    shown["entry"] = [_entry(row) for row in shown.to_dict("records")]
    shown.loc[shown["best"], "entry"] = shown["entry"].map("**{}**".format)
    wide = shown.pivot(index="method", columns="cell", values="entry")
    wide = wide.loc[list(dict.fromkeys(shown["method"])), list(dict.fromkeys(shown["cell"]))]
    ceiling = shown.drop_duplicates("cell").set_index("cell")["ceiling"]
    if ceiling.notna().any():
        wide.loc["reachable"] = [f"{value:.2f}" if pd.notna(value) else "-" for value in ceiling]
    return wide


def _entry(row: Mapping[Any, Any]) -> str:
    if pd.isna(row["accuracy_mean"]):
        return "missing"
    if pd.isna(row["accuracy_std"]):
        return f"{row['accuracy_mean']:.2f}"
    return f"{row['accuracy_mean']:.2f} ± {row['accuracy_std']:.2f}"


def markdown(frame: Frame, caption: str) -> str:
    """A frame with its row names as a Markdown table."""
    header = list(map(str, [frame.index.name or "", *frame.columns]))
    lines = [caption, "", "| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    lines += [
        "| " + " | ".join([str(name), *map(str, row)]) + " |"
        for name, row in zip(frame.index, frame.values, strict=True)
    ]
    return "\n".join(lines) + "\n"


def latex(frame: Frame, caption: str) -> str:
    """The same as a LaTeX table with booktabs rules."""

    def cell(text: object) -> str:
        plain = str(text).replace("±", r"$\pm$").replace("rho=", r"$\rho$=").replace("%", r"\%").replace("_", r"\_")
        return rf"\textbf{{{plain[2:-2]}}}" if plain.startswith("**") else plain

    rows = [" & ".join(map(cell, [frame.index.name or "", *frame.columns]))]
    rows += [" & ".join(map(cell, [name, *row])) for name, row in zip(frame.index, frame.values, strict=True)]
    body = " \\\\\n".join([rows[0] + r" \\ \midrule" + "\n" + rows[1], *rows[2:]])
    columns = "l" + "r" * len(frame.columns)
    return (
        f"\\begin{{table}}\n\\caption{{{cell(caption)}}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n"
        f"{body} \\\\\n\\bottomrule\n\\end{{tabular}}\n\\end{{table}}\n"
    )


def write_csv(path: Path, frame: Frame) -> None:
    """A frame as CSV, whole or not at all."""
    write_text(path, frame.to_csv(index=False, float_format="%.4f"))
