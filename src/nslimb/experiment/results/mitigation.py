"""What mitigation is worth with exact inference: against SL, against what weak labels allow, with wrong labels."""

from __future__ import annotations

import numpy as np
import pandas as pd

from nslimb.experiment.chance import interval, signed
from nslimb.experiment.results import recall, side_grids
from nslimb.experiment.results.data import (
    ADJUSTMENTS,
    CELL,
    CELL_AND_SEED,
    FULL,
    TITLES,
    Place,
    Results,
    method_order,
    printed,
    without_oracles,
)
from nslimb.experiment.results.frontier import RECIPE, UNAUGMENTED
from nslimb.experiment.results.gains import AUGMENTED, BALANCED, by_cell, gains
from nslimb.experiment.results.layout import markdown
from nslimb.experiment.results.predictions import SAMPLES as PER_SAMPLES
from nslimb.experiment.results.reach import reachable, room

_RIVALS = {AUGMENTED: "SL with the same augmentation", "sl": "plain SL"}
_BESIDE = (  # what else the recipe is held against
    ("Both trained on images as they are, it is {} points above SL", UNAUGMENTED, "sl"),
    ("It is {} points above weights by weak label alone (SL-balanced)", RECIPE, BALANCED),
)
_GOALS = (2.5, 4.5)  # points of the recipe above them on MAX
_NEAR = 1.0  # points to what is reachable
_CELLS_NEAR = 9  # cells so near to it, the goal
_FEW = 10  # samples
_SAMPLES = 3000  # of a MAX cell
_LEARNED = 97.0  # per cent, for SUM
_SHARE = 0.5  # of the epochs of SL


def section(results: Results) -> str:
    """All of it in words and tables, as far as it has been run."""
    if not len(_methods(results)):
        return "Nothing has been run yet.\n"
    parts = [
        _recipe(results),
        "Points over SL with the same augmentation, paired by cell and seed: the mean over cells, its 95 % interval "
        "(Student's t over cells), and the worst cell.",
        _against_sl(results),
        "Cell by cell, mean over seeds. *Reachable*: the share of the classes that the weak labels tell apart, each "
        "times the recall of the supervised network, which trains without augmentation, so that others may pass it.",
        _by_cell(results),
        recall.section(results),
        _learned(results),
        _adjustments(results),
        *side_grids.sections(results),
    ]
    return "\n\n".join(part.rstrip() for part in parts if part) + "\n"


def _methods(results: Results) -> list[str]:
    runs = results.runs[(results.runs["protocol"] == "exact") & results.runs["benchmark"].isin(FULL)]
    return sorted(runs["method"].unique(), key=method_order)


def _gain(results: Results, method: str, other: str, benchmark: str) -> pd.Series:
    found = gains(results, "exact", (method, "none"), (other, "none"))
    return by_cell(found[found["benchmark"] == benchmark])


def _recipe(results: Results) -> str:
    """The recipe in sentences, each beside its goal."""
    told = []
    for benchmark in FULL:
        sentences = []
        for (other, name), goal in zip(_RIVALS.items(), _GOALS, strict=True):
            cells = _gain(results, RECIPE, other, benchmark)
            if not len(cells):
                continue
            gained = interval(cells)
            spread = f"95 % interval {gained.bounds}" if len(cells) > 1 else "one cell"
            lowest = cells.reset_index().sort_values("gain").iloc[0]
            worst = Place(lowest["benchmark"], lowest["M"], lowest["rho"]).title
            aim = f", goal {goal:+} {_verdict(gained.mean >= goal)}" if benchmark == "max" else ""
            sentences.append(
                f"{signed(gained.mean)} points over {name} ({spread}{aim}; at worst {signed(cells.min())}, {worst})"
            )
        if sentences:
            number = len(_gain(results, RECIPE, AUGMENTED, benchmark))
            told.append(f"**{TITLES[benchmark]}, {number} cells: the recipe is {' and '.join(sentences)}.**")
        for words, method, other in _BESIDE:
            cells = _gain(results, method, other, benchmark)
            if len(cells) > 1:
                gained, least = interval(cells), signed(float(cells.min()))
                above = words.format(signed(gained.mean))
                told.append(f"{above} (95 % interval {gained.bounds}; at worst {least}).")
    told += _to_the_ceiling(results)
    elsewhere = pd.concat([_gain(results, RECIPE, "sl", benchmark) for benchmark in ("hwf", "smallest_parent")])
    if len(elsewhere):
        told.append(f"On the reduced benchmarks the recipe is above plain SL by: {_listed(elsewhere)}.")
    unaugmented = _gain(results, UNAUGMENTED, "sl", "hwf")
    if len(unaugmented):
        told[-1] += f" Trained on formulas as they are: {_listed(unaugmented)}."
    return "\n\n".join(told)


