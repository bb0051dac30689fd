"""Logic programs: answer set programs, grounded by clingo and turned into diagrams, stratum by stratum."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from nslimb.errors import DataError, InvalidInput, MissingEngine, TooLarge
from nslimb.sigma.expression import Expression, all_of, any_of, as_expression
from nslimb.sigma.positions import Positions

# Label vectors up to which programs beyond strata are solved one by one.
MAX_VECTORS = 100_000
_CONSTANT = re.compile(r"(?!not$)_*[a-z][A-Za-z0-9_']*")  # "not" is clingo's one keyword among them
_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,8}")


@dataclass
class Rules:
    """Ground rules, as clingo tells them: atoms are positive integers, a negative one in a body is negated."""

    normal: dict[int, list[list[int]]] = field(default_factory=dict)  # bodies by head
    weighted: dict[int, list[tuple[int, list[tuple[int, int]]]]] = field(default_factory=dict)  # bound, weighted body
    constraints: list[list[int]] = field(default_factory=list)
    beyond: str = ""  # what keeps the program from being stratified
    optimises: bool = False

    def rule(self, choice: bool, head: Sequence[int], body: Sequence[int]) -> None:
        """Called by clingo."""
        if choice:
            self.beyond = "a choice rule"
        elif len(head) > 1:
            self.beyond = "a disjunction"
        elif head:
            self.normal.setdefault(head[0], []).append(list(body))
        else:
            self.constraints.append(list(body))

    def weight_rule(self, choice: bool, head: Sequence[int], lower: int, body: Sequence[tuple[int, int]]) -> None:
        """Called by clingo."""
        if choice or len(head) != 1:
            self.beyond = "a choice rule" if choice else "a disjunction"
        else:
            self.weighted.setdefault(head[0], []).append((lower, list(body)))

    def external(self, atom: int, value: Any) -> None:  # noqa: ARG002
        """Called by clingo; what is false unless a rule derives it, as labels are until they are set, is no matter."""
        if value.name != "False_" and not self.beyond:
            self.beyond = "an #external that is true or free"

    def acyc_edge(self, node_u: int, node_v: int, condition: Sequence[int]) -> None:  # noqa: ARG002
        """Called by clingo."""
        self.beyond = "an #edge"

    def minimize(self, priority: int, literals: Sequence[tuple[int, int]]) -> None:  # noqa: ARG002
        """Called by clingo, for #maximize and weak constraints, too."""
        self.optimises = True

    def strata(self) -> list[list[int]]:
        """Atoms in groups that depend on each other, those that others depend on first."""
        edges = [(head, literal) for head, body in self._bodies() for literal in body]
        size = 1 + max((abs(atom) for edge in edges for atom in edge), default=0)
        size = max(size, 1 + max([*self.normal, *self.weighted], default=0))
        heads, literals = (np.array(part, dtype=np.int64) for part in (zip(*edges, strict=True) if edges else ([], [])))
        graph = coo_array((np.ones(len(heads)), (heads, np.abs(literals))), shape=(size, size))
        _, group = connected_components(graph, connection="strong")
        inside = group[heads] == group[np.abs(literals)] if len(heads) else np.zeros(0, dtype=np.bool_)
        recursive = set(group[heads[inside]].tolist()) if len(heads) else set()
        if (literals[inside] < 0).any() or any(int(group[head]) in recursive for head in self.weighted):
            self.beyond = "negation, or an aggregate, that depends on itself"
            return []
        order: TopologicalSorter[int] = TopologicalSorter({int(group[atom]): set() for atom in self._heads()})
        for head, literal in zip(heads[~inside], literals[~inside], strict=True):
            order.add(int(group[head]), int(group[abs(literal)]))
        members: dict[int, list[int]] = {}
        for atom in self._heads():
            members.setdefault(int(group[atom]), []).append(atom)
        return [members[number] for number in order.static_order() if number in members]

    def _heads(self) -> list[int]:
        return sorted({*self.normal, *self.weighted})

    def _bodies(self) -> Iterable[tuple[int, list[int]]]:
        for head, bodies in self.normal.items():
            yield from ((head, body) for body in bodies)
        for head, found in self.weighted.items():
            yield from ((head, [literal for literal, _ in body]) for _, body in found)


