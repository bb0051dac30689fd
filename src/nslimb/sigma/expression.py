"""Labels that write down what is done with them: what ``Sigma.from_expression`` hands to a function.

Operators, and the functions ``minimum``, ``maximum``, ``where``, ``all_of``, ``any_of`` and ``count`` of this module,
build a tree of operations in place of values; ``nslimb.sigma.tracing`` turns the tree into a diagram.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, IntEnum
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

from nslimb.errors import InvalidInput

WAY_OUT = (
    "write conditions with & | ~ and with where, all_of, any_of, count, minimum, maximum of nslimb.sigma.expression; "
    "what these cannot say is for Sigma.from_function or Sigma.from_steps"
)


class Kind(IntEnum):
    """What the values of an expression are. The larger of two kinds takes in both."""

    TRUTH = 0
    INTEGER = 1
    NUMBER = 2
    OTHER = 3


class Missing(Enum):
    """What stands in for a value: that of an invalid label vector, and that of a division by zero."""

    INVALID = "invalid"
    DIVISION = "division by zero"


def as_expression(value: Any, none: bool = False) -> Expression:
    """``value`` as an expression: itself, a tuple of several, or a constant; None only where it is allowed."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, tuple):
        return Expression("tuple", Kind.OTHER, tuple(as_expression(entry, none) for entry in value))
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None:
        if not none:
            untraceable("None in place of a value")
        return Expression("constant", Kind.TRUTH, value=Missing.INVALID)
    if isinstance(plain, bool):
        kind = Kind.TRUTH
    elif isinstance(plain, Integral):
        kind = Kind.INTEGER
    else:
        kind = Kind.NUMBER if isinstance(plain, Real) else Kind.OTHER
    return Expression("constant", kind, value=plain)


def untraceable(given: str) -> NoReturn:
    """Refuse what cannot be written down, with the way out."""
    raise InvalidInput("function", "an expression of traced labels", f"{given}; {WAY_OUT}")


def _arithmetic(operation: str, *values: Any) -> Expression:
    arguments = tuple(map(as_expression, values))
    kind = max(Kind.INTEGER, *(argument.kind for argument in arguments))
    if kind == Kind.OTHER:
        untraceable(f"{operation} of {_shown(arguments)}")
    return Expression(operation, kind, arguments)


def _difference(_: str, left: Any, right: Any) -> Expression:
    """A sum too, so that the terms of a - b + c can be added up in any order."""
    return _arithmetic("+", left, _arithmetic("unary -", right))


def _equality(operation: str, left: Any, right: Any) -> Expression:
    arguments = left, right = as_expression(left), as_expression(right)
    if (left.kind == Kind.OTHER) != (right.kind == Kind.OTHER):
        untraceable(f"{operation} of {_shown(arguments)}, which are never equal")
    for label, other in ((left, right), (right, left)):
        if label.names is not None and other.operation == "constant" and other.value not in label.names:
            given = f"{operation} of {other.value!r} and a label of position {label.value}, whose names are"
            untraceable(f"{given} {', '.join(map(repr, label.names))}")
    return Expression(operation, Kind.TRUTH, arguments)


def _comparison(operation: str, *values: Any) -> Expression:
    return Expression(operation, Kind.TRUTH, _arithmetic(operation, *values).arguments)


def _logical(operation: str, *values: Any) -> Expression:
    arguments = tuple(map(as_expression, values))
    if any(argument.kind != Kind.TRUTH for argument in arguments):
        untraceable(f"{operation} of {_shown(arguments)} (it takes truth values, such as y[0] == 1)")
    return Expression(operation, Kind.TRUTH, arguments)


def _shown(arguments: Iterable[Expression]) -> str:
    words = {Kind.TRUTH: "a truth value", Kind.INTEGER: "a number", Kind.NUMBER: "a number", Kind.OTHER: "a name"}
    return " and ".join(
        repr(argument.value) if argument.operation == "constant" else words[argument.kind] for argument in arguments
    )


def _operator(build: Callable[..., Expression], operation: str) -> Callable[..., Any]:
    return lambda self, *other: build(operation, self, *other)


