"""Draw docs/data_flow.png: python docs/draw_data_flow.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nslimb.plotting import BLUE, GREEN, GREY, ORANGE, save, styled, subplots

# Name, what it is made of, place, colour (by step of the workflow).
BOXES = [
    ("image source", "pixels, labels,\nsplit, licence", 0, 1, GREY),
    ("samples.npz", "image indices,\nweak labels", 1, 1, BLUE),
    ("gold.npz", "labels, kept apart", 1, -0.1, ORANGE),
    ("marginals.json", "ratios by Algorithm 1", 2, 2, BLUE),
    ("a trained run", "model.pt, history.csv,\nrun.yaml", 3, 1, GREEN),
    ("metrics.json", "by adjustment", 4, 0.75, GREEN),
    ("tables, figures", "studies; CSV, Markdown,\nLaTeX, PNG, SVG", 5, 1.5, GREY),
    ("MLflow", "a mirror", 5, 0.1, GREY),
]
ARROWS = [
    (0, 1, "samples\n(long tail, sigma)"),
    (0, 2, ""),
    (1, 3, "marginals"),
    (1, 4, "train (method, loss\nthrough the diagram)"),
    (3, 4, ""),
    (4, 5, "adjust"),
    (3, 5, ""),
    (2, 5, "for metrics; for oracles in training"),
    (5, 6, ""),
    (5, 7, "track"),
]
WIDTH, HEIGHT, COLUMN, ROW = 1.75, 0.78, 2.5, 1.45


@styled
def draw() -> Any:
    """Boxes are files, arrows are steps of the workflow."""
    figure, ((axis,),) = subplots(size=(11.5, 4.0))
    for name, what, column, row, colour in BOXES:
        x, y = column * COLUMN, row * ROW
        axis.add_patch(_box(x, y, colour))
        axis.text(x, y + 0.22, name, ha="center", va="center", fontsize=7.5, weight="bold", wrap=True)
        axis.text(x, y - 0.12, what, ha="center", va="center", fontsize=7)
    for start, end, label in ARROWS:
        x0, y0 = BOXES[start][2] * COLUMN + WIDTH / 2, BOXES[start][3] * ROW
        x1, y1 = BOXES[end][2] * COLUMN - WIDTH / 2, BOXES[end][3] * ROW
        axis.annotate("", (x1, y1), (x0, y0), arrowprops={"arrowstyle": "->", "color": GREY, "linewidth": 0.9})
        axis.text((x0 + x1) / 2, (y0 + y1) / 2 + 0.1, label, ha="center", va="bottom", fontsize=6, color=GREY)
    axis.set(xlim=(-1.2, 5 * COLUMN + 1.2), ylim=(-0.7, 2 * ROW + 0.7))
    axis.axis("off")
    return figure


def _box(x: float, y: float, colour: str) -> Any:
    from matplotlib.patches import FancyBboxPatch

    corner = (x - WIDTH / 2, y - HEIGHT / 2)
    return FancyBboxPatch(corner, WIDTH, HEIGHT, boxstyle="round,pad=0.04", facecolor="white", edgecolor=colour)


if __name__ == "__main__":
    save(draw(), Path(__file__).with_name("data_flow.png"))
