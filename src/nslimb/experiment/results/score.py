"""The reproduction score: how many of the paper's entries the protocol `paper` meets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from nslimb.errors import DataError
from nslimb.experiment.chance import signed
from nslimb.experiment.config import read_yaml
from nslimb.experiment.results import changed
from nslimb.experiment.results.data import CELL, Place, Results, printed
from nslimb.experiment.results.layout import markdown, not_run

Frame = pd.DataFrame
_TABLES = {"max_full": "MAX", "sum": "SUM", "hwf": "HWF", "smallest_parent": "Smallest Parent"}
SCORED = ("max_full", "sum")  # at the paper's number of samples, with its network; the others are reduced
_KEYS = [*CELL, "method", "adjustment"]
_PAPER_SEEDS = 3
_ABOUT_SEEDS = (
    "Whether seeds alone may make the difference is judged as if the paper's numbers were means of three seeds; some "
    "are of ten, it does not say which."
)
_WIDE = 20  # points
_CHANCE = 0.05  # two means differ by more than their seeds where Welch's test is below this


def compared(results: Results) -> Frame:
    """Each distinct entry of the paper with ours of the protocol `paper`, and whether ours meets it.

    It does within mean +- 2 max(std, 1), all in points; ``met`` is missing where ours has not been run. ``by_seeds``
    where seeds alone may differ as much: Welch's test over the paper's three and ours, of which two are needed.
    """
    return _beside(results.distinct, results.entries[results.entries["protocol"] == "paper"])


def best_epochs(results: Results) -> Frame:
    """The entries without adjustment as ``compared`` has them, had each run's epoch been chosen by test accuracy.

    As the released code does; among the epochs at which the test images were looked at.
    """
    epochs = results.epochs[results.epochs["protocol"] == "paper"]
    best = epochs.groupby([*CELL, "method", "seed"], sort=False)["accuracy"].max().reset_index()
    groups = best.groupby([*CELL, "method"])["accuracy"]
    means = groups.agg(mean="mean", std="std", seeds="count").reset_index()
    return _beside(results.distinct[results.distinct["adjustment"] == "none"], means.assign(adjustment="none"))


def _beside(entries: Frame, ours: Frame) -> Frame:
    frame: Frame = entries.merge(ours[[*_KEYS, "mean", "std", "seeds"]], how="left", on=_KEYS)
    frame["difference"] = frame["mean"] - frame["paper_mean"]
    frame["met"] = (frame["difference"].abs() <= _room(frame)).astype(object).where(frame["mean"].notna(), None)
    with np.errstate(all="ignore"):  # a single seed has no spread, and no test
        mean, std, seeds, there, spread = frame[["mean", "std", "seeds", "paper_mean", "paper_std"]].to_numpy(float).T
        test = stats.ttest_ind_from_stats(mean, std, seeds, there, spread, _PAPER_SEEDS, equal_var=False)
    frame["by_seeds"] = test.pvalue >= _CHANCE
    return frame


def repeated(results: Results) -> tuple[int, Frame]:
    """How many entries of the small MAX table are in the full one, and those that are there with other numbers."""
    keys = ["M", "rho", "training", "adjustment"]
    small, full = (results.paper[results.paper["table"] == name] for name in ("max", "max_full"))
    both = small.merge(full, on=keys, suffixes=("", "_full"))
    other = (both["paper_mean"] != both["paper_mean_full"]) | (both["paper_std"] != both["paper_std_full"])
    return len(both), both[other]


def counts(frame: Frame) -> tuple[int, int, int]:
    """Entries that are met, that have been run, and that the paper prints."""
    return int((frame["met"] == True).sum()), int(frame["met"].notna().sum()), len(frame)  # noqa: E712


def read_reasons(path: Path) -> dict[str, dict[str, str]]:
    """Why groups of entries miss, by table and method, written by hand."""
    content = read_yaml(path) if path.exists() else None
    if content is None:
        return {}
    whole = isinstance(content, Mapping) and all(isinstance(group, Mapping) for group in content.values())
    if not whole or not set(content) <= set(_TABLES):
        raise DataError(f"{path}: expected a mapping of tables ({', '.join(_TABLES)}) to methods to text")
    return {str(name): {str(key): str(text) for key, text in group.items()} for name, group in content.items()}


def section(results: Results, reasons: Mapping[str, Mapping[str, str]]) -> str:
    """The score in words and tables."""
    frame = compared(results)
    number, other = repeated(results)
    scored = frame[frame["table"].isin(SCORED)]
    met, run, all_ = counts(scored)
    differing = [_differing(row) for row in other.to_dict("records")]
    text = [
        f"The paper prints {len(results.paper)} entries. {number} of its small MAX table repeat the full one, "
        f"{len(other)} of "
        f"them with other numbers; so {len(frame)} are distinct, and {all_} of these are of MAX and SUM, which run "
        "here with the "
        "paper's samples and network and half its epochs. HWF and Smallest Parent run reduced and do not count. An "
        "entry is met "
        "where our mean over seeds lies within the paper's mean ± 2 max(its standard deviation, 1).",
        f"**{met} of the {run} MAX and SUM entries that have been run are met**{not_run(all_ - run, all_, 'entries')}. "
        f"Of those without adjustment, of which the others differ little, it is {_of_plain(scored)}.",
        f"The margin is {_margins(scored)}. {_by_sl_alone(scored)}",
        _by_group(frame),
        _by_best_epoch(frame, best_epochs(results)),
    ]
    if differing:
        text.append("With other numbers in the small table: " + "; ".join(differing) + ".")
    text += ["### Why entries miss", _ABOUT_SEEDS, _misses(frame, reasons), changed.section(results)]
    return "\n\n".join(part for part in text if part) + "\n"


def _of_plain(frame: Frame) -> str:
    met, run, _ = counts(frame[frame["adjustment"] == "none"])
    return f"{met} of {run}"


def _by_sl_alone(frame: Frame) -> str:
    """What the rule is worth: how many entries the paper's own SL would meet in their place."""
    plain = frame[(frame["method"] == "sl") & (frame["adjustment"] == "none")]
    both = frame.merge(plain[[*CELL, "paper_mean"]], on=CELL, suffixes=("", "_sl"))
    met = int(((both["paper_mean_sl"] - both["paper_mean"]).abs() <= _room(both)).sum())
    return f"For comparison: the paper's own number of SL, put in for every method of its cell, would meet {met}."


