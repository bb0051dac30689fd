"""Which mitigation wins, in one sentence: paired differences to SL over cells and seeds."""

from __future__ import annotations

import math

import numpy as np

from nslimb.experiment.chance import Accuracy, interval, told_apart
from nslimb.experiment.gather import GridRun
from nslimb.experiment.runs.metrics import Metrics

BASELINE = "sl"


def verdict(runs: list[GridRun], level: float = 0.95) -> str:
    """The best of all methods and adjustments that see no gold label against plain SL, on average over a table.

    Differences are paired by cell and seed. A win is told with the ``level`` interval of its mean (Student's t over the
    pairs); where that takes in 0, chance alone may have made it. In a single pair the test images tell how far chance
    may go.
    """
    accuracy: dict[tuple[str, str], dict[object, float]] = {}
    for run in runs:
        if run.metrics is not None and not run.oracle:
            for adjustment, printed in run.adjustments.items():
                name = run.printed if adjustment == "none" else f"{run.printed} + {printed}"
                accuracy.setdefault((run.method, name), {})[run.cell] = 100 * _comparable(run.metrics, adjustment)
    plain = next((cells for (method, name), cells in accuracy.items() if method == BASELINE and "+" not in name), None)
    if plain is None:
        return ""
    rivals = {
        name: [cells[cell] - plain[cell] for cell in plain]
        for (method, name), cells in accuracy.items()
        if cells is not plain and set(plain) <= set(cells)
    }
    if not rivals:
        return ""
    best = max(rivals, key=lambda name: float(np.mean(rivals[name])))
    gain, pairs = float(np.mean(rivals[best])), len(rivals[best])
    if pairs == 1:
        [(cell, reached)] = plain.items()
        rival, own = (Accuracy(mean, math.nan, 1, _images(runs, cell)) for mean in (reached + gain, reached))
        where = "in the one cell and seed there is"
        if gain <= 0:
            return f"No mitigation is above SL {where}; the best is {best} ({gain:+.2f} points)."
        doubt = "" if told_apart(rival, own) else ", which chance may have made"
        return f"Best: {best}, {gain:+.2f} points over SL {where}{doubt}."
    if gain <= 0:
        return f"No mitigation is above SL on average; the best is {best} ({gain:+.2f} points, {_over(pairs)})."
    _, low, high = interval(rivals[best], level)
    doubt = "" if low > 0 else ", which chance may have made"
    spread = f"{100 * level:.0f} % interval {low:+.2f} to {high:+.2f}"
    return f"Best on average: {best}, {gain:+.2f} points over SL ({spread}, {_over(pairs)}){doubt}."


def _comparable(metrics: Metrics, adjustment: str) -> float:
    """An accuracy; where it is of other test images than the unadjusted one (HWF), by what it changes on those."""
    found = metrics.adjustments[adjustment]
    if "unadjusted_accuracy" not in found:
        return float(found["accuracy"])
    return float(metrics.adjustments["none"]["accuracy"] + found["accuracy"] - found["unadjusted_accuracy"])


def _images(runs: list[GridRun], cell: object) -> int:
    """The number of test images of a cell."""
    return next(
        int(np.sum(run.metrics.adjustments["none"]["confusion_matrix"]))
        for run in runs
        if run.metrics is not None and run.cell == cell
    )


def _over(pairs: int) -> str:
    return f"over {pairs} pairs of cell and seed"
