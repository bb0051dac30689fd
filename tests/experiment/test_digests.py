"""What of a file counts for a digest, and which files: on small packages written for the purpose."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path

import pytest

from nslimb.errors import DataError
from nslimb.experiment import digests, places
from nslimb.experiment.digests import closure, code_digest, entry_file, essence, module_file
from nslimb.registry import Registry

ROOT = Path(__file__).resolve().parents[2]


def kept(folder: Path, text: str) -> str:
    """The essence of a file with this text."""
    path = folder / "file.py"
    path.write_text(text, encoding="utf-8")
    forget()
    return essence(path, 0)


def forget() -> None:
    """Let files be read anew: a process that runs jobs sees none of them change."""
    for cached in (essence, digests.imported, digests._code_digest, digests._is_optional, digests._offered):
        cached.cache_clear()


SAME = {
    "comments": ("x = 1\n", "# Above.\nx = 1  # beside\n# below\n"),
    "blank lines": ("x = 1\ny = 2\n", "\n\nx = 1\n\n\n\ny = 2\n\n"),
    "trailing spaces": ("x = 1\n", "x = 1   \n"),
    "a docstring of a module": ("x = 1\n", '"""New.\n\nLonger.\n"""\nx = 1\n'),
    "of a function, class and method": (
        "class A:\n    def f(self):\n        return 1\n",
        'class A:\n    """A."""\n    def f(self):\n        """Gives 1, não 2."""\n        return 1\n',
    ),
    "of an asynchronous function": (
        "async def f():\n    return 1\n",
        'async def f():\n    "Waits."\n    return 1\n',
    ),
    "a comment after text that is not ASCII": ("x = 'Ähre → Öl'\n", "x = 'Ähre → Öl'  # è\n"),
    "a registry": (
        "R: Registry[int] = Registry('r', {'a': 'b:c'})\nS = Registry('s', {})\nx = 1\n",
        "R: Registry[int] = Registry(\n    'r', {'a': 'b:c', 'd': 'e:f'}\n)\nS = Registry('s', {'t': 'u:v'})\nx = 1\n",
    ),
    "names that a package offers": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\n__all__ = ['a']\n_HOME = {'a': 'b'}\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import c\n__all__ = ['c']\n_HOME = {'c': 'd'}\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), SAME.values(), ids=SAME)
def test_what_does_not_count(tmp_path: Path, before: str, after: str) -> None:
    assert kept(tmp_path, before) == kept(tmp_path, after)


OTHER = {
    "a value": ("x = 1\n", "x = 2\n"),
    "a hash in a string": ("x = 'a # b'\n", "x = 'a # c'\n"),
    "a hash in an f-string": ("x = f'{y} # b'\n", "x = f'{y} # c'\n"),
    "a format in an f-string": ("x = f'{y:.2f}'\n", "x = f'{y:.3f}'\n"),
    "an expression in an f-string": ("x = f'{y[0]!r}'\n", "x = f'{y[1]!r}'\n"),
    "a string that is no docstring": ("x = 1\n'a'\n", "x = 1\n'b'\n"),
    "a string that is the value of a constant": ('X = """a\nb"""\n', 'X = """a\nc"""\n'),
    "a decorator": ("@cache\ndef f():\n    return 1\n", "def f():\n    return 1\n"),
    "an argument of a decorator": ("@cache(1)\ndef f():\n    return 1\n", "@cache(2)\ndef f():\n    return 1\n"),
    "a default": ('def f(x=1):\n    """Doc."""\n', 'def f(x=2):\n    """Doc."""\n'),
    "indentation": ("if x:\n    y()\n    z()\n", "if x:\n    y()\nz()\n"),
    "a function on the line of its docstring": ("def f(x): 'Doc.'; return x\n", "def f(x): 'Doc.'; return -x\n"),
    "a signature on the line of its docstring": ("def f(x=1): 'Doc.'\n", "def f(x=2): 'Doc.'\n"),
    "a call that only looks like a registry": ("R = Register('r', {'a': 1})\n", "R = Register('r', {'a': 2})\n"),
    "a registry inside a function": (
        "def f():\n    r = Registry('r', {})\n    return r\n",
        "def f():\n    r = Registry('r', {'a': 'b:c'})\n    return r\n",
    ),
    "a line feed inside a string": ("x = 'a\\nb'\n", "x = 'a\\n\\nb'\n"),
    "after characters that other tools take for ends of lines": (
        "x = '\u2028\x0c'  # a\ny = 1\n",
        "x = '\u2028\x0c'  # a\ny = 2\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), OTHER.values(), ids=OTHER)
def test_what_counts(tmp_path: Path, before: str, after: str) -> None:
    assert kept(tmp_path, before) != kept(tmp_path, after)


def test_code_is_kept_as_it_is_written(tmp_path: Path) -> None:
    """Text, not a syntax tree: the printed form of a tree differs from one Python to the next."""
    text = 'def f(x):\n    """Doc."""\n    return f"{x!r:>{3}} # {\'a\'}"  # why\n'
    assert kept(tmp_path, text) == "def f(x):\n    return f\"{x!r:>{3}} # {'a'}\""


def test_every_module_keeps_its_definitions() -> None:
    for path in (ROOT / "src" / "nslimb").rglob("*.py"):
        left = re.findall(r"^ *(?:async )?(?:def|class) (\w+)", essence(path, path.stat().st_mtime_ns), re.MULTILINE)
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        defined = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, kinds)]
        assert sorted(left) == sorted(node.name for node in defined)


FILES = {
    "nslimb/__init__.py": "_HOME = {'lazy': 'nslimb.a'}\nif TYPE_CHECKING:\n    from nslimb.a import lazy\n",
    "nslimb/a.py": "from nslimb.pack import part\nlazy = 1\n",
    "nslimb/b.py": "import numpy\nimport nslimb.pack.other\n",
    "nslimb/c.py": "def f():\n    from nslimb.a import lazy\n    return lazy\n",
    "nslimb/d.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from nslimb.a import lazy\n",
    "nslimb/e.py": "def f():\n    from nslimb import engine\n    return engine\n",
    "nslimb/f.py": "from nslimb import engine\n",
    "nslimb/g.py": "from nslimb import lazy\n",
    "nslimb/h.py": "import nslimb\ndef f():\n    return nslimb.lazy + 1\n",
    "nslimb/i.py": "THINGS = Registry('thing', {'a': 'nslimb.a:lazy'})\n",
    "nslimb/j.py": "class A:\n    try:\n        from nslimb.b import x\n    except ImportError:\n        x = 1\n",
    "nslimb/engine.py": "import engine_of_others\n\nOPTIONAL = True\n",
    "nslimb/pack/__init__.py": "from nslimb.pack.third import x\n",
    "nslimb/pack/part.py": "",
    "nslimb/pack/other.py": "",
    "nslimb/pack/third.py": "x = 1\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(places, "PACKAGE", tmp_path / "nslimb")
    monkeypatch.setattr(places, "SCRIPTS", tmp_path / "scripts")
    return tmp_path / "nslimb"


PACK = {"pack/__init__.py", "pack/third.py"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a", {*PACK, "pack/part.py"}),
        ("b", {*PACK, "pack/other.py"}),
        ("c", {*PACK, "pack/part.py", "a.py"}),  # inside a function
        ("d", set()),  # for type checkers
        ("e", set()),  # optional, and inside a function
        ("f", {"engine.py"}),  # optional, but imported at once
        ("g", {*PACK, "pack/part.py", "a.py"}),  # a name that the package provides lazily
        ("h", {*PACK, "pack/part.py", "a.py"}),  # the same as an attribute
        ("i", set()),  # named in a registry
        ("j", {*PACK, "b.py", "pack/other.py"}),  # inside a class and a try block
    ],
)
def test_the_closure_of_a_module(package: Path, name: str, expected: set[str]) -> None:
    found = closure(frozenset({package / f"{name}.py"}))
    assert {str(path.relative_to(package)) for path in found} - {"__init__.py"} == {f"{name}.py", *expected}


def test_the_users_files_and_those_beside_them(package: Path, tmp_path: Path) -> None:
    own = tmp_path / "own"
    (own / "kit").mkdir(parents=True)
    (own / "rules.py").write_text("import helper\nfrom kit import tool\nimport json\nfrom nslimb import a\n")
    (own / "helper.py").write_text("import rules\n")  # a circle
    (own / "kit" / "__init__.py").write_text("")
    (own / "kit" / "tool.py").write_text("")
    (own / "json").mkdir()  # a folder without __init__.py is nothing to import
    found = closure(frozenset({own / "rules.py"}))
    mine = {str(path.relative_to(own)) for path in found if path.is_relative_to(own)}
    assert mine == {"rules.py", "helper.py", "kit/__init__.py", "kit/tool.py"}
    assert package / "a.py" in found


def fresh(*entries: Path) -> str:
    forget()
    return code_digest(entries)


def test_a_digest_is_the_same_wherever_the_folders_are(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In names, and in their order: `a/` comes before the package's folder, `z/` after it."""
    found = set()
    for place in ("a", "z"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "mine.py").write_text("import nslimb.a\nx = 1\n")
        found.add(fresh(package / "b.py", tmp_path / place / "mine.py"))
    moved = tmp_path / "moved" / "nslimb"
    shutil.copytree(package, moved)
    monkeypatch.setattr(places, "PACKAGE", moved)
    found.add(fresh(moved / "b.py", tmp_path / "a" / "mine.py"))
    assert len(found) == 1


