"""The first page of a report: the result, as tables beside the paper's numbers, with what is needed to read them.

``python -m nslimb.experiment.front CONFIG`` prints the tables in a terminal.
"""

from __future__ import annotations

import html
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from nslimb.experiment import paths, tables
from nslimb.experiment.cells import table_names, table_runs, tables_of
from nslimb.experiment.chance import resolution
from nslimb.experiment.config import Config, read_file
from nslimb.experiment.explained import explanations
from nslimb.experiment.gather import gather
from nslimb.experiment.verdict import verdict
from nslimb.files import write_text

PAGE = "result.html"
_FEW = 3000  # test images: below, chance moves an accuracy by a point and more
# Snakemake centres the first page of a report, so that the top of a long one could not be reached, and keeps it narrow.
STYLE = """<meta charset="utf-8">
<style>
.items-center:has(.nslimb) { align-items: flex-start }
.prose:has(.nslimb) { max-width: none }
.nslimb { font: 14px/1.45 system-ui, sans-serif; color: #222; max-width: 110em }
.nslimb table { border-collapse: collapse; margin: 0.6em 0 0.4em; width: auto; min-width: 40em }
.nslimb caption { text-align: left; padding-bottom: 0.4em }
.nslimb th, .nslimb td { padding: 0.25em 0.7em; border-bottom: 1px solid #ddd; text-align: right; vertical-align: top }
.nslimb th:first-child { text-align: left; white-space: nowrap }
.nslimb thead th { border-bottom: 2px solid #666; white-space: nowrap }
.nslimb small { display: block; color: #666; font-weight: normal; white-space: nowrap }
.nslimb .missing { color: #a33 }
.nslimb .scroll { overflow-x: auto }
.nslimb p, .nslimb dl { max-width: 60em }
.nslimb dt { font-weight: 600; margin-top: 0.4em }
.nslimb dd { margin-left: 1.5em }
</style>
"""
_READING = (
    "Accuracy on the test images in per cent after the last epoch, mean ± standard deviation over seeds; below it the "
    "paper's number (of its own data sets and training), then macro recall (the mean of the accuracies of the classes) "
    "and the worst class. An entry is "
    "bold where chance cannot account for its lead over all others. Reachable is what the weak labels that were drawn "
    "allow: the share of the classes that they tell apart, each learned as well as by the supervised network."
)


def shown_tables(config: Config) -> list[str]:
    """The tables to show: not one whose every run another shows too (``max`` beside ``max_full``)."""
    known = {name: set(table_runs(config, name)) for name in table_names(config) if name != "runtime"}
    return [
        name
        for place, (name, own) in enumerate(known.items())
        if not any(
            own < other or (own == other and place < later)
            for later, other in enumerate(known.values())
            if other is not own
        )
    ]


def write_front(config: Config) -> None:
    """The page, from the tables that are there: result.html in the results folder."""
    parts = [STYLE, '<div class="nslimb">', f"<p>{_text(_READING)}</p>"]
    for name in shown_tables(config):
        runs = gather(config, table_runs(config, name))
        frame = pd.read_csv(config.results / paths.table_file(name, "csv"), dtype={"M": str, "rho": str})
        block = config.benchmarks[tables_of(config)[name][0]]
        title = f"{name.replace('_', ' ')}: protocol {config.protocol}, {block.source}, {block.samples} weak samples"
        parts += [f"<h3>{_text(title)}</h3>", f"<p>{_text(verdict(runs))}</p>"]
        names = {run.cell.benchmark.upper(): run.title for run in runs}
        frame["benchmark"] = frame["benchmark"].map(names)
        parts.append(html_table(frame, {run.printed for run in runs if run.oracle}))
    parts += ["<h3>What the names mean</h3>", "<dl>"]
    parts += [f"<dt>{_text(name)}</dt><dd>{_text(what)}</dd>" for name, what in explanations(config).items()]
    write_text(config.results / PAGE, "\n".join([*parts, "</dl>", "</div>", ""]))


def html_table(frame: pd.DataFrame, oracles: set[str]) -> str:
    """A tidy table as HTML: a row for each method, a column for each cell, the paper's number below ours."""
    shown = tables.with_names(frame, oracles)
    cells = list(dict.fromkeys(shown["cell"]))
    by_place = {(row["method"], row["cell"]): row for row in shown.to_dict("records")}
    lines = ['<div class="scroll"><table>', "<thead><tr><th>method</th>"]
    lines += [f"<th>{_text(cell)}<small>{_images(shown[shown['cell'] == cell])}</small></th>" for cell in cells]
    lines += ["</tr></thead>", "<tbody>"]
    for method in dict.fromkeys(shown["method"]):
        entries = [_entry(by_place.get((method, cell))) for cell in cells]
        lines.append(f"<tr><th>{_text(method)}</th>{''.join(entries)}</tr>")
    ceiling = shown.drop_duplicates("cell")["ceiling"]
    if ceiling.notna().any():
        numbers = "".join(f"<td>{value:.1f}</td>" if value == value else "<td>-</td>" for value in ceiling)
        lines.append(f"<tr><th>reachable</th>{numbers}</tr>")
    return "\n".join([*lines, "</tbody></table></div>"])


def _images(column: pd.DataFrame) -> str:
    """How many test images a cell has; where they are few, what that means for a comparison."""
    known = column["test_images"].dropna()
    if known.empty:
        return ""
    number = int(known.iloc[0])
    if number >= _FEW:
        return f"{number:,} test images"
    points = resolution(number, float(column["accuracy_mean"].max()))
    return f"{number:,} test images:<br>differences below<br>{points:.1f} points may be chance"


def _entry(row: Mapping[Any, Any] | None) -> str:
    if row is None:
        return "<td></td>"
    if pd.isna(row["accuracy_mean"]):
        return '<td class="missing">missing</td>'
    number = _spread(row["accuracy_mean"], row["accuracy_std"])
    number = f"<strong>{number}</strong>" if row["best"] else number
    paper = "" if pd.isna(row["paper_mean"]) else f"<small>paper {_spread(row['paper_mean'], row['paper_std'])}</small>"
    rest = f"<small>macro {row['macro_recall_mean']:.1f}, worst {row['worst_class_mean']:.1f}</small>"
    return f"<td>{number}{paper}{rest}</td>"


def _spread(mean: float, std: float) -> str:
    return f"{mean:.1f}" if pd.isna(std) else f"{mean:.1f} ± {std:.1f}"


def _text(given: str) -> str:
    return html.escape(given, quote=False)


def main(arguments: list[str]) -> None:
    """The command."""
    config = read_file(Path(arguments[0]))
    wanted = [*shown_tables(config), *(["runtime"] if "runtime" in table_names(config) else [])]
    for name in wanted:
        path = config.results / paths.table_file(name, "md")
        print(f"\n{path.read_text(encoding='utf-8')}" if path.exists() else f"\n{name}: not there yet")


if __name__ == "__main__":
    main(sys.argv[1:])