def _verdict(met: bool) -> str:
    return "met" if met else "missed"


def _listed(cells: pd.Series) -> str:
    return ", ".join(
        f"{Place(*key).title} {signed(gain)}" for key, gain in zip(cells.index.tolist(), cells, strict=True)
    )


def _to_the_ceiling(results: Results) -> list[str]:
    """How near the recipe comes to what weak labels allow, and how much they leave above SL."""
    left = {name: room(results, RECIPE, name) for name in FULL}
    number = sum(map(len, left.values()))
    if not number:
        return []
    near = {name: int((cells <= _NEAR).sum()) for name, cells in left.items()}
    above = sum(int((cells < 0).sum()) for cells in left.values())
    by_sl = sum(int((room(results, AUGMENTED, name) <= _NEAR).sum()) for name in FULL)
    told = (
        f"It is within {_NEAR:g} point of what is reachable with the same seeds, or above it, in "
        f"{sum(near.values())} of {number} cells (above it in {above}; goal {_CELLS_NEAR} "
        f"{_verdict(sum(near.values()) >= _CELLS_NEAR)}), {near['max']} of them of MAX; SL with the same augmentation "
        f"is in {by_sl}."
    )
    at = left["max"].index
    rooms = {name: room(results, method, "max").reindex(at).dropna() for method, name in _RIVALS.items()}
    if len(left["max"]) and all(map(len, rooms.values())):
        leave = " and ".join(f"{cells.mean():.1f} points above {name}" for name, cells in rooms.items())
        told += (
            f" On MAX, where the supervised network of the seed has been trained, the weak labels leave {leave}, "
            f"and {left['max'].mean():.1f} above the recipe: more can come only from learning images better than that "
            f"network does, or from ratios.{_where_it_is_left(results)}"
        )
    return [told]


def _where_it_is_left(results: Results) -> str:
    """How much of what the recipe leaves on MAX is of classes that few samples tell apart."""
    classes = results.classes[(results.classes["protocol"] == "exact") & (results.classes["benchmark"] == "max")]
    keys = [*CELL_AND_SEED, "class", "share", "lost"]
    wide = classes.pivot_table(index=keys, columns="method", values="accuracy").reset_index()
    evidence = results.predictions[[*CELL, "class", "evidence"]]
    both = wide[wide["lost"] == 0].merge(evidence, on=[*CELL, "class"])
    if RECIPE not in both or not len(both.dropna(subset=[RECIPE, "supervised", "evidence"])):
        return ""
    both = both.dropna(subset=[RECIPE, "supervised", "evidence"])
    points = (both["supervised"] - both[RECIPE]) * both["share"]
    few = both["evidence"].astype(float) * _SAMPLES / PER_SAMPLES <= _FEW
    runs = both.groupby(CELL_AND_SEED).ngroups
    return (
        f" Of these {points.sum() / runs:.1f} points {points[few].sum() / runs:.1f} are of classes that no more than "
        f"{_FEW} of the {_SAMPLES:,} samples are expected to tell from their likeliest rival."
    )


def _mean(results: Results, place: Place, method: str = RECIPE) -> float | None:
    return results.mean(place, "exact", method)


