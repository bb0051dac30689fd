"""Logic programs against Python functions, our own library, and clingo itself, one label vector at a time."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from diagrams import assert_same_diagram
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from nslimb import Sigma
from nslimb.cli import app
from nslimb.errors import DataError, InvalidInput, MissingEngine, TooLarge
from nslimb.sigma import CIFAR10_CLASSES, smallest_parent, total
from nslimb.sigma import asp as module
from nslimb.sigma.resolve import resolve_sigma

pytest.importorskip("clingo")
EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "logic"


def program(folder: Path, text: str) -> Path:
    path = folder / "rules.lp"
    path.write_text(text)
    return path


def table(sigma: Sigma) -> dict[tuple[int, ...], Any]:
    vectors = list(product(range(sigma.num_classes), repeat=sigma.arity))
    return dict(zip(vectors, sigma.decode(sigma.apply(vectors)), strict=True))


def test_addition() -> None:
    assert_same_diagram(Sigma.from_asp(EXAMPLES / "addition.lp", classes=[10, 10]), total(2))


@pytest.mark.parametrize("arity", [2, 4, 10])
def test_the_papers_listing(arity: int) -> None:
    sigma = Sigma.from_asp(EXAMPLES / "smallest_parent.lp", classes=[CIFAR10_CLASSES] * arity)
    assert_same_diagram(sigma, smallest_parent(arity=arity))
    assert sigma.class_names == CIFAR10_CLASSES


def test_traffic() -> None:
    lights, seen, signs = ("green", "red", "off"), ("nothing", "person", "car"), ("sign", "none")

    def action(light: str, thing: str, sign: str) -> str | None:
        if light == "off":
            return "careful" if thing == "nothing" and sign == "sign" else None
        return "forward" if light == "green" and thing == "nothing" else "stop"

    sigma = Sigma.from_asp(EXAMPLES / "traffic.lp", classes=[lights, seen, signs])
    for vector, value in table(sigma).items():
        inside = vector[2] < 2
        assert value == (action(lights[vector[0]], seen[vector[1]], signs[vector[2]]) if inside else None)


CASES: list[tuple[str, Callable[[int, int, int], Any]]] = [
    ("weak(A, B) :- label(1, A), label(2, B).", lambda a, b, _: (a, b)),
    (
        "weak(many) :- #count{I : label(I, 1)} >= 2. weak(few) :- not weak(many).",
        lambda *y: "many" if y.count(1) >= 2 else "few",
    ),
    (
        "big :- #sum{C, I : label(I, C)} >= 4. weak(big) :- big. weak(small) :- not big.",
        lambda *y: "big" if sum(y) >= 4 else "small",
    ),
    ("weak(C) :- label(1, C), C > 0. :- label(2, 2).", lambda a, b, _: a if a > 0 and b != 2 else None),
    ("weak.  :- label(I, 0), label(J, 0), I < J.", lambda *y: True if y.count(0) < 2 else None),
    (
        'weak("a text") :- label(3, 1). weak(f(1, x)) :- not label(3, 1).',
        lambda _, __, c: "a text" if c == 1 else ("f", 1, "x"),
    ),
    (  # reachability: positive recursion that depends on labels
        "edge(1, 2) :- label(1, 1). edge(2, 1) :- label(2, 1). edge(2, 3) :- label(2, 2). edge(3, 2) :- label(3, 2)."
        "from(1). from(Y) :- from(X), edge(X, Y). weak(N) :- N = #count{X : from(X)}.",
        lambda a, b, _: 1 + (a == 1) + (a == 1 and b == 2),
    ),
]


@pytest.mark.parametrize(("text", "function"), CASES)
def test_programs_mean_what_functions_say(tmp_path: Path, text: str, function: Callable[..., Any]) -> None:
    sigma = Sigma.from_asp(program(tmp_path, text), classes=[3, 3, 3])
    assert_same_diagram(sigma, Sigma.from_function(lambda y: function(*y), num_classes=3, arity=3))
    other = Sigma.from_asp(program(tmp_path, text), classes=[3, 3, 3], order=[2, 0, 1])
    assert table(other) == table(sigma)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_stratified_programs_agree_with_clingo(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Rules of three layers, each with literals of the layers below, negated or not."""
    rng = np.random.default_rng(seed)
    below = [f"label({i + 1}, {c})" for i in range(3) for c in range(2)]
    rules = []
    for layer in range(3):
        heads = [f"p{layer}_{k}" for k in range(3)]
        for _ in range(5):
            body = [("not " if rng.random() < 0.4 else "") + str(rng.choice(below)) for _ in range(rng.integers(1, 4))]
            rules.append(f"{rng.choice(heads)} :- {', '.join(body)}.")
        below += heads
    rules += ["weak(1) :- p2_0.", "weak(0) :- not p2_0.", f":- {rng.choice(below)}, {rng.choice(below)}."]
    path = program(tmp_path_factory.mktemp("asp"), "\n".join(rules))
    expected = {vector: by_clingo(path, vector) for vector in product(range(2), repeat=3)}
    if all(value is None for value in expected.values()):
        with pytest.raises(InvalidInput, match="an answer with a weak label"):
            Sigma.from_asp(path, classes=[2] * 3)
        return
    assert table(Sigma.from_asp(path, classes=[2] * 3)) == expected


