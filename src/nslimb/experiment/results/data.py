"""The published numbers: read from CSV, averaged over seeds, in the order in which they are shown."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from nslimb.errors import DataError
from nslimb.experiment import places
from nslimb.experiment.collect import CLOCK, COLUMNS, KEYS
from nslimb.experiment.tables import read_reference
from nslimb.learning.methods import METHODS

Frame = pd.DataFrame
FOLDER = places.ROOT / "docs" / "results"
TITLES = {"max": "MAX", "sum": "SUM", "hwf": "HWF", "smallest_parent": "Smallest Parent"}
CELL = ["benchmark", "M", "rho"]
CELL_AND_SEED = [*CELL, "seed"]
FULL = ("max", "sum")  # those with the paper's number of samples and its network
FORMULAS = "hwf"
FEW = "sl-few"  # SL on the few samples with which Figure 1 is as the paper draws it
PROTOCOLS = ("paper", "exact")
ADJUSTMENTS = {"none": "none", "la": "LA", "carot": "CAROT"}
# The paper's methods in its order, then ours; others follow by name.
_ORDER = ("sl", "records", "ilp-emp", "ilp-alg1", "ilp-gold", "sl-affine", "sl-balanced", "sl-prior", "sot-alg1")
# What the page prints in place of a method's own name: of a variant with a row of its own, and of an oracle.
_PRINTED = {
    "sl-affine": "SL, augmented",
    "sl-plain": "SL, not augmented",
    "recipe-plain": "recipe, not augmented",
    "supervised": "supervised",
}
# Variants in protocol paper that change one setting of a method, to show why entries miss: no rows of the tables.
CHANGED = {
    "sl-longer": ("sl", "100 epochs, as in the paper"),
    "ilp-longer": ("ilp-alg1", "100 epochs, from an SL model of 100 epochs, as in the paper"),
    "records-longer": ("records", "100 epochs, as in the paper"),
    FEW: ("sl", "200 samples"),
    "sl-nll": ("sl", "negative log-likelihood in place of the binary cross-entropy"),
    "sl-three": ("sl", "three proofs in place of one"),
    "sl-thirty": ("sl", "thirty proofs in place of one"),
    "records-three": ("records", "three proofs in place of one"),
    "ilp-three": ("ilp-alg1", "three proofs in place of one, from an SL model of three"),
    "ilp-three-literal": (
        "ilp-alg1",
        "three proofs, one constraint a literal as in the released code, from an SL model of one proof and 100 epochs",
    ),
    "records-released": ("records", "no debiasing, which is what the released code amounts to: SL itself, bit for bit"),
    "ilp-literal": ("ilp-alg1", "one constraint a literal, as in the released code"),
}
_COLUMNS = {
    **COLUMNS,
    "clock": CLOCK,
    "predictions": [*CELL, "class", "ratio", "bound", "evidence"],
    "figure_2": ["partial_risk", "class", "local", "certified", "ratio", "case"],
    **{
        name: ["entry", *COLUMNS["runs"]]
        for name in ("ablation", "transport", "noise", "confirmation", "split", "addition")
    },
}


class Place(NamedTuple):
    """A cell without its seed."""

    benchmark: str
    M: str
    rho: str

    @property
    def title(self) -> str:
        name = TITLES.get(self.benchmark, self.benchmark)
        return f"{name}, rho={self.rho}" if self.benchmark == "smallest_parent" else f"{name}-{self.M}, rho={self.rho}"

    @property
    def order(self) -> tuple[int, int, float]:
        known = list(TITLES)
        place = known.index(self.benchmark) if self.benchmark in known else len(known)
        return place, int(self.M), float(self.rho)


def printed(method: str, adjustment: str = "none") -> str:
    """A method as tables print it, with its adjustment."""
    name = _PRINTED.get(method) or (METHODS.get(method).printed if method in METHODS else "") or method
    return name if adjustment == "none" else f"{name} + {ADJUSTMENTS.get(adjustment, adjustment)}"


def is_oracle(method: str) -> bool:
    """Whether a method sees gold labels or gold ratios."""
    return method in METHODS and METHODS.get(method).oracle


def on_other_images(frame: Frame) -> pd.Series:
    """Which rows are of other test images than accuracies without adjustment: HWF's adjustments, on drawn formulas."""
    rows: pd.Series = (frame["benchmark"] == FORMULAS) & (frame["adjustment"] != "none")
    return rows


def without_oracles(frame: Frame) -> Frame:
    """The rows of methods that see weak labels alone."""
    return frame[~frame["method"].map(is_oracle).astype(bool)]


def method_order(method: str) -> tuple[int, str]:
    """Where a method stands among the rows of a table."""
    place = _ORDER.index(method) if method in _ORDER else len(_ORDER) + (method == "recipe")
    return place, method


