"""What can be reached: the classes that weak labels tell apart, as well as a network learns each from gold labels."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd

from nslimb.experiment.results.data import CELL, CELL_AND_SEED, PROTOCOLS, Place, Results


@lru_cache(maxsize=len(PROTOCOLS))  # every column of every table asks for the same
def limits(results: Results, protocol: str = "exact") -> pd.Series:
    """The accuracy (%) that can be reached, by cell and seed, where the supervised network has been trained.

    The test share of each class that is not lost to the weak labels of the protocol, times the recall of the supervised
    network of the same seed, which is trained in protocol `exact`.
    """
    classes = results.classes
    gold = classes[(classes["protocol"] == "exact") & (classes["method"] == "supervised")]
    recall = gold.set_index([*CELL_AND_SEED, "class"])["accuracy"].fillna(100)  # of a class without test images
    own = classes[classes["protocol"] == protocol].drop_duplicates([*CELL_AND_SEED, "class"])
    own = own.set_index([*CELL_AND_SEED, "class"])
    kept = ((own["lost"] == 0) * own["share"] * recall.reindex(own.index)).dropna()
    return kept.groupby(CELL_AND_SEED, sort=False).sum()


def reachable(results: Results, place: Place, protocol: str = "exact") -> float:
    """The accuracy (%) that can be reached on a cell, mean over seeds; NaN where it is not known."""
    known = limits(results, protocol)
    by_seed = known[[key[:3] == place for key in known.index]]
    return float(by_seed.mean()) if len(by_seed) else np.nan


def room(results: Results, method: str, benchmark: str) -> pd.Series:
    """How many points are left above a method in protocol `exact`, paired by seed, mean over seeds, by cell."""
    runs = results.runs[(results.runs["protocol"] == "exact") & (results.runs["adjustment"] == "none")]
    runs = runs[(runs["method"] == method) & (runs["benchmark"] == benchmark)]
    left = limits(results).sub(runs.set_index(CELL_AND_SEED)["accuracy"]).dropna()
    return left.groupby(CELL, sort=False).mean()
