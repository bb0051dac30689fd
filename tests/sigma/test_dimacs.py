"""Formulas from DIMACS files, against listing, a small binary decision diagram written here, and another library's."""

from __future__ import annotations

import sys
from functools import reduce
from itertools import islice, product
from operator import or_
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from diagrams import assert_same_diagram
from hypothesis import given
from hypothesis import strategies as st

import nslimb
from nslimb import Sigma
from nslimb.errors import DataError, InvalidInput, TooLarge
from nslimb.sigma.logic import Cnf, read_dimacs

Clauses = list[tuple[int, ...]]


def written(folder: Path, clauses: Clauses, variables: int) -> Path:
    path = folder / "formula.cnf"
    lines = [f"p cnf {variables} {len(clauses)}", *(" ".join(map(str, (*clause, 0))) for clause in clauses)]
    path.write_text("c a comment\n" + "\n".join(lines) + "\n")
    return path


def holds(clauses: Clauses, labels: tuple[int, ...]) -> bool:
    return all(any((labels[abs(v) - 1] == 1) == (v > 0) for v in clause) for clause in clauses)


def random_clauses(rng: np.random.Generator, variables: int, number: int, longest: int) -> Clauses:
    sizes = rng.integers(1, longest + 1, size=number)
    return [tuple(int(v) for v in rng.choice([-1, 1], s) * rng.integers(1, variables + 1, s)) for s in sizes]


@given(st.integers(0, 2**32 - 1), st.integers(1, 7), st.integers(0, 12), st.integers(1, 4))
def test_a_formula_is_the_function_by_listing(
    tmp_path_factory: pytest.TempPathFactory, seed: int, variables: int, number: int, longest: int
) -> None:
    clauses = random_clauses(np.random.default_rng(seed), variables, number, longest)
    sigma = Sigma.from_dimacs(written(tmp_path_factory.mktemp("cnf"), clauses, variables))
    assert_same_diagram(sigma, Sigma.from_function(lambda y: holds(clauses, y), 2, variables))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 8), st.integers(1, 3))
def test_loss_and_gradient_are_those_by_listing(
    tmp_path_factory: pytest.TempPathFactory, seed: int, variables: int, number: int, longest: int
) -> None:
    rng = np.random.default_rng(seed)
    clauses = random_clauses(rng, variables, number, longest)
    sigma = Sigma.from_dimacs(written(tmp_path_factory.mktemp("cnf"), clauses, variables))
    weak = rng.integers(len(sigma.weak_labels), size=3)
    leaf = torch.from_numpy(rng.normal(size=(3, variables, 2))).log_softmax(-1).requires_grad_()
    vectors = list(product((0, 1), repeat=variables))
    joint = torch.stack([sum(leaf[:, i, label] for i, label in enumerate(y)) for y in vectors], dim=1)  # type: ignore[misc]
    values = np.array([holds(clauses, y) for y in vectors])
    allowed = torch.from_numpy(np.stack([values == sigma.weak_labels[s] for s in weak]))
    theirs = -joint.masked_fill(~allowed, -torch.inf).logsumexp(1)
    ours = nslimb.semantic_loss(leaf, weak, sigma)
    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad(loss.sum(), leaf, retain_graph=True)[0] for loss in (ours, theirs)]
    torch.testing.assert_close(*gradients)


class Bdd:
    """Shannon's expansion of a formula, variable by variable; equal sub-functions are one node."""

    def __init__(self, clauses: Clauses, variables: int) -> None:
        self.variables = variables
        self.nodes: dict[tuple[int, Any, Any], int] = {}
        self.models: dict[int, int] = {}
        self.widths = [0] * (variables + 1)
        self.known: dict[tuple[int, frozenset[frozenset[int]]], int] = {}
        kept = [frozenset(clause) for clause in clauses]
        self.root = self.node(1, frozenset(c for c in kept if not any(-v in c for v in c)))

    def node(self, variable: int, clauses: frozenset[frozenset[int]]) -> int:
        key = (variable, clauses)
        if key not in self.known:
            if variable > self.variables:
                branches = (frozenset() not in clauses, None)  # all clauses gone, or one that nothing satisfies
                models = int(branches[0])
            else:
                branches = tuple(self.node(variable + 1, assigned(clauses, v)) for v in (-variable, variable))
                models = sum(self.models[branch] for branch in branches)
            full = (variable, *branches)
            if full not in self.nodes:
                self.nodes[full] = len(self.nodes)
                self.widths[variable - 1] += 1
            self.known[key] = self.nodes[full]
            self.models[self.known[key]] = models
        return self.known[key]