@dataclass(frozen=True, eq=False)
class Results:
    """All that has been published; tables that are not there yet are empty."""

    runs: Frame
    changed: Frame  # runs with one setting changed
    classes: Frame
    marginals: Frame
    epochs: Frame
    formulas: Frame  # HWF's adjustments beside what the same test images have without
    predictions: Frame
    figure_2: Frame
    ablation: Frame  # grids of their own: what each part of the recipe is worth
    transport: Frame  # ... when transport helps
    noise: Frame  # ... wrong weak labels
    confirmation: Frame  # ... seeds that no choice has seen
    split: Frame  # ... validation samples split off, as the paper's code does
    addition: Frame  # ... sums of numbers
    clock: Frame  # when the runs of all grids trained, and for how long
    paper: Frame  # the entries that the paper prints, benchmark and method as ours

    @cached_property
    def entries(self) -> Frame:
        """Mean and standard deviation over seeds by protocol, cell, method and adjustment."""
        keys = ["protocol", "benchmark", "M", "rho", "method", "adjustment"]
        grouped = self.runs.groupby(keys, sort=False)["accuracy"]
        frame: Frame = grouped.agg(mean="mean", std="std", seeds="count").reset_index()
        return frame

    @cached_property
    def comparable(self) -> Frame:
        """The runs, with an adjusted accuracy on other test images replaced by what it changes on those.

        HWF's adjustments are measured on images drawn as formulas; without that difference they are left out.
        """
        keys = [*KEYS, "adjustment"]
        frame = self.runs.merge(self.formulas.drop(columns="accuracy"), how="left", on=keys)
        plain = self.runs[self.runs["adjustment"] == "none"][[*KEYS, "accuracy"]]
        plain_accuracy = frame.merge(plain, how="left", on=KEYS, suffixes=("", "_plain"))["accuracy_plain"]
        changed = frame["accuracy"] - frame["unadjusted_accuracy"] + plain_accuracy
        return frame.assign(accuracy=frame["accuracy"].mask(on_other_images(frame), changed)).dropna(subset="accuracy")

    @cached_property
    def distinct(self) -> Frame:
        """The paper's distinct entries: its small MAX table repeats the full one."""
        return self.paper[self.paper["table"] != "max"]

    def cells(self, *benchmarks: str) -> list[Place]:
        """The cells of the paper's tables and of what has run, of these benchmarks (all if none is named)."""
        frames = [frame[CELL] for frame in (self.distinct, self.runs) if len(frame)]
        found = {Place(*map(str, row)) for frame in frames for row in frame.drop_duplicates().to_numpy()}
        wanted = [place for place in found if not benchmarks or place.benchmark in benchmarks]
        return sorted(wanted, key=lambda place: place.order)

    def at(self, frame: Frame, place: Place, protocol: str | None = None) -> Frame:
        """The rows of a cell."""
        chosen = (frame["benchmark"] == place.benchmark) & (frame["M"] == place.M) & (frame["rho"] == place.rho)
        return frame[chosen] if protocol is None else frame[chosen & (frame["protocol"] == protocol)]

    def ceiling(self, place: Place, protocol: str) -> float | None:
        """The accuracy that the weak labels of a cell allow, mean over seeds."""
        values = self.at(self.runs, place, protocol).drop_duplicates("seed")["ceiling"].dropna()
        return float(values.mean()) if len(values) else None

    def mean(self, place: Place, protocol: str, method: str, adjustment: str = "none") -> float | None:
        """The mean accuracy of a method on a cell."""
        found = self.at(self.entries, place, protocol)
        found = found[(found["method"] == method) & (found["adjustment"] == adjustment)]
        return float(found["mean"].iloc[0]) if len(found) else None


def load(folder: Path = FOLDER) -> Results:
    """Read the published tables of a folder."""
    frames = {name: _read(folder / f"{name}.csv", columns) for name, columns in _COLUMNS.items()}
    changed = frames["runs"]["method"].isin(CHANGED)
    frames |= {"runs": frames["runs"][~changed], "changed": frames["runs"][changed]}
    return Results(**frames, paper=_paper())


def _read(path: Path, columns: list[str]) -> Frame:
    if not path.exists():
        return pd.DataFrame(columns=columns)
    texts = dict.fromkeys((*KEYS, "adjustment", "position", "class_accuracy", "case"), str)
    frame: Frame = pd.read_csv(path, dtype=texts)
    missing = [name for name in columns if name not in frame]
    if missing:
        raise DataError(f"{path}: has no column {', '.join(missing)}; publish it again")
    return frame


def _paper() -> Frame:
    frame = read_reference(places.REFERENCE / "tables.csv")
    methods = {METHODS.get(name).printed: name for name in METHODS}
    adjustments = {shown: name for name, shown in ADJUSTMENTS.items()}
    return frame.assign(
        benchmark=frame["benchmark"].str.lower(),
        method=frame["training"].map(methods),
        adjustment=frame["adjustment"].map(adjustments),
    )
