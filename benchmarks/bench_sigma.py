"""Speed of the decision diagram against LeNet, against its own size, and against listing pre-images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from measure import Claim, report, seconds
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import nslimb
from nslimb import Sigma
from nslimb.networks import lenet

BATCH = 64


def make_batch(sigma: Sigma) -> tuple[Tensor, Tensor]:
    """Logits, and the weak labels of valid label vectors drawn from uniform hidden labels."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(BATCH, sigma.arity, sigma.num_classes, generator=generator).requires_grad_()
    allowed = [np.flatnonzero(accepted) for accepted in sigma.accepted]
    rng = np.random.default_rng(0)
    labels = np.stack([rng.choice(live, size=BATCH) for live in allowed], axis=1)
    return logits, torch.from_numpy(sigma.apply(labels))


def make_step(sigma: Sigma) -> Callable[[], object]:
    """Forward and backward of the exact semantic loss alone."""
    logits, weak = make_batch(sigma)

    def run() -> None:
        logits.grad = None
        nslimb.semantic_loss(logits.log_softmax(-1), weak, sigma).mean().backward()

    return run


class Operations(TorchDispatchMode):
    """Counts what torch dispatches: all of it, and without views and allocations, about one launch each on a GPU.

    On a CPU, where this is measured, a dozen of them check values.
    """

    def __init__(self) -> None:
        super().__init__()
        self.dispatched = self.launched = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        alias = function._schema.returns[0].alias_info if function._schema.returns else None
        is_view = alias is not None and not alias.is_write
        self.dispatched += 1
        self.launched += not (is_view or "empty" in function.__name__)
        return function(*args, **(kwargs or {}))


def operations(name: str, sigma: Sigma, limit: int) -> Claim:
    """How many operations a step of the loss takes, forward and backward."""
    run = make_step(sigma)
    run()
    with Operations() as counted:
        run()
    detail = f"{counted.dispatched} with views and allocations"
    return Claim(f"{name}: torch operations of a loss step", counted.launched, limit, detail)


def network_step(arity: int) -> Callable[[], object]:
    """Forward and backward of LeNet on the batch's own images, with a loss that costs nothing."""
    network = lenet()
    images = torch.randn(BATCH * arity, 1, 28, 28)

    def run() -> None:
        network.zero_grad()
        network(images).mean().backward()

    return run


def enumeration_step(sigma: Sigma) -> Callable[[], object]:
    """The same loss by summing over the listed pre-image of every sample's weak label."""
    logits, weak = make_batch(sigma)
    listed = [torch.from_numpy(sigma.preimage(s)) for s in range(len(sigma.weak_labels))]
    positions = torch.arange(sigma.arity)

    def run() -> None:
        logits.grad = None
        scores = logits.log_softmax(-1)
        losses = [-scores[b][positions, listed[s]].sum(1).logsumexp(0) for b, s in enumerate(weak.tolist())]
        torch.stack(losses).mean().backward()

    return run


def against_network(name: str, sigma: Sigma, limit: float) -> Claim:
    ours, theirs = seconds(make_step(sigma), network_step(sigma.arity))
    detail = f"{ours * 1e3:.2f} ms / {theirs * 1e3:.2f} ms"
    return Claim(f"{name}: exact loss / LeNet, forward + backward", ours / theirs, limit, detail)


def growth(
    name: str, build: Callable[[int], Sigma], limit: float, sizes: tuple[int, ...] = (5, 10, 20, 40), of: str = "M"
) -> Claim:
    times = np.array(seconds(*(make_step(build(size)) for size in sizes), budget=4.0))
    slope = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    detail = ", ".join(f"{of}={n}: {t * 1e3:.1f} ms" for n, t in zip(sizes, times, strict=True))
    return Claim(f"{name}-{of} grows as {of} to the power", slope, limit, detail)


def per_digit() -> Claim:
    """Ten times the digits cost at most ten times as much, and a little for luck."""
    ten, hundred = seconds(*(make_step(nslimb.sigma.addition(digits)) for digits in (10, 100)), budget=4.0)
    detail = f"{hundred * 1e3:.1f} ms / {ten * 1e3:.2f} ms"
    return Claim("MNIST-Add: loss of N = 100 / loss of N = 10", hundred / ten, 11.0, detail)


def main() -> None:
    claims = [
        against_network("MAX-5", nslimb.sigma.maximum(5), 0.2),
        against_network("SUM-7", nslimb.sigma.total(7), 0.2),
        against_network("HWF-7", nslimb.sigma.formula(7), 1.0),
        against_network("HWF-7, left to right", nslimb.sigma.formula(7, precedence=False), 1.0),
        growth("MAX", nslimb.sigma.maximum, 1.2),
        growth("SUM", nslimb.sigma.total, 2.2),
        against_network("MNIST-Add, N = 15", nslimb.sigma.addition(15), 0.1),
        growth("MNIST-Add", nslimb.sigma.addition, 1.1, (12, 25, 50, 100), "N"),
        per_digit(),
        operations("MAX-3", nslimb.sigma.maximum(3), 53),
        operations("SUM-7", nslimb.sigma.total(7), 127),
        operations("HWF-7", nslimb.sigma.formula(7), 271),
        operations("MNIST-Add, N = 1", nslimb.sigma.addition(1), 39),
    ]
    ours, theirs = seconds(make_step(nslimb.sigma.maximum(5)), enumeration_step(nslimb.sigma.maximum(5)))
    detail = f"{ours * 1e3:.2f} ms / {theirs * 1e3:.0f} ms ({theirs / ours:.0f} times faster)"
    claims.append(Claim("MAX-5: diagram / listed pre-images", ours / theirs, 0.01, detail))
    for name, build, limit in (
        ("HWF-7", lambda: nslimb.sigma.formula(7), 3.0),
        ("SUM-40", lambda: nslimb.sigma.total(40), 1.0),
        ("MNIST-Add, N = 100", lambda: nslimb.sigma.addition(100), 1.0),
    ):
        (taken,) = seconds(build)
        claims.append(Claim(f"{name}: compilation, seconds", taken, limit, ""))
    report("sigma as a decision diagram, batch 64, one thread", claims)


if __name__ == "__main__":
    main()