def assigned(clauses: frozenset[frozenset[int]], literal: int) -> frozenset[frozenset[int]]:
    """What is left of the clauses once the literal is true."""
    return frozenset(clause - {-literal} for clause in clauses if literal not in clause)


@pytest.mark.parametrize("seed", range(12))
def test_a_random_formula_has_the_states_and_models_of_its_decision_diagram(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    variables = int(rng.integers(12, 22))
    clauses = random_clauses(rng, variables, int(rng.integers(5, 3 * variables)), 4)
    clauses = [clause for clause in clauses if len(clause) > 1 or rng.random() < 0.2]
    sigma = Sigma.from_dimacs(written(tmp_path, clauses, variables))
    oracle = Bdd(clauses, variables)
    assert sigma.diagram.widths == tuple(oracle.widths)
    models = dict(zip(sigma.weak_labels, sigma.preimage_sizes(), strict=True))
    assert models.get(True, 0) == oracle.models[oracle.root]
    assert sum(models.values()) == 2**variables
    labels = rng.integers(2, size=(200, variables))
    assert [sigma.weak_labels[i] for i in sigma.apply(labels)] == [holds(clauses, tuple(y)) for y in labels.tolist()]


@pytest.fixture(scope="module")
def theirs() -> Any:
    """Decision diagrams of the library dd over 20 variables: CUDD's where it comes with that, else those in Python."""
    try:
        from dd import cudd as library
    except ImportError:
        from dd import autoref as library
    manager = library.BDD()
    manager.declare(*(f"x{i}" for i in range(1, 21)))
    return manager


@pytest.mark.skipif(sys.version_info < (3, 11), reason="dd needs Python 3.11")
@given(st.integers(0, 2**32 - 1), st.integers(1, 18), st.integers(0, 40), st.integers(1, 4), st.integers(0, 2))
def test_another_library_has_the_same_models_and_truth_values(
    tmp_path_factory: pytest.TempPathFactory,
    theirs: Any,
    seed: int,
    variables: int,
    number: int,
    longest: int,
    more: int,
) -> None:
    rng = np.random.default_rng(seed)
    clauses = random_clauses(rng, variables, number, longest)
    path, arity = written(tmp_path_factory.mktemp("cnf"), clauses, variables), variables + more
    sigma = Sigma.from_dimacs(path, arity=arity, order=rng.permutation(arity).tolist())
    names = [f"x{i}" for i in range(1, arity + 1)]
    formula = theirs.true
    for clause in clauses:
        literals = (theirs.var(f"x{abs(v)}") if v > 0 else ~theirs.var(f"x{abs(v)}") for v in clause)
        formula &= reduce(or_, literals)
    models = dict(zip(sigma.weak_labels, sigma.preimage_sizes(), strict=True))
    assert models.get(True, 0) == theirs.count(formula, nvars=arity)
    some = [[int(model[name]) for name in names] for model in islice(theirs.pick_iter(formula, names), 10)]
    labels = np.array(some + rng.integers(2, size=(10, arity)).tolist())  # models may be too rare to be drawn
    values = [theirs.let(dict(zip(names, map(bool, y), strict=True)), formula) == theirs.true for y in labels.tolist()]
    assert [sigma.weak_labels[i] for i in sigma.apply(labels)] == values


def test_labels_beyond_the_variables_do_not_matter(tmp_path: Path) -> None:
    path = written(tmp_path, [(1, -2), (2, 3)], 3)
    wide = Sigma.from_dimacs(path, arity=5)
    assert_same_diagram(wide, Sigma.from_function(lambda y: holds([(1, -2), (2, 3)], y), 2, 5))
    assert wide.name == "dimacs"


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("p cnf 3 2\n1 -3 0\n2 3 -1 0\n", ((1, -3), (2, 3, -1))),
        ("c x\n\np  cnf  3  2 \n1\n-3 0 2 3\n-1 0", ((1, -3), (2, 3, -1))),  # clauses over several lines
        ("p cnf 3 1\n1 -3 0\n%\n0\n", ((1, -3),)),  # as SATLIB's files end
        ("p cnf 3 1\n0\n", ((),)),
        ("p cnf 3 0\n", ()),
    ],
)
def test_files_as_people_write_them(tmp_path: Path, text: str, clauses: tuple[tuple[int, ...], ...]) -> None:
    path = tmp_path / "formula.cnf"
    path.write_text(text)
    assert read_dimacs(path) == Cnf(3, clauses)
    values = {holds(list(clauses), y) for y in product((0, 1), repeat=3)}
    assert set(Sigma.from_dimacs(str(path)).weak_labels) == values


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"formula\.cnf: expected a line 'p cnf VARIABLES CLAUSES', got none"),
        ("1 2 0\n", "line 1: expected 'p cnf VARIABLES CLAUSES' first, got '1 2 0'"),
        ("p sat 3 2\n", "line 1: expected 'p cnf VARIABLES CLAUSES', got 'p sat 3 2'"),
        ("p cnf 3\n", "line 1: expected 'p cnf VARIABLES CLAUSES', got 'p cnf 3'"),
        ("p cnf 3 x\n", "line 1: expected 'p cnf VARIABLES CLAUSES'"),
        ("p cnf 3 1\np cnf 3 1\n", "line 2: a second line"),
        ("p cnf 3 1\n1 a 0\n", "line 2: expected integers, got '1 a 0'"),
        ("p cnf 3 1\n1 -4 0\n", "line 2: expected literals up to 3, as the first line says, got -4"),
        ("p cnf 3 2\n1 2 0\n", "expected 2 clauses, as its first line says, got 1$"),
        ("p cnf 3 1\n1 2\n", "expected 1 clauses, as its first line says, got 0 and one without its final 0"),
    ],
)
def test_broken_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "formula.cnf"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        Sigma.from_dimacs(path)


