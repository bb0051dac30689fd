"""Several starts of one training, of which weak samples choose: no gold label is needed to see which one fits."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nslimb.files import write_text
from nslimb.learning.loop import Trained
from nslimb.learning.stopping import best_likelihood


def best_start(run: Callable[[int, Path], Trained], number: int, folder: Path) -> tuple[Trained, int]:
    """The start with the highest weak likelihood on the validation samples, and which one it is.

    ``run(k, folder)`` trains start k. Where there are several, each has a folder ``start=k`` of its own, and the model
    and the history of the best one are copied into ``folder``.
    """
    if number == 1:
        return run(0, folder), 0
    trained = [run(k, folder / f"start={k}") for k in range(number)]
    best = int(np.argmax([best_likelihood(start.history, None) for start in trained]))
    for name in ("history.csv", "model.pt"):
        aside = folder / f".{name}.copy"
        shutil.copyfile(folder / f"start={best}" / name, aside)
        aside.replace(folder / name)
    return trained[best], best


def forget_starts(folder: Path, recipe: str) -> None:
    """Remove starts that were made by another recipe: a digest of settings and code tells."""
    mark = folder / "starts"
    if mark.exists() and mark.read_text() != recipe:
        for start in folder.glob("start=*"):
            shutil.rmtree(start)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(mark, recipe)
