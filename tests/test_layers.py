"""The rooms of the house: each imports from rooms below it alone, and nothing heavy before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nslimb.experiment import places
from nslimb.experiment.digests import closure, module_file

SRC = Path(__file__).resolve().parents[1] / "src"

# From the ground up. A room imports itself and rooms of lower floors, never its neighbours on the same one.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors", "arrays"),
    ("files", "memory", "seeds", "checks", "registry", "vision"),
    ("threads",),
    ("plotting",),
    ("sigma",),
    ("data", "marginals", "theory", "networks", "metrics"),
    ("diagnosis", "adjustment"),
    ("learning",),
    ("classifier",),
    ("experiment",),
    ("cli",),
    ("__main__",),
)
FLOOR = {room: number for number, floor in enumerate(FLOORS) for room in floor}


def modules() -> Iterator[tuple[str, Path]]:
    for path in sorted((SRC / "nslimb").rglob("*.py")):
        parts = path.relative_to(SRC).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Dotted names of the package that a file imports, for type checkers too, and the lines."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((name, node.lineno) for name in names if name.partition(".")[0] == "nslimb")


def room_of(dotted: str) -> str:
    """The room of a dotted name; the house itself, which offers the names of all rooms, is none."""
    return dotted.partition(".")[2].partition(".")[0]


def test_no_room_imports_from_above_or_beside() -> None:
    wrong = []
    for name, path in modules():
        if name == "nslimb":
            continue  # offers the names of all rooms, and imports none until asked
        room = room_of(name)
        assert room in FLOOR, f"{name}: say in FLOORS where the room {room} stands"
        for dotted, line in imports(path):
            other = room_of(dotted)
            if room == "cli" and other not in FLOOR:
                continue  # a command may take a public name of `nslimb` itself
            if other != room and FLOOR.get(other, len(FLOORS)) >= FLOOR[room]:
                wrong.append(f"{path.relative_to(SRC)}:{line}: {room} imports {dotted}")
    assert not wrong, "\n".join(wrong)


def test_every_room_is_there() -> None:
    there = {room_of(name) for name, _ in modules() if name != "nslimb"}
    assert set(FLOOR) == there


STEPS = sorted(path.stem for path in (SRC / "nslimb" / "experiment" / "jobs").glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize("step", STEPS)
def test_a_job_reads_its_recipe_and_not_the_configuration(step: str) -> None:
    """Else an edit of the configuration's code, or of tables and figures, would run every job again."""
    found = {
        str(path.relative_to(places.PACKAGE))
        for path in closure(frozenset({module_file(f"nslimb.experiment.jobs.{step}")}))
    }
    forbidden = {
        "config",
        "cells",
        "recipes",
        "variants",
        "checks",
        "gather",
        "tables",
        "publish",
        "tracking",
        "figures",
    }
    assert not found & {f"experiment/{name}.py" for name in forbidden}
    assert not any(name.startswith(("experiment/figures", "experiment/studies", "cli")) for name in found)


@pytest.mark.parametrize(
    ("module", "without"),
    [
        ("nslimb", ("torch", "numpy", "scipy", "pandas", "matplotlib", "pydantic", "mlflow")),
        ("nslimb.cli", ("torch", "pandas", "matplotlib", "mlflow")),
        ("nslimb.learning", ("torch",)),
        ("nslimb.metrics", ("torch", "pandas")),
        ("nslimb.registry", ("torch", "numpy")),
        ("nslimb.plotting", ("matplotlib", "torch")),
        ("nslimb.sigma", ("scallopy", "pandas", "matplotlib", "torchvision")),
        ("nslimb.experiment.tracking", ("mlflow", "torch")),
        ("nslimb.experiment.lease", ("torch",)),
        ("nslimb.experiment.jobs.train", ("pandas", "matplotlib", "mlflow", "torchvision")),
        ("nslimb.experiment.jobs.adjust", ("pandas", "matplotlib", "mlflow", "torchvision")),
    ],
)
def test_what_is_not_needed_is_not_imported(module: str, without: tuple[str, ...]) -> None:
    program = f"import sys, {module}\nprint(*(name for name in {without!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
