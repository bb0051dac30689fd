"""One pass from the outcomes back to all first states of a diagram: what samples with the same scores share."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from nslimb.sigma.passes import log_total


def log_sum_from_roots(log_scores: Tensor, tables: Sequence[Tensor], positions: Sequence[int], outcomes: int) -> Tensor:
    """log P(outcome) from every first state: [B, M, c] -> [B, first states, outcomes], differentiable.

    ``tables[i]`` [states + 1, c] are the targets of layer i; their last row, and -1, stand for dead ends.
    """
    scores = log_scores.permute(1, 2, 0)
    reached = scores.new_full((outcomes + 1, outcomes, scores.shape[-1]), float("-inf"))
    reached[range(outcomes), range(outcomes)] = 0.0
    for table, position in zip(reversed(tables), reversed(positions), strict=True):
        following = reached[table]  # [states + 1, c, outcomes, B]
        reached = log_total(following + scores[position].unsqueeze(1), dim=1)
    return reached[:-1].permute(2, 0, 1)
