"""Five random SIGKILLs on one cell; ``make soak`` has twenty on a whole grid."""

from __future__ import annotations

from pathlib import Path

import pytest
from grids import smaller, tables
from soak import check, soak

pytest.importorskip("snakemake", reason="Snakemake needs Python 3.11")
pytestmark = pytest.mark.slow


def test_five_kills_change_nothing(undisturbed: Path, tmp_path: Path) -> None:
    smaller(tmp_path)
    killed = soak(tmp_path, undisturbed, kills=5, seed=1)
    assert sum(killed.values()) == 5
    whole = {name: text for name, text in tables(undisturbed / "results").items() if name.startswith("sum.")}
    assert len(whole) == 3
    check(tmp_path, undisturbed, whole)
