"""What a run is in MLflow, as plain values: its name, tags, parameters, measurements and figure. No mlflow in here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from nslimb.experiment import names
from nslimb.experiment.runs.base import read_schema
from nslimb.experiment.runs.metrics import Metrics
from nslimb.experiment.runs.run import RunFile
from nslimb.files import digest
from nslimb.learning.history import Epoch, read_history
from nslimb.plotting import COLOURS, as_text, name_classes, styled, subplots

_FILES = (names.METRICS, names.HISTORY, names.RUN_FILE)
# Operators for the name of a measurement, in which MLflow takes these characters and no others.
_SPOKEN = {"+": "plus", "-": "minus", "*": "times"}
_REFUSED = re.compile(r"[^/\w.\- :]")
_COLUMNS = ("loss", "train_weak_accuracy", "validation_weak_accuracy", "test_accuracy", "seconds", "lp_seconds")
Value = tuple[str, float, int, int]  # name, value, milliseconds since 1970, epoch


@dataclass(frozen=True)
class Tracked:
    """A finished run's files, read once."""

    path: str  # below the results folder
    folder: Path
    described: RunFile
    metrics: Metrics
    history: list[Epoch]
    classes: tuple[str, ...]  # their names
    content: str  # digest of its files and the names

    @classmethod
    def read(cls, path: str, folder: Path, classes: Sequence[str]) -> Tracked:
        content = digest(*((folder / name).read_bytes() for name in _FILES), "\n".join(classes).encode())
        described = read_schema(folder / names.RUN_FILE, RunFile)
        metrics = read_schema(folder / names.METRICS, Metrics)
        history = read_history(folder / names.HISTORY)
        return cls(path, folder, described, metrics, history, tuple(classes), content)

    @property
    def ended(self) -> int:
        """When training ended, in milliseconds since 1970: as recorded, else by the date of run.yaml."""
        recorded = self.described.ended
        return int(1000 * ((self.folder / names.RUN_FILE).stat().st_mtime if recorded is None else recorded))

    @property
    def began(self) -> int:
        """The end less the seconds of training; of a run that was cut and taken up again, not the first hour."""
        return self.ended - int(1000 * self.described.seconds["training"])

    @property
    def files(self) -> list[Path]:
        """What is kept with the run; a restored run has no model."""
        found = [self.folder / name for name in (*_FILES, names.MODEL)]
        return [path for path in found if path.exists()]

    def tags(self) -> dict[str, str]:
        """What runs are looked up and filtered by."""
        run = self.described
        tags = {
            "protocol": run.protocol,
            "grid": run.grid,
            "oracle": run.oracle,
            "code": run.recipe["code"],
            "commit": run.commit,
            "source": run.source["name"],
            **{f"cell.{key}": value for key, value in run.cell.items()},
        }
        return {key: str(value) for key, value in tags.items()}

    def parameters(self) -> dict[str, str]:
        """The cell and every setting of training and of the method."""
        run, recipe = self.described, self.described.recipe
        settings = {
            **run.cell,
            "method": run.method,
            "network": recipe["network"],
            **recipe["training"],
            **recipe["method"]["settings"],
        }
        return {str(key): str(value) for key, value in settings.items()}

    def note(self, command: str) -> str:
        """The description that MLflow shows: which run it is, and how to make it again."""
        run = self.described
        again = f"\n\nMade by\n\n    {command}" if command else ""
        where = f"Grid `{run.grid}`, protocol `{run.protocol}`, `{self.path}`, on {run.device}."
        return f"{where} Numbers are of the last epoch.{again}"

    def values(self) -> Iterator[Value]:
        """Every number: the final ones by adjustment, then those of each epoch at the time it ended."""
        labels = [class_label(number, name) for number, name in enumerate(self.classes)]
        for name, value in _final(self.metrics, labels):
            yield name, value, self.ended, len(self.history)
        times = accumulate(row.seconds for row in self.history)
        for row, seconds in zip(self.history, times, strict=True):
            moment = min(self.ended, self.began + int(1000 * seconds))
            for name, value in _of_epoch(row, labels):
                yield f"epoch.{name}", value, moment, row.epoch


def class_label(number: int, name: str) -> str:
    """A class in the name of a measurement: two digits, so that names sort, and its name where that is another.

    Examples
    --------
    >>> class_label(3, "3"), class_label(10, "+"), class_label(0, "airplane")
    ('03', '10 plus', '00 airplane')
    """
    if name == str(number):
        return f"{number:02d}"
    return f"{number:02d} {_SPOKEN.get(name, _REFUSED.sub('_', name))}"


def _final(metrics: Metrics, labels: Sequence[str]) -> Iterator[tuple[str, float]]:
    for adjustment, entries in metrics.adjustments.items():
        for name, value in entries.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                yield f"{adjustment}.{name}", float(value)
        for label, accuracy in zip(labels, entries["class_accuracy"], strict=True):
            if accuracy is not None:
                yield f"{adjustment}.class_accuracy.{label}", float(accuracy)
    yield "ratios.total_variation", metrics.ratios.total_variation


def _of_epoch(row: Epoch, labels: Sequence[str]) -> Iterator[tuple[str, float]]:
    for name in _COLUMNS:
        value = getattr(row, name)
        if value is not None:
            yield name, float(value)
    accuracies = row.test_class_accuracy
    measured = [] if accuracies is None else zip(labels, accuracies, strict=True)
    known = [(label, each) for label, each in measured if _is_number(each)]
    for label, each in known:
        yield f"class_accuracy.{label}", float(each)
    if known:
        yield "macro_recall", float(np.mean([each for _, each in known]))


def _is_number(value: Any) -> bool:
    """Not None and not NaN, which stand for a class without test images."""
    return value is not None and bool(np.isfinite(value))


@styled
def draw(run: Tracked, title: str) -> Any:
    """The accuracy of each class over the epochs, and what each class was taken for at the end."""
    figure, ((left, right),) = subplots(1, 2, size=(8.0, 3.2))
    looks = [row for row in run.history if row.test_class_accuracy is not None]
    epochs = [row.epoch for row in looks]
    shown = 100 * np.array([row.test_class_accuracy for row in looks], dtype=float)
    for number, (name, values) in enumerate(zip(run.classes, shown.T, strict=False)):
        dash = ("-", "--", ":")[number // len(COLOURS) % 3]
        left.plot(epochs, values, dash, color=COLOURS[number % len(COLOURS)], linewidth=1, label=as_text(name))
    left.set(title=title, xlabel="epoch", ylabel="accuracy of each class (%)", ylim=(-3, 103))
    if len(shown):
        left.legend(ncols=2, title="class")
    matrix = np.array(run.metrics.adjustments["none"]["confusion_matrix"], dtype=float)
    shares = 100 * matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    image = right.imshow(shares, cmap="Blues", vmin=0, vmax=100)
    right.set(title="what each class was taken for, last epoch", xlabel="predicted", ylabel="true")
    name_classes(right, run.classes)
    right.set_yticks(range(len(run.classes)), [as_text(name) for name in run.classes])
    figure.colorbar(image, ax=right, label="% of the class")
    return figure
