"""What the plots of the commands share: matplotlib only when a plot is asked for, files whole or not there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nslimb.errors import InvalidInput, MissingEngine
from nslimb.files import written_aside
from nslimb.style import STYLE

_SUFFIXES = (".png", ".svg", ".pdf")


def check_plot(path: Path | None) -> None:
    """Refuse a plot that could not be drawn before anything long begins."""
    if path is None:
        return
    if path.suffix not in _SUFFIXES:
        raise InvalidInput("--plot", f"a file that ends in {', '.join(_SUFFIXES)}", repr(str(path)))
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingEngine("--plot needs matplotlib: pip install matplotlib") from error


@contextmanager
def plotted(path: Path, rows: int = 1, columns: int = 1, size: tuple[float, float] = (5.0, 2.8)) -> Iterator[Any]:
    """Axes [rows, columns] to draw on, saved to ``path`` when the block ends."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        yield figure.subplots(rows, columns, squeeze=False)
        with written_aside(path) as aside:
            figure.savefig(aside, dpi=200, format=path.suffix[1:])


def name_classes(axis: Any, names: tuple[str, ...]) -> None:
    """Names below the axis, turned and small where they would run into each other."""
    long, many = max(map(len, names)) > 3, len(names) > 12
    turn = {} if not long and len(names) <= 30 else {"rotation": 90} if many else {"rotation": 45, "ha": "right"}
    names = tuple(name.replace("$", r"\$") for name in names)
    axis.set_xticks(range(len(names)), names, fontsize=6 if long and many else 8, **turn)