def _against_sl(results: Results) -> str:
    lines = [["", *(f"{TITLES[name]}: {what}" for name in FULL for what in ("points", "interval", "worst"))]]
    for method in _methods(results):
        if method in (AUGMENTED, UNAUGMENTED):
            continue
        row = [f"{printed(method)}{' (not augmented)' if method in ('sl', 'supervised') else ''}"]
        for benchmark in FULL:
            cells = _gain(results, method, AUGMENTED, benchmark)
            if not len(cells):
                row += ["-"] * 3
                continue
            gained = interval(cells)
            row += [signed(gained.mean), gained.bounds, signed(float(cells.min()))]
        lines.append(row)
    return markdown(lines)


def _by_cell(results: Results) -> str:
    methods = _methods(results)
    lines = [["", *map(printed, methods), "reachable"]]
    for place in results.cells(*FULL):
        means = [_mean(results, place, method) for method in methods]
        if any(mean is not None for mean in means):
            numbers = ["-" if mean is None else f"{mean:.1f}" for mean in means]
            limit = reachable(results, place)
            lines.append([place.title, *numbers, "-" if np.isnan(limit) else f"{limit:.1f}"])
    return markdown(lines)


def _learned(results: Results) -> str:
    """How many epochs the sums take."""
    epochs = results.epochs[(results.epochs["protocol"] == "exact") & (results.epochs["benchmark"] == "sum")]
    if not len(epochs):
        return ""
    keys = ["M", "rho", "seed", "method"]
    first = epochs[epochs["accuracy"] >= _LEARNED].groupby(keys)["epoch"].min()
    number = epochs.groupby(keys).size().groupby("method").size()
    lines = [["", "runs", "that reach it", "median epoch"]]
    for method in sorted(number.index, key=method_order):
        own = first[first.index.get_level_values("method") == method]
        lines.append([printed(method), str(number[method]), str(len(own)), f"{own.median():g}" if len(own) else "-"])
    told = f"Epochs until a sum has {_LEARNED:g} % of the test digits right:\n\n{markdown(lines)}"
    pairs = [(RECIPE, *rival) for rival in _RIVALS.items()]
    pairs.append((UNAUGMENTED, "sl", "plain SL if neither is augmented"))
    shares = {words: _share_of_epochs(first, *methods) for *methods, words in pairs}
    ends = [
        f"{part.median():.2f} of the epochs of {words} ({_verdict(part.median() <= _SHARE)})"
        for words, part in shares.items()
        if len(part)
    ]
    if ends:
        told += (
            f"\nThe recipe takes {', '.join(ends)}: medians over cells and seeds, the test images looked at every 2 "
            "epochs; goal: at most half."
        )
    return told


def _share_of_epochs(first: pd.Series, one: str, other: str) -> pd.Series:
    """A method's epochs in those of another one, by cell and seed where both reach it."""
    by_method = first.unstack("method")
    if not {one, other} <= {*by_method}:
        return pd.Series(dtype=float)
    return (by_method[one] / by_method[other]).dropna()


def _adjustments(results: Results) -> str:
    """What LA and CAROT change, mean over methods and cells and at worst, by benchmark."""
    methods = without_oracles(results.runs[results.runs["protocol"] == "exact"])["method"].unique()
    rows = {}
    for adjustment in ("la", "carot"):
        found = [gains(results, "exact", (method, adjustment), (method, "none")) for method in methods]
        cells = [by_cell(changes) for changes in found if len(changes)]
        if not cells:
            return ""
        rows[adjustment] = pd.concat(cells)
    benchmarks = [name for name in TITLES if name in rows["la"].index.get_level_values("benchmark")]
    lines = [["", *(TITLES[name] for name in benchmarks), "MAX and SUM", "all"]]
    for adjustment, values in rows.items():
        benchmark = values.index.get_level_values("benchmark")
        parts = [values[benchmark == name] for name in benchmarks] + [values[benchmark.isin(FULL)], values]
        lines.append([ADJUSTMENTS[adjustment], *map(_change, parts)])
    return (
        "What the adjustments, chosen by validation samples' weak labels, change in the accuracy: points, mean over "
        f"methods, but for oracles, and cells (worst, best, how many of these pairs).\n\n{markdown(lines)}"
    )


def _change(values: pd.Series) -> str:
    return f"{signed(values.mean(), 3)} ({signed(values.min())}, {signed(values.max())}, {len(values)})"
