"""Weak labels as JSON that says of each value what it is: 1, 1.0, True and "1" stay four different labels."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from nslimb.errors import DataError, InvalidInput

_PLAIN = {"int": int, "bool": bool, "str": str}


def to_tagged(value: Hashable) -> list[Any]:
    """``[kind, value]`` of an int, float, bool, str or a tuple of such; anything else is refused.

    Examples
    --------
    >>> to_tagged((1, "one", True))
    ['tuple', [['int', 1], ['str', 'one'], ['bool', True]]]
    """
    kind = type(value).__name__
    if type(value) is tuple:
        return [kind, [to_tagged(part) for part in value]]
    if type(value) is float:
        return [kind, value.hex()]  # exact, and for infinity too
    if type(value) in _PLAIN.values():
        return [kind, value]
    raise InvalidInput("weak labels", "int, float, bool, str or tuples of them, to be saved", f"{value!r} ({kind})")


def from_tagged(tagged: Any) -> Hashable:
    """What ``to_tagged`` was given."""
    try:
        kind, value = tagged
        if kind == "tuple":
            return tuple(from_tagged(part) for part in value)
        if kind == "float":
            return float.fromhex(value)
        if type(value) is _PLAIN[kind]:
            found: Hashable = value
            return found
    except (TypeError, ValueError, KeyError):
        pass
    raise DataError(f"{tagged!r} is no weak label as [kind, value]")