def weak_of(model: Any) -> int | None:
    return next((symbol.arguments[0].number for symbol in model.symbols(atoms=True) if symbol.name == "weak"), None)


def by_clingo(path: Path, vector: tuple[int, ...]) -> int | None:
    import clingo

    control = clingo.Control(["--warn=none"])
    control.load(str(path))
    control.add("base", [], " ".join(f"label({i + 1}, {c})." for i, c in enumerate(vector)))
    control.ground([("base", [])])
    found: list[int | None] = []
    control.solve(on_model=lambda model: found.append(weak_of(model)))
    return found[0] if found else None


def test_programs_beyond_strata_are_solved_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unstratified = "a :- not b. b :- not a. :- a, label(1, 0). :- b, label(1, 1). weak(a) :- a. weak(b) :- b."
    sigma = Sigma.from_asp(program(tmp_path, unstratified), classes=[2, 3])
    assert table(sigma) == {(x, y): "ba"[x] if x < 2 else None for x, y in product(range(3), repeat=2)}
    disjunction = "a ; b :- label(1, _). :- a, label(1, 0). :- b, label(1, 1). weak(a) :- a. weak(b) :- b."
    assert table(Sigma.from_asp(program(tmp_path, disjunction), classes=[2])) == {(0,): "b", (1,): "a"}
    choice = "{a}. :- a, label(1, 0). :- not a, label(1, 1). weak(1) :- a. weak(0) :- not a."
    assert table(Sigma.from_asp(program(tmp_path, choice), classes=[2]))[1,] == 1
    monkeypatch.setattr(module, "MAX_VECTORS", 1)
    with pytest.raises(TooLarge, match="a choice rule"):
        Sigma.from_asp(program(tmp_path, choice), classes=[2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("weak(1). weak(2) :- label(1, 2).", r"one answer .* 1 and 2 for label\(1, 2\), label\(2, 0\)"),
        ("{a}. weak(1).", "one answer .* two answer sets for label"),
        ("weak(1) :- label(1, 1). :- label(1, 1).", "an answer with a weak label for some label vector"),
        ("other(1).", r"rules that derive weak\(...\)"),
    ],
)
def test_bad_programs_are_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Sigma.from_asp(program(tmp_path, text), classes=[3, 2])


def test_classical_negation_is_no_weak_label(tmp_path: Path) -> None:
    text = "weak(1) :- label(1, 1). -weak(2) :- label(1, 1). weak(0) :- not weak(1)."
    assert table(Sigma.from_asp(program(tmp_path, text), classes=[2])) == {(0,): 0, (1,): 1}
    with pytest.raises(InvalidInput, match=r"rules that derive weak\(...\)"):
        Sigma.from_asp(program(tmp_path, "-weak(1) :- label(1, 1)."), classes=[2])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#external x. [true] weak(on) :- x. weak(off) :- not x.", ["on", "on"]),
        ("#external x. weak(on) :- x. weak(off) :- not x.", ["off", "off"]),
        ("#external x : label(1, 1). weak(C) :- label(1, C), not x.", [0, 1]),
        ("#edge(1, 2) : label(1, 1). #edge(2, 1) : label(1, 1). weak(C) :- label(1, C).", [0, None]),  # a circle
    ],
)
def test_externals_and_edges_mean_what_clingo_says(tmp_path: Path, text: str, expected: list[Any]) -> None:
    assert list(table(Sigma.from_asp(program(tmp_path, text), classes=[2])).values()) == expected


