"""Grids of their own, beside the paper's cells: other seeds, an ablation, transport, wrong weak labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from nslimb.experiment import places
from nslimb.experiment.chance import interval, signed
from nslimb.experiment.config import read_file
from nslimb.experiment.results.costs import planned
from nslimb.experiment.results.data import CELL_AND_SEED, Place, Results, method_order, printed
from nslimb.experiment.results.frontier import RECIPE, UNAUGMENTED
from nslimb.experiment.results.layout import markdown

_KEYS = ["entry", *CELL_AND_SEED]
_PLAIN = "sl-plain"  # SL on images as they are


def sections(results: Results) -> list[str]:
    """Title, sentence and table of each, as far as it has been run."""
    return [
        *_grid(results, "confirmation", "Other seeds", "On seeds 4, 5 and 6, which no choice has seen"),
        *_grid(
            results,
            "ablation",
            "What each part is worth",
            "On the cells (but HWF-3) and seeds on which the recipe was chosen: the first bias, the pull of the "
            "observed weak labels on the mean prediction (psi) and the weights, alone and together; the recipe adds "
            "the weights after some epochs, a noise rate and smaller steps at the end",
        ),
        *_grid(
            results,
            "transport",
            "When transport helps",
            "On two cells of that table, seeds 11 and 12: the pull tau of the ratios at 1 and 100 in place of 10, five "
            "epochs of SL before transport, and the mean of its loss and SL's",
        ),
        *_grid(
            results, "noise", "Wrong weak labels", "With some weak labels replaced by others, drawn uniformly", _wrong()
        ),
    ]


def _grid(
    results: Results, grid: str, title: str, head: str, wrong: Mapping[str, float] | None = None
) -> Sequence[str]:
    """A table of a grid of its own: a row an entry and cell, a column a method, differences to SL beside them.

    A row is over the seeds that have every method that it shows, so that its differences are those of its means.
    """
    frame: pd.DataFrame = getattr(results, grid)
    runs = frame[frame["adjustment"] == "none"]
    if not len(runs):
        return ()
    wide = runs.pivot_table(index=_KEYS, columns="method", values="accuracy", sort=False)
    methods = sorted(wide.columns, key=method_order)
    own = [name for name in methods if name not in ("sl", _PLAIN, UNAUGMENTED)]  # what SL, augmented, is held against
    lines = [["", "seeds", *map(printed, methods), *(f"{printed(name)} - SL" for name in own)]]
    rows: list[pd.Series] = []
    for (entry, benchmark, arity, rho), part in wide.groupby(level=_KEYS[:-1], sort=False):
        whole = part.dropna(axis="columns", how="all").dropna()
        if "sl" not in whole or len(whole.columns) < 2 or not len(whole):
            continue
        name = Place(str(benchmark), str(arity), str(rho)).title
        name += f", {100 * wrong[entry]:g} % wrong" if wrong is not None else ""
        mean = whole.mean().reindex(methods)
        rows.append(mean.rename(str(benchmark)))
        numbers = ["-" if np.isnan(value) else f"{value:.1f}" for value in mean]
        lines.append([name, str(len(whole)), *numbers, *map(signed, mean[own] - mean["sl"])])
    if not rows:
        return ()
    means = pd.DataFrame(rows)
    over_sl = means[own].sub(means["sl"], axis="index")
    lines += [[f"{name} (its 95 % interval)", *[""] * (1 + len(methods)), *ends] for name, ends in _means(over_sl)]
    unless = " but those that say so" if {_PLAIN, UNAUGMENTED} & {*methods} else ""
    return (
        f"### {title}",
        f"{head}; all methods, SL too, train on augmented images{unless}{_unfinished(grid, len(runs))}:",
        markdown(lines),
        *_over_plain(means),
    )


def _over_plain(means: pd.DataFrame) -> Iterator[str]:
    """What the recipe, augmented or not, gains on SL that trains on images as they are, where that has run."""
    if _PLAIN not in means:
        return
    for method in (RECIPE, UNAUGMENTED):
        if method in means:
            found = _means(means[[method]].sub(means[_PLAIN], axis="index"))
            told = "; ".join(f"{name} {gain}" for name, (gain,) in found)
            yield f"*{printed(method).capitalize()}* over *{printed(_PLAIN)}*: {told}."


def _means(gained: pd.DataFrame) -> Iterator[tuple[str, list[str]]]:
    """Mean gains with their intervals, over MAX and over all benchmarks, of the rows that have all methods."""
    complete = gained.dropna()
    of_max = complete[complete.index == "max"]
    rows = "rows" if len(complete) == len(gained) else f"the {len(complete)} rows that have all methods"
    if 1 < len(of_max) < len(complete):
        yield "mean over MAX", [interval(gain).gain for _, gain in of_max.items()]
    if len(complete) > 1:
        yield f"mean over {rows}", [interval(gain).gain for _, gain in complete.items()]


def _unfinished(grid: str, done: int) -> str:
    """What to say of a grid that has not been run whole."""
    number = len(planned(grid))
    return "" if done == number else f" ({done} of the {number} runs of `config/{grid}.yaml` are done)"


def _wrong() -> dict[str, float]:
    """The share of wrong labels by entry of the grid that has them."""
    config = read_file(places.ROOT / "config" / "noise.yaml")
    return {name: block.noise for name, block in config.benchmarks.items()}
