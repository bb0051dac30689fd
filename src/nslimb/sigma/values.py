"""Weak labels and classes by the values a user gives them, turned into the integers that the passes take, and back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nslimb.checks import as_integers, check_range
from nslimb.errors import InvalidInput
from nslimb.sigma.diagram import DEAD


def encode_listed(values: Any, weak_labels: Sequence[Hashable]) -> Tensor:
    """Indices of values into ``weak_labels``: int64 [n]."""
    index = {label: i for i, label in enumerate(weak_labels)}
    expected = f"a sequence of weak labels of sigma ({_shown(weak_labels)})"
    try:
        listed = values.tolist() if isinstance(values, (Tensor, np.ndarray)) else list(values)
        return torch.tensor([index[value] for value in listed], dtype=torch.int64)
    except KeyError as error:
        raise InvalidInput("values", expected, repr(error.args[0])) from None
    except TypeError:  # not a sequence, or one of sequences
        raise InvalidInput("values", expected, repr(values)) from None


def decode_listed(indices: Any, weak_labels: Sequence[Hashable]) -> list[Hashable]:
    """The values at indices [n]; None for -1."""
    expected = f"indices into sigma.weak_labels (0 to {len(weak_labels) - 1}), or -1 for none"
    given = as_integers("indices", indices, expected)
    if given.dim() != 1:
        raise InvalidInput("indices", expected, f"shape {list(given.shape)}")
    check_range("indices", given, len(weak_labels), expected, least=DEAD)
    return [None if index == DEAD else weak_labels[index] for index in given.tolist()]


def encode_sequences(
    values: Any,
    symbols: Sequence[Hashable],
    length: int,
    spell: Callable[[Any], Sequence[Hashable]] | None,
) -> Tensor:
    """Indices into ``symbols`` of sequences of so many: int64 [n, length]. ``spell`` writes what is none as one."""
    index = {symbol: i for i, symbol in enumerate(symbols)}
    expected = f"sequences of {length} symbols out of {_shown(symbols)}"
    listed = values.tolist() if isinstance(values, (Tensor, np.ndarray)) else values
    if isinstance(listed, (str, bytes)) or not isinstance(listed, Iterable):
        raise InvalidInput("values", expected, repr(values))
    rows = []
    for number, value in enumerate(listed):
        sequence = value if spell is None or isinstance(value, (tuple, list)) else spell(value)
        if not isinstance(sequence, (tuple, list)):
            raise InvalidInput(f"values[{number}]", expected, repr(value))
        if len(sequence) != length:
            raise InvalidInput(f"values[{number}]", expected, f"{value!r}, which has {len(sequence)}")
        try:
            rows.append([index[symbol] for symbol in sequence])
        except (KeyError, TypeError):
            raise InvalidInput(f"values[{number}]", expected, repr(value)) from None
    return torch.tensor(rows, dtype=torch.int64).view(-1, length)


def decode_sequences(indices: Any, symbols: Sequence[Hashable], length: int) -> list[Hashable]:
    """The tuples of symbols at indices [n, length]; None for rows of -1."""
    expected = f"indices into sigma.symbols (0 to {len(symbols) - 1}) of shape [n, {length}], or -1"
    given = as_integers("indices", indices, expected)
    if given.dim() != 2 or given.shape[1] != length:
        raise InvalidInput("indices", expected, f"shape {list(given.shape)}")
    check_range("indices", given, len(symbols), expected, least=DEAD)
    return [None if DEAD in row else tuple(symbols[symbol] for symbol in row) for row in given.tolist()]


def check_class_names(names: Any, num_classes: int) -> tuple[str, ...]:
    """What the classes are called: their numbers where no names are given."""
    if names is None:
        return tuple(map(str, range(num_classes)))
    expected = f"{num_classes} distinct names, one for each class"
    if isinstance(names, str) or not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise InvalidInput("class_names", expected, repr(names))
    if len(set(names)) != num_classes or len(names) != num_classes:
        raise InvalidInput("class_names", expected, f"{len(names)}: {', '.join(names)}")
    return tuple(names)


def _shown(values: Sequence[Hashable]) -> str:
    return ", ".join(map(repr, values[:10])) + (", ..." if len(values) > 10 else "")