def test_an_external_that_is_free_has_two_answers(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="two answer sets"):
        Sigma.from_asp(program(tmp_path, "#external x. [free] weak(1) :- x. weak(0) :- not x."), classes=[2])


@pytest.mark.parametrize("rule", ["#minimize{1 : a}.", "#maximize{1 : a}.", ":~ a. [1]"])
def test_optimisation_is_refused(tmp_path: Path, rule: str) -> None:
    text = "{a} :- label(1, 1). weak(1) :- a. weak(0) :- not a. "
    with pytest.raises(InvalidInput, match=r"rules without #minimize, #maximize and weak constraints.*rules\.lp"):
        Sigma.from_asp(program(tmp_path, text + rule), classes=[2])


def test_another_predicate_may_be_the_weak_label(tmp_path: Path) -> None:
    text = "sum(A + B) :- label(1, A), label(2, B). weak(none)."
    assert_same_diagram(Sigma.from_asp(program(tmp_path, text), [10, 10], weak="sum"), total(2))
    with pytest.raises(InvalidInput, match=r"rules that derive other\(...\)"):
        Sigma.from_asp(program(tmp_path, text), [10, 10], weak="other")


def test_an_enumerated_program_takes_no_order(tmp_path: Path) -> None:
    text = "{a}. :- a, label(1, 0). :- not a, label(1, 1). weak(1) :- a. weak(0) :- not a."
    with pytest.raises(InvalidInput, match=r"order: expected none, as .*rules\.lp has a choice rule"):
        Sigma.from_asp(program(tmp_path, text), classes=[2, 2], order=[1, 0])


def test_class_names_that_are_no_constants(tmp_path: Path) -> None:
    """Numbers are numbers, also as names; what clingo would not read as a constant is a string."""
    sums = program(tmp_path, "weak(A + B) :- label(1, A), label(2, B).")
    named = Sigma.from_asp(sums, [["0", "1", "-2"]] * 2)
    assert named.class_names == ("0", "1", "-2")
    assert table(named) == {(i, j): (0, 1, -2)[i] + (0, 1, -2)[j] for i, j in product(range(3), repeat=2)}
    assert resolve_sigma("rules.lp", 2, ("0", "1"), base=tmp_path).weak_labels == (0, 1, 2)
    text = 'weak(no) :- label(1, "not"). weak(far) :- label(1, "New York"). weak(knot) :- label(1, knot).'
    assert list(table(Sigma.from_asp(program(tmp_path, text), [["not", "New York", "knot"]])).values()) == [
        "no",
        "far",
        "knot",
    ]


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match=r"cannot ground it: .*syntax error"):
        Sigma.from_asp(program(tmp_path, "weak(1) :- "), classes=[2])
    with pytest.raises(DataError, match="no such file"):
        Sigma.from_asp(tmp_path / "missing.lp", classes=[2])
    monkeypatch.setitem(sys.modules, "clingo", None)
    with pytest.raises(MissingEngine, match=r"nslimb\[asp\]"):
        Sigma.from_asp(program(tmp_path, "weak(1)."), classes=[2])


def test_pools_need_brackets_of_their_own(tmp_path: Path) -> None:
    """below(a;b, c) is below(a) and below(b, c): a trap."""
    rule = "weak(yes) :- label(1, C), below(C, top). weak(no) :- label(1, C), not below(C, top)."
    right = Sigma.from_asp(program(tmp_path, "below((a;b), top). " + rule), classes=[["a", "b", "c"]])
    wrong = Sigma.from_asp(program(tmp_path, "below(a;b, top). " + rule), classes=[["a", "b", "c"]])
    assert list(table(right).values()) == ["yes", "yes", "no"]
    assert list(table(wrong).values()) == ["no", "yes", "no"]