def test_a_formula_over_more_variables_than_positions_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, [(1, -2), (2, 3)], 3)
    with pytest.raises(InvalidInput, match=r"arity: expected a position for each of the 3 variables of .*cnf, got 2"):
        Sigma.from_dimacs(path, arity=2)
    for arity in (0, 2.0, True):
        with pytest.raises(InvalidInput, match="arity: expected an integer of at least 1"):
            Sigma.from_dimacs(path, arity=arity)
    with pytest.raises(InvalidInput, match="arity: expected an integer of at least 1, got 0"):
        Sigma.from_dimacs(written(tmp_path, [], 0))


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none\.cnf: cannot be read as a DIMACS file .*No such file"):
        Sigma.from_dimacs(tmp_path / "none.cnf")
    (tmp_path / "image.png").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(DataError, match=r"image\.png: cannot be read as a DIMACS file"):
        Sigma.from_dimacs(tmp_path / "image.png")


def test_a_formula_too_wide_hints_at_the_order(tmp_path: Path) -> None:
    apart = [(i, i + 12) for i in range(1, 13)] + [(-i, -i - 12) for i in range(1, 13)]
    with pytest.raises(TooLarge, match=r"more than max_states=2000 states; .*order="):
        Sigma.from_dimacs(written(tmp_path, apart, 24), max_states=2000)
    by_pairs = [i + 12 * k for i in range(12) for k in (0, 1)]
    sigma = Sigma.from_dimacs(written(tmp_path, apart, 24), order=by_pairs, max_states=2000)
    assert dict(zip(sigma.weak_labels, sigma.preimage_sizes(), strict=True))[True] == 2**12
