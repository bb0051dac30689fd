"""Who is adjusted together: all instances, or shuffled batches of them; one position or all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from nslimb.adjustment.base import Adjustment, Setting
from nslimb.arrays import FloatArray
from nslimb.checks import check_count, check_ratios
from nslimb.errors import InvalidInput
from nslimb.seeds import torch_generator


def adjusted(
    adjustment: Adjustment,
    log_scores: Tensor,
    ratios: Any,
    settings: Sequence[Setting],
    batch: int | None,
    seed: int,
) -> Tensor:
    """Log-scores [B, M, c] by each of K settings: [K, B, M, c].

    With ratios [c] all positions of a batch are adjusted together, with ratios [M, c] position by position. A batch is
    everything, or ``batch`` of the B samples, drawn without replacement by ``seed``; the last may be smaller.
    """
    checked = check_ratios(ratios, log_scores.shape[1], log_scores.shape[2])
    if batch is None:
        return _by_position(adjustment, log_scores.unsqueeze(0), checked, settings).squeeze(1)
    size = check_count("batch", batch)
    order = torch.randperm(len(log_scores), generator=torch_generator(seed, "adjustment batches"))
    order = order.to(log_scores.device)
    whole = len(order) - len(order) % size
    parts = []
    for members in (order[:whole].view(-1, size), order[whole:].unsqueeze(0)):
        if members.numel():
            parts.append(_by_position(adjustment, log_scores[members], checked, settings).flatten(1, 2))
    shuffled = torch.cat(parts, dim=1)
    return shuffled.index_select(1, order.argsort())


def _by_position(adjustment: Adjustment, batches: Tensor, ratios: FloatArray, settings: Sequence[Setting]) -> Tensor:
    """Batches [b, n, M, c] to [K, b, n, M, c]."""
    if ratios.ndim == 1:
        joined = _applied(adjustment, batches.flatten(1, 2), ratios, settings)
        return joined.reshape(len(settings), *batches.shape)
    columns = [
        _applied(adjustment, batches[:, :, i].contiguous(), ratios[i], settings) for i in range(batches.shape[2])
    ]
    return torch.stack(columns, dim=3)


def _applied(adjustment: Adjustment, batches: Tensor, ratios: FloatArray, settings: Sequence[Setting]) -> Tensor:
    """What the adjustment makes of batches [b, n, c], if it is what it should be: [K, b, n, c]."""
    found: Any = adjustment.apply_batches(batches, ratios, settings)
    shape = (len(settings), *batches.shape)
    where, expected = f"adjustment {adjustment.name}", f"apply to return log-scores of shape [{len(settings)}, n, c]"
    if not isinstance(found, Tensor) or not found.is_floating_point():
        raise InvalidInput(where, expected, f"an object of type {type(found).__name__}")
    if found.shape != shape:
        raise InvalidInput(where, expected, f"shape {[found.shape[0], *found.shape[2:]]} for {batches.shape[1]} rows")
    if found.device.type == "cpu" and not bool((found < float("inf")).all()):
        raise InvalidInput(where, expected, "NaN or +inf")
    return found
