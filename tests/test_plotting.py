"""Figures: drawn without pyplot, saved whole and without dates, and matplotlib left alone by all that does not draw."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import nslimb
from nslimb.errors import InvalidInput, MissingEngine
from nslimb.plotting import check_plot, legend_above, panels, save, styled


@styled
def draw(values: list[float]) -> object:
    figure, axes = panels(len(values))
    for axis, value in zip(axes, values, strict=False):
        axis.plot([0, value], label="a line")
    legend_above(figure)
    return figure


def test_equal_figures_are_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save(draw([1.0, 2.0]), *(tmp_path / f"{name}.{kind}" for kind in ("png", "svg", "pdf")))
    for kind in ("png", "svg", "pdf"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()
    assert len(list(tmp_path.iterdir())) == 6


def test_an_empty_grid_says_so(tmp_path: Path) -> None:
    figure = draw([])
    save(figure, tmp_path / "empty.svg")
    assert [text.get_text() for text in figure.texts] == ["nothing to show in this grid"]  # type: ignore[attr-defined]


def test_a_diagnosis_draws_itself(tmp_path: Path) -> None:
    found = nslimb.diagnose(nslimb.sigma.maximum(2, num_classes=3))
    figure = found.plot(tmp_path / "d.svg")
    assert (tmp_path / "d.svg").read_text().startswith("<?xml")
    assert [axis.get_title() for axis in figure.axes if axis.get_title()] == [
        "weak labels (dashed: a single one)",
        "what weak labels prove",
        "risk bounds",
        "evidence against readings (crosses: less than 1)",
    ]
    *_, heat = (axis for axis in figure.axes if axis.get_title())
    shown, evidence = np.asarray(heat.images[0].get_array()), found.confusions.evidence
    assert (heat.get_ylabel(), heat.get_xlabel()) == ("class", "read as")
    apart = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(shown[apart], np.maximum(evidence, 0.1)[apart])
    assert not np.allclose(evidence, evidence.T)
    found.plot(str(tmp_path / "d.png"))
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(InvalidInput, match=r"path: expected a file that ends in \.png"):
        found.plot("d.jpg")


def test_a_missing_matplotlib_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingEngine, match="--plot needs matplotlib"):
        check_plot(Path("a.png"))
    check_plot(None)
    with pytest.raises(MissingEngine, match="a figure needs matplotlib"):
        draw([1.0])


def test_reading_a_diagnosis_needs_no_matplotlib() -> None:
    program = (
        "import sys, nslimb, nslimb.plotting, nslimb.marginals.figure, nslimb.diagnosis.figure\n"
        "nslimb.diagnose(nslimb.sigma.maximum(2, num_classes=2)).as_dict()\n"
        "assert 'matplotlib' not in sys.modules, 'matplotlib was imported'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
