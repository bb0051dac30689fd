"""Algorithm 1 as the paper runs it: Adam on the logits of a softmax."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from nslimb.arrays import FloatArray
from nslimb.checks import check_count
from nslimb.errors import InvalidInput
from nslimb.marginals.likelihood import WeakLikelihood


class AdamOptions(NamedTuple):
    """Settings of ``solver="adam"``: r = softmax(u / temperature), u from ``initial`` [G, c] (ones if None)."""

    learning_rate: float = 1e-3
    temperature: float = 1.0
    initial: Tensor | None = None
    iterations: int = 10_000


def adam_steps(likelihood: WeakLikelihood, options: AdamOptions) -> tuple[FloatArray, int, bool]:
    """The ratios [G, c] after the steps, their number, and whether the gradient has vanished."""
    shape = likelihood.possible.shape
    initial = torch.ones(shape, dtype=torch.float64) if options.initial is None else torch.as_tensor(options.initial)
    if initial.shape != shape and (shape[0] > 1 or initial.shape != shape[1:]):
        raise InvalidInput("adam.initial", f"shape {list(shape)}", f"shape {list(initial.shape)}")
    if not options.temperature > 0 or not options.learning_rate > 0:
        given = f"{options.learning_rate} and {options.temperature}"
        raise InvalidInput("adam", "a learning rate and a temperature above 0", given)
    steps = check_count("adam.iterations", options.iterations)
    logits = initial.to(torch.float64).reshape(shape).clone().requires_grad_()
    impossible = torch.from_numpy(~likelihood.possible)
    positions = torch.from_numpy(likelihood.positions)
    seen = torch.from_numpy(likelihood.shares > 0)
    shares = torch.from_numpy(likelihood.shares)[seen]
    optimizer = torch.optim.Adam([logits], lr=options.learning_rate)
    for _ in range(steps):
        log_ratios = (logits / options.temperature).masked_fill(impossible, float("-inf")).log_softmax(-1)
        loss = -(shares * likelihood.log_probs(log_ratios[positions].unsqueeze(0))[0, seen]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        scaled = (logits / options.temperature).masked_fill(impossible, float("-inf"))
        # Near a maximum the gradient on the logits vanishes.
        converged = bool(logits.grad is not None and logits.grad.abs().max() * options.temperature < 1e-5)
        return scaled.softmax(-1).numpy(), steps, converged
