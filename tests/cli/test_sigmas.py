"""A sigma named on the command line: built-in, or the user's own function."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nslimb.cli.sigmas import build_sigma
from nslimb.errors import InvalidInput, TooLarge

OWN = """
import nslimb
from helper_of_rules import even

NUMBER = 3
PARITY = nslimb.Sigma.from_steps(0, lambda state, y: (state + y) % 2, bool, num_classes=2, arity=50)

def parity(labels):
    assert type(labels) is tuple
    return "even" if even(sum(labels)) else "odd"

def late(labels):
    import helper_of_rules
    return helper_of_rules.even(labels[0])

def raises(labels):
    return 1 / labels[0]

def unhashable(labels):
    return list(labels)

def factory(arity):
    return nslimb.sigma.total(arity, num_classes=3)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with modules of a user, which no other test sees."""
    (tmp_path / "rules_of_mine.py").write_text(OWN)
    (tmp_path / "helper_of_rules.py").write_text("def even(number):\n    return number % 2 == 0\n")
    (tmp_path / "broken_rules.py").write_text("1 / 0\n")
    (tmp_path / "needy_rules.py").write_text("import no_such_module_anywhere\n")
    (tmp_path / "leaving_rules.py").write_text("import sys\nsys.exit(3)\n")
    monkeypatch.chdir(tmp_path)
    for name in ("rules_of_mine", "helper_of_rules"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "arity", "classes", "expected"),
    [
        ("max", None, None, ("maximum", 3, 10)),
        ("max", 2, 4, ("maximum", 2, 4)),
        ("sum", 5, None, ("total", 5, 10)),
        ("hwf", 5, 13, ("formula", 5, 13)),
        ("smallest-parent", 3, None, ("smallest_parent", 3, 10)),
        ("counterexample", 4, 2, ("counterexample", 4, 2)),
    ],
)
def test_built_in(name: str, arity: int | None, classes: int | None, expected: tuple[str, int, int]) -> None:
    sigma = build_sigma(name, arity, classes)
    assert (sigma.name, sigma.arity, sigma.num_classes) == expected


@pytest.mark.parametrize("where", ["rules_of_mine", "rules_of_mine.py", "./rules_of_mine.py"])
@pytest.mark.parametrize(("function", "values"), [("parity", ("even", "odd")), ("late", (False, True))])
@pytest.mark.usefixtures("folder")
def test_a_function_of_the_user(where: str, function: str, values: tuple[object, ...]) -> None:
    before = list(sys.path)
    sigma = build_sigma(f"{where}:{function}", 3, 4)
    assert (sigma.arity, sigma.num_classes, sigma.weak_labels) == (3, 4, values)
    assert sigma.weak_labels[sigma.apply([3, 2, 0])] == values[1 if function == "parity" else 0]
    assert sys.path == before


def test_a_file_in_another_folder_finds_its_neighbours(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert build_sigma("../rules_of_mine.py:parity", 2, 2).weak_labels == ("even", "odd")


@pytest.mark.usefixtures("folder")
def test_an_installed_module() -> None:
    assert build_sigma("math:prod", 2, 3).weak_labels == (0, 1, 2, 4)


@pytest.mark.usefixtures("folder")
def test_a_compiled_sigma_of_the_user_needs_no_sizes() -> None:
    assert build_sigma("rules_of_mine:PARITY", None, None).arity == 50
    with pytest.raises(InvalidInput, match="arity: expected 50"):
        build_sigma("rules_of_mine:PARITY", 3, None)


@pytest.mark.usefixtures("folder")
def test_a_factory_of_the_user_takes_the_arity() -> None:
    assert build_sigma("rules_of_mine:factory", 4, None).weak_labels == tuple(range(9))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("maximum", "sigma: expected one of max, sum, .* or your own as path/to/file.py:object.*got 'maximum'"),
        ("no_rules:parity", "in the current folder or an installed one, got 'no_rules'"),
        ("no.rules:parity", "got 'no.rules', which is neither"),
        ("no_rules.py:parity", "a Python file, got 'no_rules.py', which is not there"),
        (
            "rules_of_mine:nothing",
            r"an object of rules_of_mine \(NUMBER, PARITY, parity, late, raises, unhashable, factory\), got 'nothing'",
        ),
        ("rules_of_mine:NUMBER", "a function, a Sigma or a factory of one, got rules_of_mine:NUMBER, a int"),
        ("broken_rules:parity", "broken_rules to be importable, got ZeroDivisionError"),
        ("needy_rules:parity", "needy_rules to be importable, got ModuleNotFoundError: .*no_such_module_anywhere"),
        ("needy_rules.py:parity", "needy_rules.py to be importable, got ModuleNotFoundError"),
        ("leaving_rules:parity", "leaving_rules to be importable, got SystemExit: 3"),
        ("rules_of_mine:raises", r"accepts \(\(0, 0\)\), got ZeroDivisionError"),
        ("rules_of_mine:unhashable", r"hashable values .*got \[0, 0\] of type list"),
        (":parity", "sigma"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_used_is_told(name: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        build_sigma(name, 2, 3)


@pytest.mark.usefixtures("folder")
def test_sizes_are_asked_for() -> None:
    with pytest.raises(InvalidInput, match="arity: expected a number"):
        build_sigma("rules_of_mine:parity", None, 3)
    with pytest.raises(InvalidInput, match="for a function of a tuple of labels give its classes"):
        build_sigma("rules_of_mine:parity", 2, None)


@pytest.mark.parametrize(("name", "arity", "classes"), [("hwf", 3, 10), ("smallest-parent", 2, 3), ("max", 0, 10)])
def test_sizes_that_do_not_fit(name: str, arity: int, classes: int) -> None:
    with pytest.raises(InvalidInput, match=r"classes|arity"):
        build_sigma(name, arity, classes)


@pytest.mark.usefixtures("folder")
def test_too_many_label_vectors() -> None:
    with pytest.raises(TooLarge, match=r"10 \*\* 12 label vectors are more than"):
        build_sigma("rules_of_mine:parity", 12, 10)
    with pytest.raises(TooLarge, match="edges"):
        build_sigma("max", 3, 100_000)