def test_a_digest_follows_names_and_contents(package: Path) -> None:
    before = fresh(package / "a.py")
    (package / "pack" / "third.py").write_text("x = 2\n")
    changed = fresh(package / "a.py")
    (package / "pack" / "third.py").write_text("x = 1\n")
    assert fresh(package / "a.py") == before != changed
    (package / "pack" / "part.py").rename(package / "pack" / "parts.py")
    (package / "a.py").write_text("from nslimb.pack import parts\nlazy = 1\n")
    assert fresh(package / "a.py") != before


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"gone\.py: cannot be read, and a job depends on it"):
        fresh(tmp_path / "gone.py")


def test_files_of_entries(tmp_path: Path) -> None:
    registry: Registry[object] = Registry("thing", {"a": "nslimb.registry:Registry", "b": "math:sin"})
    (tmp_path / "mine.py").write_text("thing = 1\n")
    assert entry_file(registry, "a") == module_file("nslimb.registry") == ROOT / "src" / "nslimb" / "registry.py"
    assert entry_file(registry, "b") is None
    for text in ("mine.py:thing", "mine:thing"):
        assert entry_file(registry, text, tmp_path) == tmp_path / "mine.py"
    assert module_file("nslimb.learning.methods") == ROOT / "src" / "nslimb" / "learning" / "methods" / "__init__.py"


