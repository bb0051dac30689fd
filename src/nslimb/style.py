"""How figures look, in the workflow and from the command line; matplotlib itself is not needed to read this."""

from __future__ import annotations

from typing import Any

BLUE, ORANGE, GREEN, GREY = "#1b6ca8", "#d95f02", "#1b9e77", "#666666"
COLOURS = (BLUE, ORANGE, GREEN, "#7570b3", "#a6761d", GREY)
STYLE: Any = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "svg.hashsalt": "nslimb",
    "figure.constrained_layout.use": True,
}
