"""Objects by name, and the user's own from files and modules."""

from __future__ import annotations

import os
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from nslimb.errors import InvalidInput
from nslimb.registry import Registry, importable, load_object

RULES = """
from __future__ import annotations
import math
from dataclasses import dataclass
from helper import NAME
LIMIT = 3
_hidden = 4
def double(x): return 2 * x
@dataclass
class Rule:
    size: int = 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.py").write_text(RULES)
    (tmp_path / "helper.py").write_text("NAME = 'first'\n")
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "__init__.py").write_text("")
    (tmp_path / "kit" / "tools.py").write_text("from kit import __name__ as parent\nTOOL = 'hammer'\n")
    return tmp_path


def curves() -> Registry[Any]:
    return Registry("curve", {"sine": "math:sin", "root": "math:sqrt"})


def test_registered_names_come_in_order_and_are_imported_when_asked_for() -> None:
    registry: Registry[Any] = Registry("thing", {"b": "this_is_not_there:x", "a": "json:dumps"})
    assert registry.names == tuple(registry) == ("b", "a")
    assert "b" in registry
    assert "c" not in registry
    assert registry.get("a")([1]) == "[1]"
    assert registry.module("b") == "this_is_not_there"
    with pytest.raises(ModuleNotFoundError):
        registry.get("b")


@pytest.mark.parametrize("name", ["cosine", "rules.py", "", 3, None])
def test_an_unknown_name_lists_what_there_is_and_how_to_bring_ones_own(name: Any) -> None:
    message = "curve: expected one of sine, root, or your own as path/to/file.py:object or module:object, got "
    for ask in (curves().get, curves().module):
        with pytest.raises(InvalidInput) as caught:
            ask(name)
        assert str(caught.value) == message + repr(name)


def test_an_empty_registry_says_only_how_to_bring_ones_own() -> None:
    with pytest.raises(InvalidInput, match=r"curve: expected your own as path/to/file\.py:object"):
        Registry("curve", {}).get("sine")


def test_ones_own_by_file_and_by_module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = list(sys.path)
    assert curves().get("rules.py:double", folder)(4) == 8
    assert curves().get(f"{folder}/rules.py:double")(4) == 8
    assert curves().get("rules:double", folder)(4) == 8
    assert curves().get("kit.tools:TOOL", folder) == "hammer"
    assert curves().get("json:dumps", folder)({}) == "{}"
    monkeypatch.chdir(folder)
    assert curves().get("rules.py:Rule")().size == 1
    assert sys.path == path
    assert "rules" not in sys.modules


def test_where_an_object_comes_from(folder: Path) -> None:
    assert curves().module("sine") == "math"
    assert curves().module("rules.py:double", folder) == folder / "rules.py"
    assert curves().module("rules:double", folder) == folder / "rules.py"
    assert curves().module("kit.tools:TOOL", folder) == "kit.tools"
    with pytest.raises(InvalidInput, match=r"'none\.py', which is not there"):
        curves().module("none.py:double", folder)


def test_a_file_is_run_once_and_again_when_edited(folder: Path) -> None:
    first = load_object("rule", "rules.py:double", folder)
    assert load_object("rule", "rules:double", folder) is first
    assert load_object("rule", f"{folder}/../{folder.name}/rules.py:double") is first
    (folder / "rules.py").write_text("def double(x): return 3 * x\n")
    stat = (folder / "rules.py").stat()
    os.utime(folder / "rules.py", ns=(stat.st_atime_ns, stat.st_mtime_ns + 1_000_000_000))
    assert load_object("rule", "rules.py:double", folder)(4) == 12


def test_a_users_file_takes_the_place_of_no_other_module(folder: Path) -> None:
    (folder / "types.py").write_text("SimpleNamespace = 'mine'\n")
    assert load_object("rule", "types.py:SimpleNamespace", folder) == "mine"
    assert load_object("rule", "types:SimpleNamespace", folder) == "mine"
    assert sys.modules["types"] is types


def test_two_folders_may_have_helpers_of_one_name(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "rules.py").write_text("from helper import NAME\ndef late():\n    import helper\n    return helper.NAME\n")
    (other / "helper.py").write_text("NAME = 'second'\n")
    assert load_object("rule", "rules.py:NAME", folder) == "first"
    assert load_object("rule", "rules.py:NAME", other) == "second"
    late = load_object("rule", "rules.py:late", other)
    (folder / "more.py").write_text("from helper import NAME\nimport helper\n")
    assert load_object("rule", "more.py:NAME", folder) == "first"
    with importable(other):
        assert late() == "second"
    again = load_object("rule", "more.py:helper", folder)
    (folder / "third.py").write_text("import helper\n")
    assert load_object("rule", "third.py:helper", folder) is again


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("none.py:x", r"rule: expected a Python file, got 'none\.py', which is not there \(seen from .*\)"),
        ("none:x", "rule: expected a module in .* or an installed one, got 'none', which is neither"),
        ("no.ne:x", "got 'no.ne', which is neither"),
        (
            "rules.py:x",
            r"an object of rules\.py \(NAME, LIMIT, double, Rule\), got 'x', which is not there",
        ),
        ("empty.py:x", r"an object of empty\.py \(it has none\), got 'x'"),
        ("raises.py:x", r"raises\.py to be importable, got ZeroDivisionError: division by zero \(line 2\)"),
        ("raises:x", r"raises to be importable, got ZeroDivisionError: division by zero \(line 2\)"),
        ("kit.broken:x", "kit.broken to be importable, got KeyError: 'nothing'"),
        ("needy.py:x", r"needy\.py to be importable, got ModuleNotFoundError: .*no_such_module.* \(line 1\)"),
        ("kit.needy:x", "kit.needy to be importable, got ModuleNotFoundError: .*no_such_module"),
        ("leaves.py:x", r"leaves\.py to be importable, got SystemExit: 3"),
        ("syntax.py:x", r"syntax\.py to be importable, got SyntaxError: .*line 1"),
        ("rules.py:", "rule: expected your own as path/to/file.py:object"),
        (":x", "rule: expected your own as path/to/file.py:object"),
    ],
)
def test_what_is_wrong_with_ones_own_is_told(folder: Path, text: str, message: str) -> None:
    (folder / "empty.py").write_text("")
    (folder / "raises.py").write_text("x = 1\n1 / 0\n")
    (folder / "needy.py").write_text("import no_such_module\n")
    (folder / "leaves.py").write_text("raise SystemExit(3)\n")
    (folder / "syntax.py").write_text("def :\n")
    (folder / "kit" / "broken.py").write_text("{}['nothing']\n")
    (folder / "kit" / "needy.py").write_text("import no_such_module\n")
    modules, path = set(sys.modules), list(sys.path)
    with pytest.raises(InvalidInput, match=message):
        load_object("rule", text, folder)
    assert sys.path == path
    assert not {name for name in set(sys.modules) - modules if name.startswith(("raises", "leaves", "syntax", "needy"))}
