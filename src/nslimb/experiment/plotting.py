"""What all figures share: style, panels, a legend that covers nothing, and files that are whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import matplotlib

from nslimb import style
from nslimb.files import written_aside
from nslimb.style import COLOURS

matplotlib.use("Agg")
import matplotlib.pyplot as plt

STYLE: Any = {**style.STYLE, "axes.titlesize": 8, "legend.fontsize": 7}
# A method has its colour and mark in every figure.
METHOD_COLOURS = dict(
    zip(("sl", "records", "ilp-emp", "ilp-alg1", "ilp-gold", "supervised"), COLOURS, strict=True),
)
METHOD_MARKS = dict(zip(METHOD_COLOURS, "osD^v*", strict=True))


def styled(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Draw in the style of the house."""

    @wraps(draw)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        with plt.rc_context(STYLE):
            return draw(*arguments, **options)

    return wrapped


def panels(number: int, height: float = 2.1, columns: int = 3) -> tuple[Any, list[Any]]:
    """A figure of ``number`` panels; one that says so where there is nothing to show."""
    columns = min(columns, max(1, number))
    rows = max(1, -(-number // columns))
    figure, axes = plt.subplots(rows, columns, figsize=(2.6 * columns + 0.6, height * rows + 0.6), squeeze=False)
    flat = list(axes.flat)
    for spare in flat[number:]:
        spare.set_visible(False)
    if number == 0:
        figure.text(0.5, 0.5, "nothing to show in this grid", ha="center")
    return figure, flat


def legend_above(figure: Any) -> None:
    """One legend for all panels, above them, as many entries in a row as fit."""
    columns = max(2, int(figure.get_size_inches()[0] / 1.4))
    entries: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    if entries:
        figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=min(columns, len(entries)))


def save(figure: Any, png: Path, svg: Path) -> None:
    """Write both formats, whole or not at all, without dates, so that equal figures are equal files."""
    for path, metadata in ((png, None), (svg, {"Date": None})):
        with written_aside(path) as aside, plt.rc_context(STYLE):
            figure.savefig(aside, dpi=160, format=path.suffix[1:], metadata=metadata)
    plt.close(figure)