@dataclass
class Program:
    """A grounded program over the labels of some positions."""

    control: Any
    rules: Rules
    labels: dict[int, tuple[int, Any]]  # atom: position and label, by name or number
    symbols: dict[tuple[int, Any], Any]  # clingo's symbol of a position's label
    weak: dict[int, Hashable]  # atom: the value that it stands for
    path: Path

    def truths(self, traced: tuple[Any, ...]) -> tuple[Any, ...]:
        """On traced labels: whether a constraint is violated, and whether each weak atom holds."""
        known: dict[int, Expression] = {
            atom: traced[position] == label for atom, (position, label) in self.labels.items()
        }
        for stratum in self.rules.strata():
            again = len(stratum) if self._recursive(stratum) else 1
            here: dict[int, Expression] = dict.fromkeys(stratum, as_expression(False))
            for _ in range(again):  # from nothing up: what holds can be derived in so many steps
                here = {atom: self._holds(atom, {**known, **here}) for atom in stratum}
            known |= here
        violated = any_of([self._body(body, known) for body in self.rules.constraints])
        return (violated, *(known.get(atom, as_expression(False)) for atom in self.weak))

    def _recursive(self, stratum: Sequence[int]) -> bool:
        return any(
            literal in stratum for atom in stratum for body in self.rules.normal.get(atom, []) for literal in body
        )

    def _holds(self, atom: int, known: dict[int, Expression]) -> Expression:
        ways = [self._body(body, known) for body in self.rules.normal.get(atom, [])]
        for lower, body in self.rules.weighted.get(atom, []):
            ways.append(sum((weight * self._literal(one, known) for one, weight in body), as_expression(0)) >= lower)
        return any_of(ways)

    def _body(self, body: Sequence[int], known: dict[int, Expression]) -> Expression:
        return all_of([self._literal(literal, known) for literal in body])

    @staticmethod
    def _literal(literal: int, known: dict[int, Expression]) -> Expression:
        truth = known.get(abs(literal), as_expression(False))
        negated: Expression = ~truth if literal < 0 else truth
        return negated

    def value(self, truths: tuple[bool, ...]) -> Hashable:
        """The weak label of a label vector for which these hold; None where it has none. Two are an error."""
        violated, *holds = truths
        found = {value for value, true in zip(self.weak.values(), holds, strict=True) if true}
        if violated or not found:
            return None
        if len(found) > 1:
            raise TwoAnswers(" and ".join(sorted(map(repr, found))))
        return next(iter(found))

    def solve(self, labels: Sequence[Any]) -> Hashable:
        """The weak label of one label vector, by clingo; None where there is no answer, or none with a weak label."""
        chosen = {(position, label) for position, label in enumerate(labels)}
        for key, symbol in self.symbols.items():
            self.control.assign_external(symbol, key in chosen)
        answers = []
        with self.control.solve(yield_=True) as models:
            for model in models:
                answers.append({str(symbol) for symbol in model.symbols(atoms=True)})
        if len(answers) > 1:
            raise TwoAnswers("two answer sets")
        if not answers:
            return None
        names = {atom: str(symbol) for atom, symbol in self._weak_symbols()}
        return self.value((False, *(names[atom] in answers[0] for atom in self.weak)))

    def _weak_symbols(self) -> list[tuple[int, Any]]:
        return [(atom.literal, atom.symbol) for atom in self.control.symbolic_atoms if atom.literal in self.weak]


class TwoAnswers(Exception):
    """A label vector has more than one."""


def ground(path: str | Path, positions: Positions, weak: str) -> Program:
    """Ground the program in a file for label(I, C), I from 1, C a class name or number of position I."""
    clingo = _clingo()
    file, messages = Path(path), []
    if not file.is_file():
        raise DataError(f"{file}: expected a logic program, and there is no such file")
    control = clingo.Control(["0"], logger=lambda _, text: messages.append(text))
    control.configuration.solve.models = 2
    rules = Rules()
    control.register_observer(rules)
    symbols = {
        (i, label): clingo.Function("label", [clingo.Number(i + 1), _symbol(clingo, label)])
        for i, size in enumerate(positions.sizes)
        for label in (positions.names[i] or range(size))
    }
    try:
        control.add("base", [], "".join(f"#external {symbol}.\n" for symbol in symbols.values()))
        control.load(str(file))
        control.ground([("base", [])])
    except RuntimeError as error:
        told = " ".join(" ".join(messages).split()) or str(error)
        raise DataError(f"{file}: clingo cannot ground it: {told}") from error
    if rules.optimises:
        expected = "rules without #minimize, #maximize and weak constraints, as every answer counts, not the best alone"
        raise InvalidInput("program", expected, f"{file}, which has one")
    by_symbol = {symbol: key for key, symbol in symbols.items()}
    atoms = list(control.symbolic_atoms)
    labels = {atom.literal: by_symbol[atom.symbol] for atom in atoms if atom.symbol in by_symbol}
    derived = [atom for atom in atoms if atom.symbol.name == weak and not atom.symbol.negative]
    found = {atom.literal: _value(clingo, atom.symbol) for atom in derived}
    if not found:
        raise InvalidInput("program", f"rules that derive {weak}(...) for some labels", f"{file}, which never does")
    return Program(control, rules, labels, symbols, found, file)


def check_enumerable(program: Program, positions: Positions) -> None:
    """Refuse to solve too many label vectors one by one."""
    number = int(np.prod(positions.sizes, dtype=object))
    if number > MAX_VECTORS:
        raise TooLarge(
            f"from_asp: {program.path} has {program.rules.beyond}, so that its {number:,} label vectors would be "
            f"solved one by one, more than {MAX_VECTORS:,}; write it with stratified rules"
        )


def _clingo() -> Any:
    try:
        import clingo
    except ImportError as error:
        raise MissingEngine("from_asp needs clingo: pip install 'nslimb[asp]'") from error
    return clingo


def _symbol(clingo: Any, label: Any) -> Any:
    """A class as the program sees it: a number, a constant, or a string where its name is neither."""
    if isinstance(label, int) or _NUMBER.fullmatch(label):
        return clingo.Number(int(label))
    return clingo.Function(label, []) if _CONSTANT.fullmatch(label) else clingo.String(label)


def _value(clingo: Any, symbol: Any) -> Hashable:
    """What weak(S) stands for: S, or a tuple of several arguments; True without any."""
    arguments = tuple(_plain(clingo, argument) for argument in symbol.arguments)
    return True if not arguments else arguments[0] if len(arguments) == 1 else arguments


def _plain(clingo: Any, symbol: Any) -> Hashable:
    if symbol.type == clingo.SymbolType.Number:
        return int(symbol.number)
    if symbol.type == clingo.SymbolType.String:
        return str(symbol.string)
    if symbol.type != clingo.SymbolType.Function:
        return str(symbol)
    arguments = tuple(_plain(clingo, argument) for argument in symbol.arguments)
    if not arguments:
        return str(symbol.name)
    return (str(symbol.name), *arguments) if symbol.name else arguments
