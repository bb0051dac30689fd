"""From a grounded logic program to a diagram: by its strata, or by solving one label vector after another."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from nslimb.errors import InvalidInput
from nslimb.sigma import counting
from nslimb.sigma.asp import Program, TwoAnswers, check_enumerable, ground
from nslimb.sigma.diagram import Diagram, compile_function, finish_layers
from nslimb.sigma.positions import Positions
from nslimb.sigma.tracing import compile_expression


def compile_program(path: str | Path, positions: Positions, weak: str, max_states: int) -> Diagram:
    """The diagram of the program in a file; it has at least one valid label vector."""
    program = ground(path, positions, weak)
    program.rules.strata()
    if program.rules.beyond:
        return _solved(program, positions)
    return _stratified(program, positions, max_states)


def _stratified(program: Program, positions: Positions, max_states: int) -> Diagram:
    """A product of diagrams for each rule; then what holds together becomes the weak label."""
    truths = compile_expression(program.truths, positions, max_states)
    values = []
    for place, holds in enumerate(truths.weak_labels):
        try:
            values.append(program.value(holds))  # type: ignore[arg-type]
        except TwoAnswers as error:
            vector = counting.vectors(truths, place)[0].tolist()
            raise _two_answers(program, positions, vector, error) from None
    if all(value is None for value in values):
        raise _no_answer(program)
    diagram = finish_layers(truths.targets, lambda value: value, zip(values))
    return replace(diagram, order=truths.order)


def _solved(program: Program, positions: Positions) -> Diagram:
    """By clingo, for all label vectors."""
    check_enumerable(program, positions)
    names = [names or range(size) for names, size in zip(positions.names, positions.sizes, strict=True)]
    table: dict[tuple[int, ...], Any] = {}
    for vector in product(*map(range, positions.sizes)):
        try:
            table[vector] = program.solve([names[i][label] for i, label in enumerate(vector)])
        except TwoAnswers as error:
            raise _two_answers(program, positions, list(vector), error) from None
    if all(value is None for value in table.values()):
        raise _no_answer(program)
    size, arity = max(positions.sizes), len(positions.sizes)
    if positions.order is not None:
        raise InvalidInput("order", f"none, as {program.path} has {program.rules.beyond}", positions.order)
    return compile_function(table.get, size, arity, max(size**arity, int(np.prod(positions.sizes))))


def _two_answers(program: Program, positions: Positions, vector: list[int], error: TwoAnswers) -> InvalidInput:
    shown = ", ".join(
        f"label({i + 1}, {names[label] if names else label})"
        for i, (names, label) in enumerate(zip(positions.names, vector, strict=True))
    )
    return InvalidInput("program", "one answer for each label vector", f"{program.path}, with {error} for {shown}")


def _no_answer(program: Program) -> InvalidInput:
    return InvalidInput("program", "an answer with a weak label for some label vector", f"{program.path}, with none")
