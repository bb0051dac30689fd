"""Speed of soft pseudolabels against the network they train, and of the linear program with contradictory ratios."""

from __future__ import annotations

from collections.abc import Callable

import torch
from bench_algorithms import long_tail
from bench_sigma import network_step
from measure import Claim, report, seconds
from torch import Tensor

import nslimb
from nslimb import Sigma

BATCHES = 8
EVEN = [0.1] * 10


def batches(sigma: Sigma, known: float) -> list[tuple[Tensor, Tensor]]:
    """Batches of 64 from a tail of rho = 50: scores of a classifier that leans and knows the labels more or less."""
    generator = torch.Generator().manual_seed(0)
    ratios = torch.from_numpy(long_tail(50, reverse=True).copy())
    leaning = torch.randn(10, generator=generator)
    found = []
    for _ in range(BATCHES):
        labels = torch.multinomial(ratios, 64 * sigma.arity, True, generator=generator).view(64, -1)
        logits = torch.randn(64, sigma.arity, 10, generator=generator) + leaning
        logits += known * torch.nn.functional.one_hot(labels, 10)
        found.append((logits.log_softmax(-1), sigma.apply(labels)))
    return found


def in_turn(run: Callable[[Tensor, Tensor], object], given: list[tuple[Tensor, Tensor]]) -> Callable[[], object]:
    """A step on the next of the batches at each call."""
    calls = iter(range(10**9))
    return lambda: run(*given[next(calls) % len(given)])


def transport() -> list[Claim]:
    """A batch of 64 at MAX-5 against LeNet's forward and backward on its 320 images."""
    sigma, ratios = nslimb.sigma.maximum(5), long_tail(50, reverse=True).copy()
    claims = []
    for known, who in ((0.0, "knows nothing"), (3.0, "has learned half"), (8.0, "knows all")):
        for pooled in (False, True):
            given = batches(sigma, known)
            passes = [nslimb.soft_pseudolabels(*one, sigma, ratios, pooled=pooled).iterations + 2 for one in given]
            ours, network = seconds(
                in_turn(lambda x, w, p=pooled: nslimb.soft_pseudolabels(x, w, sigma, ratios, pooled=p), given),
                network_step(5),
            )
            claims.append(
                Claim(
                    f"MAX-5, a network that {who}{', pooled' if pooled else ''}: transport / LeNet",
                    ours / network,
                    1.0,
                    f"{ours * 1e3:.1f} ms ({torch.stack(passes).double().mean():.1f} passes) / {network * 1e3:.1f} ms",
                )
            )
    return claims


def program() -> list[Claim]:
    """Ratios of the sliding window's start, which the batches contradict, against the true ones."""
    sigma, ratios = nslimb.sigma.maximum(3), long_tail(50, reverse=True).copy()
    claims = []
    for known, who in ((0.0, "knows nothing"), (8.0, "knows all")):
        given = batches(sigma, known)
        contradicted, met = seconds(
            in_turn(lambda x, w: nslimb.pseudolabels(x, w, sigma, EVEN), given),
            in_turn(lambda x, w: nslimb.pseudolabels(x, w, sigma, ratios), given),
        )
        claims.append(
            Claim(
                f"MAX-3, rho 50, a network that {who}: even ratios / true ones",
                contradicted / met,
                3.0,
                f"{contradicted * 1e3:.0f} ms / {met * 1e3:.0f} ms",
            )
        )
    return claims


def main() -> None:
    report("transport and the linear program, batch of 64, one thread", [*transport(), *program()])


if __name__ == "__main__":
    main()