def _margins(frame: Frame) -> str:
    """How wide the margins are, and how many entries are met by half of them."""
    room = _room(frame)
    within = int((frame["difference"].abs() <= room / 2).sum())
    wide = int((room > _WIDE).sum())
    return (
        f"{room.median():.1f} points in the median and more than {_WIDE} in {wide} entries, so widely do the paper's "
        f"seeds differ; within half of it are {within}"
    )


def _room(frame: Frame) -> pd.Series:
    room: pd.Series = 2 * frame["paper_std"].clip(lower=1)
    return room


def _differing(row: dict[Any, Any]) -> str:
    """An entry that the paper prints twice, with other numbers."""
    cell = Place(row["benchmark"], row["M"], row["rho"]).title
    small, full = (f"{row[f'paper_mean{end}']:.2f} ± {row[f'paper_std{end}']:.2f}" for end in ("", "_full"))
    return f"{cell} {printed(row['method'], row['adjustment'])} ({small} there, {full} in the full one)"


def _by_group(frame: Frame) -> str:
    lines = [["", *(f"{title}{'' if name in SCORED else ' (reduced)'}" for name, title in _TABLES.items())]]
    rows = list(dict.fromkeys(zip(frame["method"], frame["adjustment"], strict=True)))
    for method, adjustment in rows:
        part = frame[(frame["method"] == method) & (frame["adjustment"] == adjustment)]
        lines.append([printed(method, adjustment), *(_told(part[part["table"] == name]) for name in _TABLES)])
    lines.append(["all", *(_told(frame[frame["table"] == name]) for name in _TABLES)])
    return "Met / run / printed:\n\n" + markdown(lines).rstrip()


def _by_best_epoch(last: Frame, best: Frame) -> str:
    """What the released code's choice of the epoch would make of the score."""
    last, best = (part[part["table"].isin(SCORED) & (part["adjustment"] == "none")] for part in (last, best))
    if not best["met"].notna().any():
        return ""
    lines = [["", "met by the last epoch", "by the best one", "run", "points that the choice adds"]]
    for method in dict.fromkeys(best["method"]):
        ends, peaks = (part[(part["method"] == method) & part["mean"].notna()] for part in (last, best))
        if len(peaks):
            added = (peaks["mean"].to_numpy() - ends["mean"].to_numpy()).mean()
            lines.append([printed(method), str(counts(ends)[0]), str(counts(peaks)[0]), str(len(peaks)), signed(added)])
    return (
        "The released code reports the epoch with the best test accuracy; ours the last, since test labels choose "
        "nothing here. What that choice would make of the MAX and SUM entries without adjustment, among the epochs at "
        f"which the test images were looked at:\n\n{markdown(lines).rstrip()}"
    )


def _told(part: Frame) -> str:
    return " / ".join(map(str, counts(part))) if len(part) else "-"


def _misses(frame: Frame, reasons: Mapping[str, Mapping[str, str]]) -> str:
    lines = []
    for name, title in _TABLES.items():
        part = frame[(frame["table"] == name) & (frame["met"] == False)]  # noqa: E712
        for method, group in part.groupby("method", sort=False):
            above = int((group["difference"] > 0).sum())
            ran = int(frame[(frame["table"] == name) & (frame["method"] == method)]["met"].notna().sum())
            adjusted = " (also adjusted)" if (group["adjustment"] != "none").any() else ""
            head = (
                f"- **{title}, {printed(str(method))}**{adjusted}: {len(group)} of {ran} entries missed, {above} "
                f"of them above the paper's number; ours less the paper's is {signed(group['difference'].mean())} "
                "points on average over these."
            )
            if group["by_seeds"].any():
                head += f" In {int(group['by_seeds'].sum())} of them seeds alone may make as much (Welch's test, 5 %)."
            lines.append(f"{head} {reasons.get(name, {}).get(str(method), 'No reason has been shown yet.').strip()}")
    return "\n".join(lines) if lines else "No entry that has been run misses."
