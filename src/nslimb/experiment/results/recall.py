"""Class by class: macro recall and the worst class, of all classes and of those that the weak labels tell apart."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from nslimb.experiment.results.data import CELL_AND_SEED, FULL, TITLES, Results, method_order, printed
from nslimb.experiment.results.frontier import RECIPE
from nslimb.experiment.results.gains import AUGMENTED, BALANCED
from nslimb.experiment.results.layout import markdown

_HEADS = ("macro recall", "worst class", "macro recall, told apart", "worst class, told apart", "the other classes")


class Recall(NamedTuple):
    """Per cent, mean over cells and seeds: of all classes, of those told apart, and of the others (NaN if none)."""

    macro: float
    worst: float
    macro_apart: float
    worst_apart: float
    others: float


def recalls(results: Results, benchmark: str) -> dict[str, Recall]:
    """By method, in protocol `exact`, over the cells and seeds on which all of them have run."""
    classes = results.classes[(results.classes["protocol"] == "exact") & (results.classes["benchmark"] == benchmark)]
    lost = classes["lost"] == 1
    apart, others = _by_run(classes[~lost]), _by_run(classes[lost])
    whole = pd.concat([_by_run(classes), apart.add_suffix("_apart")], axis="columns").unstack("method").dropna()
    means, rest = whole.mean(), others["macro"].unstack("method").reindex(whole.index).mean()
    if not len(whole):
        return {}
    return {
        str(method): Recall(
            macro=float(means["macro", method]),
            worst=float(means["worst", method]),
            macro_apart=float(means["macro_apart", method]),
            worst_apart=float(means["worst_apart", method]),
            others=float(rest.get(method, np.nan)),
        )
        for method in whole.columns.unique("method")
    }


def _by_run(classes: pd.DataFrame) -> pd.DataFrame:
    """Mean and least recall of the classes of each run."""
    grouped = classes.groupby([*CELL_AND_SEED, "method"])["accuracy"]
    return pd.DataFrame({"macro": grouped.mean(), "worst": grouped.min()})


def section(results: Results) -> str:
    """A sentence and a table; empty where nothing has been run."""
    shown = {name: part for name in FULL if (part := recalls(results, name))}
    methods = sorted({method for part in shown.values() for method in part}, key=method_order)
    if not methods:
        return ""
    heads = {name: _HEADS if _some_lost(part) else _HEADS[:2] for name, part in shown.items()}
    lines = [["", *(f"{TITLES[name]}: {head}" for name in shown for head in heads[name])]]
    for method in methods:
        row = [printed(method)]
        for name, part in shown.items():
            values = part.get(method, (float("nan"),) * len(_HEADS))[: len(heads[name])]
            row += ["-" if np.isnan(value) else f"{value:.1f}" for value in values]
        lines.append(row)
    told = headline(shown.get("max", {}))
    return (
        "### Class by class\n\n"
        + (f"**{told}**\n\n" if told else "")
        + "The test images have the long tail of the training images, so that accuracy counts the frequent classes "
        "most. *Macro recall* is the mean over classes of the share that is right, the *worst class* the least of "
        "these. *Told apart* are the classes that the drawn weak labels tell from every more frequent one; whoever "
        "learns one of the others has been lucky, or has seen gold labels. Per cent, mean over the cells and seeds on "
        f"which all methods have run:\n\n{markdown(lines)}"
    )


def _some_lost(part: dict[str, Recall]) -> bool:
    return any(not np.isnan(recall.others) for recall in part.values())


def headline(found: dict[str, Recall]) -> str:
    """What becomes of the worst class of MAX that the weak labels tell apart; empty until all that it names has run."""
    if not {AUGMENTED, BALANCED, RECIPE, "supervised"} <= set(found):
        return ""
    told = {name: f"{found[name].worst_apart:.1f} %" for name in found}
    others = [found[name].others for name in (AUGMENTED, RECIPE)]
    rest = " Of the other classes SL has {:.1f} % right, the recipe {:.1f} %.".format(*others)
    return (
        "Of the classes that the weak labels of MAX tell apart, the worst one of a run has, on average, "
        f"{told[AUGMENTED]} of its test images right with SL, {told[BALANCED]} with weights by weak labels alone "
        f"(SL-balanced) and {told[RECIPE]} with the recipe, all on augmented images; {told['supervised']} with a "
        f"network that is trained on gold labels.{'' if np.isnan(others).any() else rest}"
    )
