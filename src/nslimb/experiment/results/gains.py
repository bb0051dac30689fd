"""Gains of one method over another, paired by cell and seed."""

from __future__ import annotations

import pandas as pd

from nslimb.experiment.results.data import CELL, CELL_AND_SEED, FULL, TITLES, Results

BALANCED = "sl-balanced"
AUGMENTED = "sl-affine"  # SL with the augmentation that mitigations train with in `exact`, on these


def gains(results: Results, protocol: str, one: tuple[str, str], other: tuple[str, str]) -> pd.DataFrame:
    """Accuracy of one method and adjustment less that of another, paired by cell and seed, on the same test images."""
    return _paired(results.comparable[results.comparable["protocol"] == protocol], one, other)


def over_sl(results: Results, protocol: str, method: str, adjustment: str = "none") -> pd.DataFrame:
    """Gains over the SL that a method is held against, which trains on images augmented as the method's are.

    Method ``sl`` is that SL itself.
    """
    parts = []
    for benchmark in TITLES:
        rival = AUGMENTED if protocol == "exact" and benchmark in FULL else "sl"
        one = rival if method == "sl" else method
        found = gains(results, protocol, (one, adjustment), (rival, "none"))
        parts.append(found[found["benchmark"] == benchmark])
    return pd.concat(parts)


def _paired(runs: pd.DataFrame, one: tuple[str, str], other: tuple[str, str]) -> pd.DataFrame:
    both = [
        runs[(runs["method"] == method) & (runs["adjustment"] == adjustment)][[*CELL_AND_SEED, "accuracy"]]
        for method, adjustment in (one, other)
    ]
    frame = both[0].merge(both[1], on=CELL_AND_SEED, suffixes=("", "_other"))
    return frame.assign(gain=frame["accuracy"] - frame["accuracy_other"])[[*CELL_AND_SEED, "gain"]]


def by_cell(frame: pd.DataFrame) -> pd.Series:
    """Mean gain over seeds, by cell."""
    return frame.groupby(CELL, sort=False)["gain"].mean()


def over_another(results: Results, protocol: str, benchmark: str, method: str, rival: str) -> pd.DataFrame:
    """What a method gains over another one by cell and seed, runs with a changed setting included."""
    frames = [frame for frame in (results.comparable, results.changed) if len(frame)]
    runs = pd.concat(frames) if frames else results.comparable
    own = runs[(runs["protocol"] == protocol) & (runs["benchmark"] == benchmark)]
    return _paired(own, (method, "none"), (rival, "none"))
