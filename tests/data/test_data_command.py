"""``nslimb data``."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from nslimb.cli import app
from nslimb.data import SOURCES


def test_the_list_shows_every_source_and_how_to_bring_ones_own(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["data", "list", "--folder", str(tmp_path)])
    assert shown.exit_code == 0
    assert all(name in shown.output for name in SOURCES)
    assert "Images of your own: the path of a folder with one sub-folder a class" in shown.output


def test_an_unknown_source_is_refused_before_any_is_fetched(tmp_path: Path) -> None:
    told = CliRunner().invoke(app, ["data", "fetch", "mnist5k", "my/images", "--folder", str(tmp_path)])
    assert told.exit_code == 2
    assert "expected one of mnist5k, mnist, cifar10, hwf, hwf-embedded, got 'my/images'" in told.output
    assert "images of your own need no fetching" in told.output
    assert list(tmp_path.iterdir()) == []
