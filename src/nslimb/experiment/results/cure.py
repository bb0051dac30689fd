"""The tables of runs on shortcuts and on several networks, in docs/shortcuts.md, docs/knowledge.md and the README.

All of it from shortcuts.csv and spaces.csv in docs/results, between marks.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from nslimb.experiment import chance
from nslimb.experiment.readings import COLUMNS, NONE, TRUTH
from nslimb.experiment.results.layout import between_marks, markdown
from nslimb.files import write_text

Frame = pd.DataFrame
_METHODS = {
    "sl": "SL",
    "transport": "transport",
    "transport-restarts": "transport, six starts",
    "transport-named": "transport, renamed",
    "supervised": "supervised",
}
_CURES = ("transport", "transport-restarts", "transport-named")
_TITLES = {
    "half": "`half`",
    "even_odd": "`even_odd`",
    "even_odd_renamed": "`even_odd`, each digit d called d + 5 mod 10",
    "xor": "`xor`",
    "mnmath_sum": "`mnmath`, a + b = c + d",
    "mnmath_product": "`mnmath`, e f = g h",
    "half_wrong_05": "`half`, ratios wrong by 0.05",
    "half_wrong_10": "`half`, ratios wrong by 0.1",
    "even_odd_wrong_05": "`even_odd`, ratios wrong by 0.05",
    "even_odd_wrong_10": "`even_odd`, ratios wrong by 0.1",
}
_ONE_MAP = ("half",)  # where the truth alone keeps the ratios; elsewhere others do, too
_CLOSE = 2.0  # points below supervised
_ENOUGH, _SEEDS = 9, 10  # so many of so many


def load(folder: Path, name: str) -> Frame:
    """One of the CSV files; without rows where there is none."""
    path = folder / f"{name}.csv"
    return pd.read_csv(path, dtype={"M": str}) if path.exists() else pd.DataFrame(columns=COLUMNS[name])


def interval(values: Any) -> str:
    """The mean with its 95 % interval by Student's t.

    Examples
    --------
    >>> interval([97.0, 98.0, 99.0]), interval([97.0])
    ('98.0 ± 2.5', '97.0')
    """
    mean, _, high = chance.interval(values)
    return f"{mean:.1f} ± {high - mean:.1f}" if np.isfinite(high) else f"{mean:.1f}"


def shortcut_tables(frame: Frame) -> str:
    """What was learned on each benchmark by each method, and whether the goal is met."""
    if not len(frame):
        return "No run has been published yet.\n"
    lines = [["benchmark", "method", "seeds", "digits (%)", "weak labels (%)", "what the network reads"]]
    for benchmark, title in _TITLES.items():
        for method, printed in _METHODS.items():
            found = _of(frame, benchmark, method)
            if len(found):
                accuracies = [interval(found[key]) for key in ("accuracy", "weak_accuracy")]
                lines.append([title, printed, str(len(found)), *accuracies, _readings(found)])
    goals = [told for benchmark in _TITLES for method in _CURES if (told := _goal(frame, benchmark, method))]
    return markdown(lines) + "\n" + "\n".join(f"- {sentence}" for sentence in goals) + "\n"


def _of(frame: Frame, benchmark: str, method: str) -> Frame:
    return frame[(frame["benchmark"] == benchmark) & (frame["method"] == method)]


def _readings(found: Frame) -> str:
    """How often each reading was learned, the most frequent first."""
    words = {TRUTH: "the truth", NONE: "no reading that explains the labels"}
    counts = Counter(words.get(reading, reading) for reading in found["reading"].tolist())
    shown = [f"{reading} ({times})" for reading, times in counts.most_common()]
    more = len(shown) - 3
    return "; ".join(shown[:3]) + (f"; {more} others" if more > 0 else "")


def _goal(frame: Frame, benchmark: str, method: str) -> str:
    """How many seeds reach what is possible, in a sentence; nothing where the method has not run."""
    cured = _of(frame, benchmark, method)
    if not len(cured):
        return ""
    title = f"{_TITLES[benchmark]}, {_METHODS[method]}"
    if benchmark.split("_wrong")[0] not in _ONE_MAP:
        met = int(cured["keeps"].sum())
        return f"{title}: on a reading that keeps the ratios in {met} of {len(cured)} seeds{_verdict(met, len(cured))}"
    both = cured.merge(_of(frame, benchmark.split("_wrong")[0], "supervised"), on="seed", suffixes=("", "_supervised"))
    met = int((both["accuracy"] >= both["accuracy_supervised"] - _CLOSE).sum())
    told = f"{title}: within {_CLOSE:g} points of supervised in {met} of {len(both)} seeds"
    return told + _verdict(met, len(both)) if len(both) else ""


def _verdict(met: int, of: int) -> str:
    """Once all ten seeds have run."""
    if of < _SEEDS:
        return ""
    return " (goal met)" if met >= _ENOUGH else " (goal missed)"


def readme_row(frame: Frame) -> str:
    """The cure in a line for the README."""
    shown = (("half", "MNIST-Half"), ("even_odd", "MNIST-EvenOdd"))
    ran = [method for method in _METHODS if any(len(_of(frame, benchmark, method)) for benchmark, _ in shown)]
    lines = [["digits right (%), learned from sums", *(_METHODS[method] for method in ran)]]
    for benchmark, title in shown:
        entries = {method: _of(frame, benchmark, method)["accuracy"] for method in ran}
        if any(len(entries.get(method, ())) for method in _CURES):
            lines.append([title, *(f"{interval(e)} ({len(e)})" if len(e) else "-" for e in entries.values())])
    told = (
        "\nMean over seeds with its 95 % interval, and their number. EvenOdd's ratios leave a twin of the truth, so "
        "that either might have been learned; six starts were decided on other seeds, after two had failed on some of "
        "these."
    )
    return markdown(lines) + told if len(lines) > 1 else ""


def space_table(frame: Frame) -> str:
    """One network for all symbols beside one for digits and one for operators."""
    if not len(frame):
        return "No run has been published yet.\n"
    lines = [["HWF-M", "method", "networks", "seeds", "symbols (%)", "digits (%)", "operators (%)", "formulas (%)"]]
    for (arity, method, networks), found in frame.groupby(["M", "method", "networks"], sort=False):
        numbers = [interval(found[key]) for key in ("accuracy", "digit", "operator", "weak_accuracy")]
        lines.append([f"HWF-{arity}", str(method), str(networks), str(len(found)), *numbers])
    body = sorted(lines[1:], key=lambda line: (line[0], ["sl", "recipe", "supervised"].index(line[1]), line[2]))
    return markdown([lines[0], *body])


def inserted(text: str, name: str, block: str, where: str) -> str:
    """A page with what stands between the marks of ``name`` written anew."""
    begin, end = f"<!-- {name}: written by `make results` -->", f"<!-- end of {name} -->"
    return between_marks(text, begin, end, f"{block.rstrip()}\n", where)


def pages(folder: Path, root: Path) -> dict[Path, str]:
    """The pages that have tables of these runs, as they should be."""
    shortcuts, spaces = load(folder, "shortcuts"), load(folder, "spaces")
    blocks = {
        Path("docs", "shortcuts.md"): ("runs", shortcut_tables(shortcuts)),
        Path("docs", "knowledge.md"): ("networks", space_table(spaces)),
        Path("README.md"): ("cure", readme_row(shortcuts)),
    }
    return {
        root / path: inserted((root / path).read_text(encoding="utf-8"), name, block, str(path))
        for path, (name, block) in blocks.items()
    }


def write_pages(folder: Path, root: Path) -> None:
    """Write the tables into their pages."""
    for path, text in pages(folder, root).items():
        write_text(path, text)
