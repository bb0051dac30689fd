"""Components beyond the paper that read their labels one after another: sums of numbers, comparisons, automata."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np

from nslimb.checks import check_count
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import MAX_STATES, compile_steps
from nslimb.sigma.emitting import compile_transducer
from nslimb.sigma.transducer import Transducer


def addition(digits: int) -> Transducer:
    """MNIST-Add-N: the sum of two numbers of N digits, digit by digit. Remembers the carry and the sum of a column.

    The positions are the first number, then the second, each with its most significant digit first. The weak label is
    the N + 1 digits of the sum, the least significant first, the carry last; ``Sigma.encode`` takes it as a tuple
    or as an integer.

    Parameters
    ----------
    digits
        N, of each number.

    Returns
    -------
    Transducer
        Of arity 2 N.

    Examples
    --------
    >>> sigma = addition(digits=3)
    >>> sigma.apply([1, 2, 3, 9, 8, 7])  # 123 + 987 = 1110
    array([0, 1, 1, 1])
    """
    number = check_count("digits", digits)

    def step(state: tuple[str, int], label: int) -> tuple[tuple[str, int], int | None]:
        waits_for, column = state
        if waits_for == "first":
            return ("second", column + label), None
        return ("first", (column + label) // 10), (column + label) % 10

    pairs = [position for i in reversed(range(number)) for position in (i, number + i)]
    diagram = compile_transducer(("first", 0), step, lambda state: state[1], 10, 2 * number, pairs, MAX_STATES)
    return Transducer(diagram, "addition", {"digits": number}, spell=partial(digits_of_sum, number))


def comparison(digits: int) -> Sigma:
    """Which of two numbers of N digits is larger: 1 the first, -1 the second, 0 none. Remembers the verdict so far.

    The positions are as in ``addition``.

    Parameters
    ----------
    digits
        N, of each number.

    Returns
    -------
    Sigma
        Of arity 2 N.

    Examples
    --------
    >>> sigma = comparison(digits=2)
    >>> sigma.decode(sigma.apply([[1, 9, 2, 0], [3, 3, 3, 3]]))
    [-1, 0]
    """
    number = check_count("digits", digits)

    def step(state: tuple[str, int], label: int) -> tuple[str, int]:
        waits_for, known = state
        if waits_for == "first":  # a digit is remembered as 2 to 11, a verdict as -1 or 1
            return "second", label + 2 if known == 0 else known
        return "first", known if known in (-1, 1) else (known - 2 > label) - (known - 2 < label)

    pairs = [position for i in range(number) for position in (i, number + i)]
    diagram = compile_steps(("first", 0), step, lambda state: state[1], 10, 2 * number, MAX_STATES, pairs)
    return Sigma(diagram, "comparison", {"digits": number})


def automaton(
    transitions: Mapping[Hashable, Mapping[int, Hashable]],
    initial: Hashable,
    accepting: Collection[Hashable],
    num_classes: int,
    arity: int,
    max_states: int = MAX_STATES,
) -> Sigma:
    """Whether a finite automaton accepts the labels: True or False. A transition that is missing rejects.

    Parameters
    ----------
    transitions
        For each state the next one by label.
    initial, accepting
        Where it starts, and the states in which it accepts.
    num_classes, arity
        c and M.
    max_states
        The most states of a layer of the diagram; more are refused.

    Returns
    -------
    Sigma
        With the weak labels False and True.

    Examples
    --------
    >>> even_ones = automaton({"even": {0: "even", 1: "odd"}, "odd": {0: "odd", 1: "even"}}, "even", ["even"], 2, 4)
    >>> even_ones.preimage_sizes()
    (8, 8)
    """
    final = _check_automaton(transitions, initial, accepting, check_count("num_classes", num_classes))
    rejected: tuple[Hashable, ...] = ()

    def step(state: tuple[Hashable, ...], label: int) -> tuple[Hashable, ...]:
        row = transitions.get(state[0], {}) if state else {}
        return (row[label],) if label in row else rejected

    def finish(state: tuple[Hashable, ...]) -> bool:
        return state != rejected and state[0] in final

    diagram = compile_steps((initial,), step, finish, num_classes, arity, max_states)
    return Sigma(diagram, "automaton")


def digits_of_sum(digits: int, value: Any) -> list[Hashable]:
    """An integer as the digits of a sum of two numbers of so many digits, the least significant first."""
    largest = 2 * (10**digits - 1)
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 0 <= value <= largest:
        expected = f"sums from 0 to {largest}, or sequences of {digits + 1} digits"
        raise InvalidInput("values", expected, repr(value))
    return [int(digit) for digit in reversed(f"{int(value):0{digits + 1}d}")]


def _check_automaton(transitions: Any, initial: Any, accepting: Any, num_classes: int) -> frozenset[Hashable]:
    """The accepting states of an automaton that hangs together."""
    expected = "a mapping {state: {label: state}}"
    if not isinstance(transitions, Mapping) or not transitions:
        raise InvalidInput("transitions", expected, repr(transitions))
    for state, row in transitions.items():
        if not isinstance(row, Mapping):
            raise InvalidInput(f"transitions[{state!r}]", "a mapping {label: state}", repr(row))
        for label in row:
            if isinstance(label, bool) or not isinstance(label, (int, np.integer)) or not 0 <= label < num_classes:
                raise InvalidInput(f"transitions[{state!r}]", f"labels 0 to {num_classes - 1}", repr(label))
    try:
        known = {*transitions, *(target for row in transitions.values() for target in row.values())}
    except TypeError as error:
        raise InvalidInput("transitions", f"{expected} with hashable states", str(error)) from error
    if isinstance(accepting, str) or not isinstance(accepting, Collection):
        raise InvalidInput("accepting", "a collection of states", repr(accepting))
    for argument, state in (("initial", initial), *(("accepting", state) for state in accepting)):
        if not isinstance(state, Hashable) or state not in known:
            raise InvalidInput(argument, f"states of the automaton ({', '.join(map(repr, transitions))})", repr(state))
    return frozenset(accepting)