def test_commands_and_grid_find_programs_and_formulas(tmp_path: Path) -> None:
    program(tmp_path, "weak(A + B) :- label(1, A), label(2, B).")
    assert_same_diagram(resolve_sigma("rules.lp", 2, 10, base=tmp_path), total(2))
    (tmp_path / "rule.cnf").write_text("p cnf 2 1\n1 2 0\n")
    assert resolve_sigma("rule.cnf", base=tmp_path).preimage_sizes() == (1, 3)
    with pytest.raises(InvalidInput, match="classes"):
        resolve_sigma("rules.lp", 2, base=tmp_path)
    with pytest.raises(InvalidInput, match="arity"):
        resolve_sigma("rules.lp", classes=10, base=tmp_path)


def test_the_documentations_programs_run_as_printed(tmp_path: Path) -> None:
    """Addition, the traffic rule and the paper's Listing 1, in ten lines each at most."""
    page = (EXAMPLES.parents[1] / "docs" / "knowledge.md").read_text()
    addition, traffic, listing = re.findall(r"```prolog\n(.*?)```", page, re.DOTALL)
    assert max(text.count("\n") for text in (addition, traffic, listing)) <= 10
    assert_same_diagram(Sigma.from_asp(program(tmp_path, addition), classes=[10, 10]), total(2))
    classes = [("green", "red", "off"), ("nothing", "person", "car"), ("sign", "none")]
    assert_same_diagram(
        Sigma.from_asp(program(tmp_path, traffic), classes=classes),
        Sigma.from_asp(EXAMPLES / "traffic.lp", classes=classes),
    )
    hierarchy = {"pet": ["cat", "dog"], "animal": ["pet", "wild"]}
    leaves = ("cat", "dog", "wild")
    sigma = Sigma.from_asp(program(tmp_path, listing), classes=[leaves] * 3)
    expected = smallest_parent(hierarchy, arity=3)
    order = [expected.class_names.index(name) for name in leaves]
    for vector, value in table(sigma).items():
        assert value == expected.decode(expected.apply([[order[label] for label in vector]]))[0]


def test_classes_by_position_in_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a function that builds the sigma, as the documentation prints it; a program alone has one list of classes."""
    monkeypatch.chdir(tmp_path)
    page = (EXAMPLES.parents[1] / "docs" / "knowledge.md").read_text()
    [rules] = re.findall(r"```python\n(# rules\.py\n.*?)```", page, re.DOTALL)
    (tmp_path / "rules.py").write_text(rules)
    (tmp_path / "traffic.lp").write_text((EXAMPLES / "traffic.lp").read_text())
    done = CliRunner().invoke(app, ["diagnose", "rules.py:traffic", "--arity", "3", "--json"])
    assert done.exit_code == 0, done.output
    classes = [row["class"] for row in json.loads(done.stdout)["classes"]]
    assert classes[:3] + classes[-2:] == ["light green", "light red", "light off", "sign sign", "sign none"]
    assert resolve_sigma("traffic.lp", 3, ("green", "none", "car"), base=tmp_path).accepted.shape == (3, 3)


def test_the_commands_take_programs_and_formulas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rule = "weak(pets) :- label(1, C), label(2, C), C != fox. weak(other) :- not weak(pets)."
    program(tmp_path, rule)
    (tmp_path / "rule.cnf").write_text("p cnf 2 1\n1 2 0\n")
    for arguments, classes, weak in (
        (("rules.lp", "-M", "2", "-c", "cat,dog,fox"), ["cat", "dog", "fox"], ["other", "pets"]),
        (("rule.cnf",), ["0", "1"], ["False", "True"]),
    ):
        done = CliRunner().invoke(app, ["diagnose", *arguments, "--json"])
        assert done.exit_code == 0, done.output
        told = json.loads(done.stdout)
        assert [row["class"] for row in told["classes"]] == classes
        assert sorted(str(row["label"]) for row in told["weak_labels"]) == weak
    (tmp_path / "w.csv").write_text("weak\n" + "pets\nother\nother\n" * 30)
    done = CliRunner().invoke(
        app, ["estimate", "rules.lp", "w.csv", "--column", "weak", "-M", "2", "-c", "cat,dog,fox"]
    )
    assert done.exit_code == 0, done.output
    assert "fox" in done.output
    done = CliRunner().invoke(app, ["diagnose", "rules.lp", "-M", "2"])
    assert done.exit_code == 2
    assert "classes: expected given for rules.lp" in done.output
