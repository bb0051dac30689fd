"""What one setting, changed, does to the paper's entries: runs that show why entries miss."""

from __future__ import annotations

from typing import NamedTuple

from nslimb.experiment.results.data import CHANGED, TITLES, Place, Results, printed
from nslimb.experiment.results.layout import markdown


class Effect(NamedTuple):
    """An entry of the paper with ours, as the protocol has it and with a changed setting, over the same seeds."""

    place: Place
    method: str
    adjustment: str
    words: str
    seeds: int
    paper: float
    room: float
    ours: float
    changed: float

    def met(self, mean: float) -> bool:
        """Whether a mean meets the paper's entry."""
        return abs(mean - self.paper) <= self.room


def effects(results: Results) -> list[Effect]:
    """Every changed setting on every entry for which it and its method have run."""
    keys = ["benchmark", "M", "rho", "method", "adjustment"]
    paper = results.distinct.set_index(keys)
    runs, changed = (frame[frame["protocol"] == "paper"] for frame in (results.runs, results.changed))
    found = []
    for variant, (method, words) in CHANGED.items():
        both = changed[changed["method"] == variant].merge(
            runs[runs["method"] == method],
            on=["benchmark", "M", "rho", "seed", "adjustment"],
            suffixes=("", "_usual"),
        )
        for keys_of, part in both.groupby(["benchmark", "M", "rho", "adjustment"], sort=False):
            *cell, adjustment = map(str, keys_of)
            key = (*cell, method, adjustment)
            if key in paper.index:
                entry = paper.loc[key]
                means = float(part["accuracy_usual"].mean()), float(part["accuracy"].mean())
                numbers = len(part), float(entry["paper_mean"]), 2 * max(float(entry["paper_std"]), 1.0), *means
                found.append(Effect(Place(*cell), method, adjustment, words, *numbers))
    return found


def section(results: Results) -> str:
    """The effects as tables, those without adjustment one by one and all in numbers; empty where none has been run."""
    found = effects(results)
    if not found:
        return ""
    lines = [["", "changed", "number of seeds", "the paper", "ours", "changed: ours", "met", "changed: met"]]
    for effect in (effect for effect in found if effect.adjustment == "none"):
        numbers = [
            f"{effect.paper:.1f} ± {effect.room / 2:.1f}",
            f"{effect.ours:.1f}",
            f"{effect.changed:.1f}",
        ]
        met = ["yes" if effect.met(mean) else "no" for mean in (effect.ours, effect.changed)]
        title = f"{effect.place.title} {printed(effect.method)}"
        lines.append([title, effect.words, str(effect.seeds), *numbers, *met])
    return (
        "A setting changed, all else the same: how many entries, with those for LA and CAROT, are met without and with "
        f"the change, over the same seeds:\n\n{markdown(_counts(found)).rstrip()}\n\n"
        "The same one by one, without adjustment. Here *ours* too is the mean over these seeds alone, which are fewer "
        "than in the tables below (the paper's mean ± the larger of its standard deviation and 1):\n\n"
        f"{markdown(lines).rstrip()}"
    )


def _counts(found: list[Effect]) -> list[list[str]]:
    """By benchmark, method and setting, how many entries are met with and without the change."""
    groups: dict[tuple[str, str, str], list[Effect]] = {}
    for effect in found:
        benchmark = TITLES.get(effect.place.benchmark, effect.place.benchmark)
        groups.setdefault((benchmark, printed(effect.method), effect.words), []).append(effect)
    lines = [["", "changed", "entries", "met", "changed: met"]]
    for (benchmark, method, words), group in groups.items():
        met = [sum(effect.met(effect.ours) for effect in group), sum(effect.met(effect.changed) for effect in group)]
        lines.append([f"{benchmark}, {method}", words, str(len(group)), *map(str, met)])
    return lines
