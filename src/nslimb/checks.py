"""Checks of tensors that users hand in, shared by every function that takes scores or weak labels.

Values (NaN, indices out of range) are read on the CPU only: on an accelerator reading them would stop
the device on every training step, and there NaN travels on into the loss, where the loop stops. Code that
``torch.compile`` has compiled does not read them either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nslimb.errors import InvalidInput

_LOG2_E = math.log2(math.e)
_TOLERANCE = 1e-2  # of the sum of probabilities


def check_log_scores(log_scores: Any, arity: int, num_classes: int, normalised: bool = False) -> Tensor:
    """``log_scores`` if it is a float32 or float64 tensor [B, arity, num_classes] without NaN or +inf.

    With ``normalised``, the probabilities of each row have to sum to 1.
    """
    expected = f"a float32 or float64 tensor of shape [batch, {arity}, {num_classes}]"
    check_float_tensor(log_scores, expected)
    if log_scores.dim() != 3 or log_scores.shape[1:] != (arity, num_classes):
        raise InvalidInput("log_scores", expected, f"shape {list(log_scores.shape)}")
    scores: Tensor = log_scores
    if normalised and _are_normalised(scores):
        return scores
    # The maximum of what holds a NaN is NaN.
    if _is_readable(log_scores) and not float(log_scores.detach().max()) < float("inf"):
        bad = (~(log_scores.detach() < float("inf"))).nonzero()[0].tolist()
        raise InvalidInput("log_scores", "numbers below +inf", f"{log_scores[tuple(bad)].item()} at index {bad}")
    if normalised:
        check_normalised(scores)
    return scores


def _is_readable(values: Tensor) -> bool:
    """Whether there are values, and reading them stops nothing: neither a device nor ``torch.compile``."""
    return values.device.type == "cpu" and values.numel() > 0 and not torch.compiler.is_compiling()


def _are_normalised(log_scores: Tensor) -> bool:
    """Whether the probabilities of each row sum to 1, or cannot be read without a wait."""
    if not _is_readable(log_scores):
        return True
    low, high = _mass(log_scores).aminmax()
    return float(low) >= 1 - _TOLERANCE and float(high) <= 1 + _TOLERANCE


def _mass(log_scores: Tensor) -> Tensor:
    return (log_scores.detach() * _LOG2_E).exp2_().sum(dim=-1)  # to base 2, as exp is slow where it underflows


def check_normalised(log_scores: Tensor) -> None:
    """Refuse log-scores [..., c] whose probabilities do not sum to 1, such as raw logits (read on the CPU only)."""
    if not _are_normalised(log_scores):
        bad = (~((_mass(log_scores) - 1).abs() <= _TOLERANCE)).nonzero()[0].tolist()
        off = float(log_scores[tuple(bad)].detach().logsumexp(-1))
        expected = "log-probabilities, logits.log_softmax(-1)"
        raise InvalidInput("log_scores", expected, f"a row whose logsumexp is {off:.4g}, at {bad}")


def check_float_tensor(log_scores: Any, expected: str) -> None:
    """Refuse what is no float32 or float64 tensor."""
    if not isinstance(log_scores, Tensor):
        raise InvalidInput("log_scores", expected, f"an object of type {type(log_scores).__name__}")
    if log_scores.dtype not in (torch.float32, torch.float64):
        raise InvalidInput("log_scores", expected, f"dtype {log_scores.dtype}")


def check_weak(weak: Any, batch: int, num_weak: int, device: torch.device) -> Tensor:
    """``weak`` as an int64 tensor [batch] on ``device``, each an index into sigma's weak labels."""
    expected = f"{batch} integers, each an index into sigma.weak_labels (0 to {num_weak - 1})"
    indices = as_integers("weak", weak, expected)
    if indices.shape != (batch,):
        raise InvalidInput("weak", expected, f"shape {list(indices.shape)}")
    check_range("weak", indices, num_weak, expected)
    return indices.to(device)


def as_integers(argument: str, values: Any, expected: str) -> Tensor:
    """An int64 tensor from an integer tensor, array or sequence; nothing is rounded."""
    if isinstance(values, Tensor):
        if values.is_floating_point() or values.is_complex() or values.dtype == torch.bool:
            raise InvalidInput(argument, expected, f"dtype {values.dtype}")
        return values.to(torch.int64)
    if not isinstance(values, (np.ndarray, Sequence)) or isinstance(values, str):
        raise InvalidInput(argument, expected, f"an object of type {type(values).__name__}")
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidInput(argument, expected, "rows of different lengths") from error
    if array.size and array.dtype.kind not in "iu":
        raise InvalidInput(argument, expected, f"dtype {array.dtype}")
    return torch.from_numpy(np.array(array, dtype=np.int64, order="C"))


def check_range(argument: str, indices: Tensor, size: int, expected: str, least: int = 0) -> None:
    """Refuse indices outside least .. size - 1 (read on the CPU only)."""
    if _is_readable(indices):
        low, high = (int(bound) for bound in torch.aminmax(indices))
        if low < least or high >= size:
            raise InvalidInput(argument, expected, f"{low if low < least else high}")


def check_count(argument: str, value: Any, least: int = 1) -> int:
    """``value`` if it is an integer of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidInput(argument, f"an integer of at least {least}", repr(value))
    return int(value)


def check_number(argument: str, value: Any, above: bool = False) -> float:
    """``value`` if it is one finite number of at least 0, or ``above`` it."""
    if not _is_number(value) or not 0 <= value < math.inf or (above and value == 0):
        raise InvalidInput(argument, f"a finite number {'above' if above else 'of at least'} 0", repr(value))
    return float(value)


def check_share(argument: str, value: Any, expected: str = "a share from 0 to below 1") -> float:
    """``value`` if it is one number of at least 0 and below 1."""
    if not _is_number(value) or not 0 <= value < 1:
        raise InvalidInput(argument, expected, repr(value))
    return float(value)


def check_bool(argument: str, value: Any) -> None:
    """Refuse what is neither True nor False, however true it may look."""
    if not isinstance(value, bool):
        raise InvalidInput(argument, "True or False", repr(value))


def check_choice(argument: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse what is none of the names ``choices``."""
    if not isinstance(value, str) or value not in choices:
        raise InvalidInput(argument, f"one of {', '.join(choices)}", repr(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def check_ratios(ratios: Any, arity: int | None, num_classes: int) -> NDArray[np.float64]:
    """Label ratios as a float64 array [c], or [M, c] where ``arity`` is given and positions differ, to sum to 1."""
    shapes = f"{num_classes} numbers" if arity is None else f"shape [{num_classes}] or [{arity}, {num_classes}]"
    expected = f"ratios of at least 0 that sum to 1, {shapes}"
    try:
        values = ratios.detach().cpu().numpy() if isinstance(ratios, Tensor) else ratios
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput("ratios", expected, f"values that are no numbers ({error})") from error
    if array.shape != (num_classes,) and (arity is None or array.shape != (arity, num_classes)):
        raise InvalidInput("ratios", expected, f"shape {list(array.shape)}")
    if not np.isfinite(array).all() or array.min() < 0 or np.abs(array.sum(axis=-1) - 1).max() > 1e-4:
        raise InvalidInput("ratios", expected, f"{array.tolist()} with sum {np.round(array.sum(axis=-1), 6).tolist()}")
    return np.asarray(array / array.sum(axis=-1, keepdims=True))
