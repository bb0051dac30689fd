"""From a traced function to a diagram: one product of diagrams for each operation that it applies."""

from __future__ import annotations

import functools
import operator
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nslimb.arrays import IntArray
from nslimb.errors import InvalidInput, NslimbError
from nslimb.sigma.diagram import Diagram, finish_layers
from nslimb.sigma.expression import Expression, Kind, Missing, as_expression, untraceable
from nslimb.sigma.pieces import Piece, Pieces
from nslimb.sigma.positions import Positions

_FUNCTIONS: dict[str, Callable[..., Hashable]] = {
    "+": operator.add,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "unary -": operator.neg,
    "abs": abs,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "~": operator.not_,
    "minimum": min,
    "maximum": max,
    "tuple": lambda *values: values,
}
# Operations whose operands may be grouped in any way.
_ASSOCIATIVE = ("+", "&", "|", "minimum", "maximum")


def compile_expression(function: Callable[..., Any], positions: Positions, max_states: int) -> Diagram:
    """The diagram of ``function``, called once on a tuple of traced labels; its layers follow the order of reading."""
    pieces = Pieces(positions, max_states)
    piece = _Compiler(_trace(function, positions), pieces).compile()
    layers, values = pieces.over_all_positions(piece), piece.diagram.weak_labels
    if Missing.DIVISION in values:
        example = _example(layers, values.index(Missing.DIVISION), positions.reading)
        expected = "no // or % by zero; divide by where(divisor != 0, divisor, None) to leave such label vectors out"
        raise InvalidInput("function", expected, f"a zero for the label vector {example}")
    diagram = finish_layers(layers, lambda value: None if value is Missing.INVALID else value, zip(values))
    return replace(diagram, order=positions.order)


def _trace(function: Callable[..., Any], positions: Positions) -> Expression:
    """What the function does with its labels."""
    labels = tuple(
        Expression("label", Kind.OTHER if names else Kind.INTEGER, value=position, names=names)
        for position, names in enumerate(positions.names)
    )
    try:
        return as_expression(function(labels), none=True)
    except NslimbError:
        raise
    except (Exception, SystemExit) as error:
        untraceable(f"{type(error).__name__}: {error}")


def _example(layers: Sequence[IntArray], state: int, reading: Sequence[int]) -> list[int]:
    """A label vector that leads to a state of the last layer."""
    labels = [0] * len(reading)
    for targets, position in zip(reversed(layers), reversed(reading), strict=True):
        state, labels[position] = (int(index) for index in np.argwhere(targets == state)[0])
    return labels


class _Compiler:
    """Turns an expression into a piece, operands first; what is written twice is compiled once."""

    def __init__(self, root: Expression, build: Pieces) -> None:
        self.root, self.build = root, build
        self.uses = _count_uses(root)
        self.pieces: dict[int, Piece] = {}  # by the identity of the expression
        self.known: dict[Hashable, Piece] = {}  # by operation and operands

    def compile(self) -> Piece:
        waiting = [self.root]
        while waiting:  # no recursion: the sum of a thousand labels is a thousand deep
            expression = waiting[-1]
            operands = self._operands(expression)
            missing = [operand for operand in operands if id(operand) not in self.pieces]
            if missing:
                waiting += missing
                continue
            pieces = [self.pieces[id(operand)] for operand in operands]
            self.pieces[id(expression)] = self._piece(expression, pieces)
            waiting.pop()
        return self.pieces[id(self.root)]

    def _operands(self, expression: Expression) -> list[Expression]:
        """The arguments, with those of nested operations of the same kind: (a + b) + c has three."""
        rounded = expression.operation == "+" and expression.kind == Kind.NUMBER  # a + (b + c) may differ
        if expression.operation not in _ASSOCIATIVE or rounded:
            return list(expression.arguments)
        operands: list[Expression] = []
        waiting = list(reversed(expression.arguments))
        while waiting:
            argument = waiting.pop()
            if argument.operation == expression.operation and self.uses[id(argument)] == 1:
                waiting += reversed(argument.arguments)
            else:
                operands.append(argument)
        return operands

    def _piece(self, expression: Expression, operands: Sequence[Piece]) -> Piece:
        operation, value = expression.operation, expression.value
        if operation == "label":
            return self.known.setdefault((operation, value), self.build.label(value, expression.names))
        if operation == "constant":
            return self.known.setdefault((operation, type(value), value), self.build.constant(value))
        key = (operation, *map(id, operands))
        if key not in self.known:
            self.known[key] = self._combined(operation, operands)
        return self.known[key]

    def _combined(self, operation: str, operands: Sequence[Piece]) -> Piece:
        if operation == "where":
            return self.build.product(_choose, operands)
        function = _strict(_FUNCTIONS[operation])
        if operation not in _ASSOCIATIVE:
            return self.build.product(function, operands)
        pieces = sorted(operands, key=lambda piece: piece.steps[-1:])
        if operation == "+":  # label by label: two long sums would meet in all pairs of their values
            return functools.reduce(lambda before, piece: self.build.product(function, [before, piece]), pieces)
        while len(pieces) > 1:
            pairs = (pieces[i : i + 2] for i in range(0, len(pieces), 2))
            pieces = [self.build.product(function, pair) if len(pair) == 2 else pair[0] for pair in pairs]
        return pieces[0]


def _count_uses(root: Expression) -> Counter[int]:
    """How often each expression is an argument, by identity."""
    uses: Counter[int] = Counter()
    waiting = [root]
    while waiting:
        for argument in waiting.pop().arguments:
            uses[id(argument)] += 1
            if uses[id(argument)] == 1:
                waiting.append(argument)
    return uses


def _choose(condition: Any, yes: Any, no: Any) -> Any:
    """``where``: only the condition and the chosen value have to be there."""
    if isinstance(condition, Missing):
        return condition
    return yes if condition else no


def _strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, where all of its arguments are there; an invalid one makes the result invalid."""

    def applied(*values: Any) -> Any:
        missing = [value for value in values if isinstance(value, Missing)]
        if missing:
            return Missing.INVALID if Missing.INVALID in missing else Missing.DIVISION
        try:
            return function(*values)
        except ZeroDivisionError:
            return Missing.DIVISION

    return applied
