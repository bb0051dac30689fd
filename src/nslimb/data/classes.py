"""Which class is which, where an image source and sigma both have names for them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from nslimb.arrays import IntArray
from nslimb.errors import InvalidInput


def sort_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names in order: by value where all are whole numbers, else as text.

    Examples
    --------
    >>> sort_names(["10", "9"]), sort_names(["10", "9", "a"])
    (('9', '10'), ('10', '9', 'a'))
    """
    found = tuple(names)
    numbers = all(name.isascii() and name.isdigit() for name in found)
    return tuple(sorted(found, key=lambda name: (int(name) if numbers else 0, name)))


def arrange(source: str, found: Sequence[str], wanted: Sequence[str] | None) -> tuple[tuple[str, ...], IntArray]:
    """The names of the classes in their final order, and the number there of each class of a source.

    ``found`` are the names of the source's classes, in its order, ``wanted`` those of sigma. The same names: sigma's
    order. Where either has plain numbers 0, 1, 2, ... for names, its classes have no names, and the k-th class of the
    source is the k-th of sigma; unless a name that both have would then be two classes. Anything else is refused.

    Examples
    --------
    >>> arrange("pets", ["cat", "dog"], ["dog", "cat"])
    (('dog', 'cat'), array([1, 0]))
    >>> arrange("pets", ["cat", "dog"], ["0", "1"])
    (('cat', 'dog'), array([0, 1]))
    """
    if wanted is not None and sorted(found) == sorted(wanted):
        return tuple(wanted), np.array([list(wanted).index(name) for name in found])
    if wanted is not None:
        check_classes(source, found, wanted)
    names = wanted if wanted is not None and _unnamed(found) else found
    return tuple(names), np.arange(len(found))


def check_classes(source: str, found: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a source whose k-th class cannot be sigma's k-th, for every k."""
    same = len(found) == len(wanted)
    unnamed = _unnamed(found) or _unnamed(wanted)
    shared = set(found) & set(wanted)
    moved = any(list(found).index(name) != list(wanted).index(name) for name in shared)
    if not same or moved or not (unnamed or len(shared) == len(wanted)):
        raise InvalidInput(
            "source",
            f"the {len(wanted)} classes of sigma ({', '.join(wanted)})",
            f"{source} with {len(found)} classes ({', '.join(found)})",
        )


def _unnamed(names: Sequence[str]) -> bool:
    return list(names) == [str(k) for k in range(len(names))]
