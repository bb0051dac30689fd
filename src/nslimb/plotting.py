"""How figures look and how they are saved: for the workflow, the commands, and from Python.

matplotlib is imported when something is drawn, not before. Figures are made outside ``pyplot``: nothing has to be
closed, and no window system or backend is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from nslimb.errors import InvalidInput, MissingEngine
from nslimb.files import written_aside

BLUE, ORANGE, GREEN, GREY = "#1b6ca8", "#d95f02", "#1b9e77", "#666666"
COLOURS = (BLUE, ORANGE, GREEN, "#7570b3", "#a6761d", GREY)
STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.fontsize": 7,
    "legend.title_fontsize": 7,
    "legend.frameon": False,
    "svg.hashsalt": "nslimb",
    "figure.constrained_layout.use": True,
}
# What each format writes into its files, less the date: equal figures are equal files.
_METADATA = {".png": None, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def check_plot(path: Path | None, argument: str = "--plot") -> None:
    """Refuse a plot that could not be drawn or saved, before anything long begins."""
    if path is None:
        return
    if path.suffix not in _METADATA:
        raise InvalidInput(argument, f"a file that ends in {', '.join(_METADATA)}", repr(str(path)))
    _find_matplotlib(argument)


def _find_matplotlib(what: str) -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingEngine(f"{what} needs matplotlib: pip install matplotlib") from error


def styled(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Draw in the style of the house."""

    @wraps(draw)
    def wrapped(*arguments: Any, **options: Any) -> Any:
        _find_matplotlib("a figure")
        from matplotlib import rc_context

        with rc_context(STYLE):
            return draw(*arguments, **options)

    return wrapped


def subplots(rows: int = 1, columns: int = 1, size: tuple[float, float] = (5.0, 2.8)) -> tuple[Any, Any]:
    """A figure of ``size`` inches and its axes [rows, columns]."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=size)
    return figure, figure.subplots(rows, columns, squeeze=False)


def panels(number: int, height: float = 2.1, columns: int = 3) -> tuple[Any, list[Any]]:
    """A figure of ``number`` panels; one that says so where there is nothing to show."""
    columns = min(columns, max(1, number))
    rows = max(1, -(-number // columns))
    figure, axes = subplots(rows, columns, (2.6 * columns + 0.6, height * rows + 0.6))
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


def name_classes(axis: Any, names: Sequence[str]) -> None:
    """Names below the axis, turned and small where they would run into each other."""
    long, many = max(map(len, names)) > 3, len(names) > 12
    turn = {} if not long and len(names) <= 30 else {"rotation": 90} if many else {"rotation": 45, "ha": "right"}
    axis.set_xticks(range(len(names)), [as_text(name) for name in names], fontsize=6 if long and many else 8, **turn)


def as_text(name: object) -> str:
    """A name as it stands: a dollar sign would begin a formula."""
    return str(name).replace("$", r"\$")


def save(figure: Any, *paths: Path) -> None:
    """Write the figure to each of the ``paths`` (.png, .svg or .pdf), whole or not at all."""
    from matplotlib import rc_context

    for path in paths:
        with written_aside(path) as aside, rc_context(STYLE):
            figure.savefig(aside, dpi=160, format=path.suffix[1:], metadata=_METADATA[path.suffix])
