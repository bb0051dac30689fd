"""The tutorials run as printed: Python and shell blocks in order, files where a block has a title.

Grids are planned, not trained: a line that calls Snakemake is run with --dry-run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("snakemake", reason="Snakemake needs Python 3.11")

ROOT = Path(__file__).resolve().parents[2]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
LINKED = ("Snakefile", "workflow", "config", "reference", "environment.yml", "src")


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory that looks like a checkout; what a tutorial writes stays in it."""
    for name in LINKED:
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "profiles", tmp_path / "profiles")  # one of the tutorials edits a copy of one
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("rules", None)
    return tmp_path


def shell(lines: str, folder: Path) -> None:
    """Each line as typed, in an environment whose commands are this Python's."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for line in filter(None, lines.splitlines()):
        words = shlex.split(line)
        planned = words[0] == "snakemake" and "--dry-run" not in words
        command = line.replace("snakemake ", "snakemake --dry-run ", 1) if planned else line
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("tutorial", TUTORIALS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_a_tutorial_runs_as_printed(tutorial: Path, checkout: Path) -> None:
    names: dict[str, Any] = {}
    blocks = BLOCK.findall(tutorial.read_text())
    executed = [block for block in blocks if block[0] != "text"]
    assert executed, "nothing in it is executed"
    for language, title, content in executed:
        if title:
            (checkout / title).write_text(content)
        elif language == "python":
            exec(compile(content, str(tutorial), "exec"), names)
        else:
            assert language == "bash", language
            shell(content, checkout)


def test_there_are_five() -> None:
    assert [path.stem for path in TUTORIALS] == ["cluster", "first_look", "own_csv", "own_grid", "reproduce"]