def lazily_provided() -> dict[str, set[str]]:
    """By package the names that it imports on first use."""
    found = {}
    for path in (ROOT / "src" / "nslimb").rglob("__init__.py"):
        package = ".".join(path.parent.relative_to(ROOT / "src").parts)
        names = set(digests._offered(path, path.stat().st_mtime_ns))
        submodules = {other.stem for other in path.parent.glob("*.py")} | {
            other.parent.name for other in path.parent.glob("*/__init__.py")
        }
        if "def __getattr__" in path.read_text():
            found[package] = names - submodules
    return found


def test_no_step_asks_for_a_lazily_provided_name() -> None:
    """A step imports what it needs from where it is; the commands, which are no part of any step, may save a line."""
    lazy = lazily_provided()
    assert {"nslimb", "nslimb.learning", "nslimb.metrics"} <= set(lazy)
    assert "semantic_loss" in lazy["nslimb"]
    files = [path for path in (ROOT / "src" / "nslimb").rglob("*.py") if "cli" not in path.parts]
    for path in (*files, *(ROOT / "workflow" / "scripts").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        typed = [part for node in ast.walk(tree) if isinstance(node, ast.If) for part in ast.walk(node)]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module in lazy and node not in typed:
                asked = {alias.name for alias in node.names} & lazy[node.module]
                assert not asked, f"{path}:{node.lineno}: {', '.join(asked)} from {node.module}"
