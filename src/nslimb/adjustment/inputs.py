"""Checks shared by the adjustments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from nslimb.checks import check_float_tensor
from nslimb.errors import InvalidInput


def check_instance_scores(log_scores: Any) -> Tensor:
    """``log_scores`` if it is a float32 or float64 tensor [n, c] without NaN or +inf, n and c at least 1."""
    expected = "a float32 or float64 tensor of shape [n, c] with numbers below +inf"
    check_float_tensor(log_scores, expected)
    if log_scores.dim() != 2 or log_scores.numel() == 0:
        raise InvalidInput("log_scores", expected, f"shape {list(log_scores.shape)}")
    if log_scores.device.type == "cpu" and not bool((log_scores < float("inf")).all()):
        raise InvalidInput("log_scores", expected, "NaN or +inf")
    scores: Tensor = log_scores
    return scores


def check_positive(argument: str, value: Any, allow_zero: bool = False) -> Tensor:
    """A scalar or an array of finite numbers above 0 (or at least 0) as a float64 tensor."""
    expected = f"finite numbers {'of at least' if allow_zero else 'above'} 0"
    try:
        numbers = torch.as_tensor(value, dtype=torch.float64)
        truths = torch.as_tensor(value).dtype == torch.bool
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidInput(argument, expected, repr(value)) from error
    good = torch.isfinite(numbers) & ((numbers >= 0) if allow_zero else (numbers > 0))
    if truths or numbers.numel() == 0 or not bool(good.all()):
        raise InvalidInput(argument, expected, repr(value))
    return numbers


def check_settings(settings: Any, names: tuple[str, ...], allow_zero: bool = False) -> list[Tensor]:
    """The numbers of settings such as ``{"eta": 1.0, "tau": 2.0}``: a float64 tensor [K] for each of ``names``."""
    expected = f"mappings with {' and '.join(names)} and nothing else"
    for setting in settings:
        if not isinstance(setting, Mapping) or set(setting) != set(names):
            raise InvalidInput("settings", expected, repr(setting))
    return [check_positive(name, [setting[name] for setting in settings], allow_zero) for name in names]
