"""What one setting, changed, does to the paper's entries: runs that show why entries miss."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from nslimb.experiment.results.data import CHANGED, Place, Results, printed
from nslimb.experiment.results.layout import markdown


class Effect(NamedTuple):
    """An entry of the paper with ours, as the protocol has it and with a changed setting, over the same seeds."""

    place: Place
    method: str
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
    """Every changed setting on every cell on which it and its method have run, without adjustment."""
    keys = ["benchmark", "M", "rho", "method"]
    paper = results.distinct[results.distinct["adjustment"] == "none"].set_index(keys)
    runs, changed = (_plain(frame) for frame in (results.runs, results.changed))
    found = []
    for variant, (method, words) in CHANGED.items():
        both = changed[changed["method"] == variant].merge(
            runs[runs["method"] == method], on=["benchmark", "M", "rho", "seed"], suffixes=("", "_usual")
        )
        for keys_of, part in both.groupby(["benchmark", "M", "rho"], sort=False):
            place = Place(*map(str, keys_of))
            key = (*place, method)
            if key in paper.index:
                entry = paper.loc[key]
                means = float(part["accuracy_usual"].mean()), float(part["accuracy"].mean())
                room = 2 * max(float(entry["paper_std"]), 1.0)
                found.append(Effect(place, method, words, len(part), float(entry["paper_mean"]), room, *means))
    return found


def section(results: Results) -> str:
    """The effects as a table; empty where none has been run."""
    found = effects(results)
    if not found:
        return ""
    lines = [["", "changed", "seeds", "the paper", "ours", "changed: ours", "met", "changed: met"]]
    for effect in found:
        numbers = [
            f"{effect.paper:.1f} ± {effect.room / 2:.1f}",
            f"{effect.ours:.1f}",
            f"{effect.changed:.1f}",
        ]
        met = ["yes" if effect.met(mean) else "no" for mean in (effect.ours, effect.changed)]
        title = f"{effect.place.title} {printed(effect.method)}"
        lines.append([title, effect.words, str(effect.seeds), *numbers, *met])
    return (
        "A setting changed, all else the same, over the same seeds (the paper's mean ± the larger of its standard "
        f"deviation and 1):\n\n{markdown(lines).rstrip()}"
    )


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[(frame["protocol"] == "paper") & (frame["adjustment"] == "none")]
