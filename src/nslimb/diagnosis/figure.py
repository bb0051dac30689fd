"""A diagnosis as a figure: weak labels, what they prove, the risk of each class, what it could be read as."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from nslimb.plotting import BLUE, COLOURS, GREY, ORANGE, as_text, name_classes, styled, subplots

if TYPE_CHECKING:
    from nslimb.diagnosis.result import Diagnosis

_NAMED = 20


@styled
def draw_diagnosis(found: Diagnosis) -> Any:
    """The figure of a diagnosis; save it with ``nslimb.plotting.save``."""
    drawn = [_draw_weak_labels, _draw_proven]
    if found.bounds is not None:
        drawn.append(_draw_bounds)
    if found.confusions is not None:
        drawn.append(_draw_evidence)
    rows, columns = (2, 2) if len(drawn) == 4 else (1, len(drawn))
    figure, axes = subplots(rows, columns, (3.4 * columns, 2.9 * rows))
    for axis, draw in zip(axes.flat, drawn, strict=True):
        draw(axis, found)
    return figure


def _draw_weak_labels(axis: Any, found: Diagnosis) -> None:
    labels = [str(label) for label in found.weak_labels]
    axis.bar(range(len(labels)), found.expected, width=0.8 if len(labels) < 60 else 1.0, color=BLUE)
    axis.axhline(1, color=GREY, linewidth=0.8, linestyle="--")
    if len(labels) <= _NAMED:
        name_classes(axis, labels)
    else:
        shown = np.linspace(0, len(labels) - 1, 8).round().astype(int)
        turn = 45 if max(map(len, labels)) > 4 else 0
        axis.set_xticks(shown, [as_text(labels[i]) for i in shown], rotation=turn)
    axis.set(xlabel="weak label", ylabel=f"expected among {found.samples:,} samples", yscale="log")
    axis.set_title("weak labels (dashed: a single one)")


def _draw_proven(axis: Any, found: Diagnosis) -> None:
    place = np.arange(len(found.classes))
    axis.bar(place - 0.2, 100 * found.proven, width=0.4, color=BLUE, label="proven to be there")
    axis.bar(place + 0.2, 100 * found.alone, width=0.4, color=ORANGE, label="seen alone")
    axis.set(xlabel="class", ylabel="samples (%)", title="what weak labels prove")
    axis.set_ylim(top=1.35 * max(1e-9, 100 * max(found.proven.max(), found.alone.max())))
    axis.legend(loc="upper left")
    name_classes(axis, found.classes)


def _draw_bounds(axis: Any, found: Diagnosis) -> None:
    assert found.bounds is not None
    lines = zip(found.partial_risks, found.bounds.upper, strict=True)
    for number, (risk, upper) in enumerate(lines):
        look = {"color": COLOURS[number % len(COLOURS)], "marker": "osD^v<>ph"[number % 9], "markersize": 3.5}
        axis.plot(100 * upper, linewidth=1, label=f"{risk:g}", **look)
    axis.set(xlabel="class", ylabel="largest class risk (%)", ylim=(-4, 104), title="risk bounds")
    axis.legend(title="partial risk", loc="upper left", bbox_to_anchor=(1, 1))
    name_classes(axis, found.classes)


def _draw_evidence(axis: Any, found: Diagnosis) -> None:
    """A heat map of E_ij on a logarithmic scale from a tenth of a sample on."""
    from matplotlib.colors import LogNorm

    assert found.confusions is not None
    evidence = np.where(np.eye(len(found.classes), dtype=bool), np.nan, found.confusions.evidence)
    scale = LogNorm(0.1, max(10, found.samples), clip=True)
    image = axis.imshow(np.maximum(evidence, 0.1), cmap="viridis", norm=scale, aspect="auto")
    unseen = np.argwhere(evidence < 1)
    if len(unseen):
        axis.plot(unseen[:, 1], unseen[:, 0], "x", color="white", markersize=3.5)
    bar = axis.figure.colorbar(image, ax=axis)
    bar.set_label(f"of {found.samples:,} samples against it")
    name_classes(axis, found.classes)
    if len(found.classes) <= _NAMED:
        axis.set_yticks(range(len(found.classes)), [as_text(name) for name in found.classes])
    axis.set(xlabel="read as", ylabel="class", title="evidence against readings (crosses: less than 1)")
