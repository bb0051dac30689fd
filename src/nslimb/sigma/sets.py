"""Weak labels that are sets of outcomes, or log-weights over all of them: bool or float [..., S]."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nslimb.errors import InvalidInput


def read_sets(weak: Any, size: int, argument: str = "weak") -> Tensor | None:
    """``weak`` as a bool or float tensor [..., size], where its type is one of these; None where it holds integers.

    A row of a bool tensor is a set: any of these outcomes. One of a float tensor holds log-weights, -inf for outcomes
    that are ruled out. Each row has at least one outcome.
    """
    if not isinstance(weak, (Tensor, np.ndarray, Sequence)) or isinstance(weak, str):
        return None
    try:
        given = weak if isinstance(weak, Tensor) else torch.from_numpy(np.array(weak, order="C"))
    except (ValueError, TypeError):  # rows of different lengths, or no numbers: told where integers are read
        return None
    if given.dim() < 2 or given.numel() == 0 or not (given.dtype == torch.bool or given.is_floating_point()):
        return None
    expected = (
        f"integers, or sets of weak labels as a bool array [..., {size}], or log-weights as a float array of that shape"
    )
    if given.shape[-1] != size:
        raise InvalidInput(argument, expected, f"dtype {given.dtype} and shape {list(given.shape)}")
    if given.device.type == "cpu":
        _check_rows(argument, given)
    return given


def _check_rows(argument: str, given: Tensor) -> None:
    if given.dtype != torch.bool and not bool((given < float("inf")).all()):
        bad = (~(given < float("inf"))).nonzero()[0].tolist()
        raise InvalidInput(argument, "log-weights below +inf", f"{given[tuple(bad)].item()} at index {bad}")
    empty = ~members(given).any(dim=-1)
    if bool(empty.any()):
        place = empty.nonzero()[0].tolist()
        raise InvalidInput(argument, "at least one weak label in every set", f"none at index {place}")


def refuse_sets(weak: Any, size: int, what: str) -> None:
    """Refuse sets and log-weights where each sample needs a single weak label."""
    if read_sets(weak, size) is not None:
        raise InvalidInput("weak", f"one weak label a sample, as an integer, for {what}", "sets or log-weights")


def members(weak: Tensor) -> Tensor:
    """Which outcomes a set or a row of log-weights allows: bool."""
    return weak if weak.dtype == torch.bool else weak > float("-inf")


def log_weights(weak: Tensor, like: Tensor) -> Tensor:
    """Sets as log-weights, 0 for their members and -inf for the others; log-weights as they are."""
    if weak.dtype != torch.bool:
        return weak.to(like)
    return torch.zeros(weak.shape, dtype=like.dtype, device=like.device).masked_fill(~weak.to(like.device), -torch.inf)


def total_sizes(sizes: Sequence[int], weak: Tensor) -> tuple[int, ...]:
    """The sizes of weak labels, or of the unions that sets and log-weights allow, one after another."""
    if weak.dtype == torch.int64:
        return tuple(sizes[s] for s in weak.reshape(-1).tolist())
    rows = members(weak).reshape(-1, weak.shape[-1])
    return tuple(sum(sizes[s] for s in row.nonzero()[:, 0].tolist()) for row in rows)


def encode_sets(values: Any, index: Mapping[Hashable, int]) -> Tensor | None:
    """bool [n, S] where some of the values are Python sets of weak labels; None where none is.

    A set that is itself a weak label (a frozenset) stands for that label.
    """
    if not isinstance(values, Sequence) or isinstance(values, str):
        return None
    if not any(_is_set(value, index) for value in values):
        return None
    rows = torch.zeros((len(values), len(index)), dtype=torch.bool)
    for row, value in enumerate(values):
        chosen = value if _is_set(value, index) else (value,)
        if not chosen:
            raise InvalidInput(f"values[{row}]", "at least one weak label in a set", "an empty set")
        try:
            rows[row, [index[label] for label in chosen]] = True
        except (KeyError, TypeError):
            raise InvalidInput(f"values[{row}]", "weak labels of sigma, or sets of them", repr(value)) from None
    return rows


def _is_set(value: Any, index: Mapping[Hashable, int]) -> bool:
    return isinstance(value, set) or (isinstance(value, frozenset) and value not in index)


def decode_sets(indices: Any, weak_labels: Sequence[Hashable]) -> list[Hashable] | None:
    """The frozensets of weak labels that a bool array [n, S] stands for; None where it holds integers."""
    kind = getattr(indices, "dtype", None)
    if kind not in (torch.bool, np.dtype(bool)):
        return None
    given = read_sets(indices, len(weak_labels), "indices")
    if given is None or given.dim() != 2:
        raise InvalidInput("indices", f"sets of weak labels, [n, {len(weak_labels)}]", f"shape {list(indices.shape)}")
    return [frozenset(weak_labels[s] for s in row.nonzero()[:, 0].tolist()) for row in given]
