"""How many threads torch takes: few, where operations are small.

On a busy host threads of small operations wait for one another: an epoch of LeNet took 24 times as long.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from nslimb.checks import check_count

# Of a network whose operations are large enough to be shared.
_LARGE = 1_000_000
_MOST = 4


def threads_for(network: nn.Module) -> int:
    """One for a network of under a million weights, else up to four; never more than torch's own setting."""
    weights = sum(part.numel() for part in network.parameters())
    return min(torch.get_num_threads(), _MOST if weights >= _LARGE else 1)


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Let torch use so many threads while the block runs."""
    before = torch.get_num_threads()
    torch.set_num_threads(check_count("threads", number))
    try:
        yield
    finally:
        torch.set_num_threads(before)