def _both_ways(build: Callable[..., Expression], operation: str) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator and its reflected form, as in ``label + 1`` and ``1 + label``."""
    return _operator(build, operation), lambda self, other: build(operation, other, self)


def _refused(given: str) -> Callable[..., Any]:
    def method(_: Expression, *__: Any, **___: Any) -> NoReturn:
        untraceable(given)

    return method


class Expression:
    """A label, a constant, or an operation on other expressions."""

    def __init__(
        self,
        operation: str,
        kind: Kind,
        arguments: tuple[Expression, ...] = (),
        value: Any = None,
        names: tuple[str, ...] | None = None,
    ) -> None:
        self.operation, self.kind, self.arguments = operation, kind, arguments
        self.value = value  # of a constant; a label's position
        self.names = names  # of a label, where its position is given by names

    __add__, __radd__ = _both_ways(_arithmetic, "+")
    __sub__, __rsub__ = _both_ways(_difference, "-")
    __mul__, __rmul__ = _both_ways(_arithmetic, "*")
    __floordiv__, __rfloordiv__ = _both_ways(_arithmetic, "//")
    __mod__, __rmod__ = _both_ways(_arithmetic, "%")
    __neg__, __abs__ = _operator(_arithmetic, "unary -"), _operator(_arithmetic, "abs")
    __eq__, __ne__ = _operator(_equality, "=="), _operator(_equality, "!=")
    __lt__, __le__ = _operator(_comparison, "<"), _operator(_comparison, "<=")
    __gt__, __ge__ = _operator(_comparison, ">"), _operator(_comparison, ">=")
    __and__, __rand__ = _both_ways(_logical, "&")
    __or__, __ror__ = _both_ways(_logical, "|")
    __xor__, __rxor__ = _both_ways(_logical, "^")
    __invert__ = _operator(_logical, "~")

    __bool__ = _refused("bool() of a traced value (if, and, or, not, in, a < b < c, max, min, sorted, all, any)")
    __hash__ = _refused("hash() of a traced value (a set, or the key of a dictionary)")
    __int__ = __index__ = _refused("int() of a traced value (or its use as an index, or in range)")
    __float__ = _refused("float() of a traced value (or a function of math)")
    __truediv__ = __rtruediv__ = _refused("/ of traced values (// is traced)")
    __pow__ = __rpow__ = _refused("** of traced values (* is traced)")
    __array__ = __array_function__ = _refused("a function of numpy on traced values")
    __array_ufunc__ = None  # numpy's own numbers then leave ``np.int64(3) + label`` to the label


def where(condition: Any, yes: Any, no: Any) -> Expression:
    """``yes`` where the condition holds, else ``no``; None in the place of one makes the label vector invalid there.

    Only the chosen value counts, as in ``yes if condition else no``: the other may be invalid or divide by zero.

    Examples
    --------
    >>> import nslimb
    >>> def difference(y):
    ...     return where(y[1] == "-", where(y[0] >= y[2], y[0] - y[2], None), y[0] + y[2])
    >>> sigma = nslimb.Sigma.from_expression(difference, classes=[10, ["+", "-"], 10])
    >>> sigma.apply([[3, 0, 4], [9, 1, 4], [3, 1, 4]]).tolist()  # 3 + 4, 9 - 4, and 3 - 4, which is none
    [7, 5, -1]
    """
    chosen = as_expression(yes, none=True), as_expression(no, none=True)
    (checked,) = _logical("where", condition).arguments
    return Expression("where", max(value.kind for value in chosen), (checked, *chosen))


def all_of(*conditions: Any) -> Expression:
    """Whether all conditions hold: ``all_of(a, b, c)`` or ``all_of([a, b, c])``."""
    given = _several(conditions)
    return _logical("&", *given) if given else as_expression(True)


def any_of(*conditions: Any) -> Expression:
    """Whether at least one condition holds: ``any_of(a, b, c)`` or ``any_of([a, b, c])``."""
    given = _several(conditions)
    return _logical("|", *given) if given else as_expression(False)


def count(*conditions: Any) -> Expression:
    """How many conditions hold: ``count(a, b, c)`` or ``count([a, b, c])``."""
    return _arithmetic("+", 0, *_logical("count", *_several(conditions)).arguments)


def minimum(*values: Any) -> Expression:
    """The least value: ``minimum(a, b, c)`` or ``minimum([a, b, c])``."""
    return _extreme("minimum", values)


def maximum(*values: Any) -> Expression:
    """The largest value: ``maximum(a, b, c)`` or ``maximum([a, b, c])``."""
    return _extreme("maximum", values)


def _extreme(operation: str, values: tuple[Any, ...]) -> Expression:
    given = _several(values)
    if not given:
        untraceable(f"{operation} of nothing")
    arguments = _arithmetic(operation, *given).arguments
    return Expression(operation, max(argument.kind for argument in arguments), arguments)


def _several(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values given one by one, or those of the one iterable that was given."""
    if len(values) == 1 and isinstance(values[0], Iterable) and not isinstance(values[0], (Expression, str)):
        return tuple(values[0])
    return values
