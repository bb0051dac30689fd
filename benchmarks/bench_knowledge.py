"""Knowledge as people have it: what it takes to compile, and the speed of its losses."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from measure import Claim, report, seconds
from rich.console import Console
from rich.table import Table
from torch import Tensor

import nslimb
from nslimb import Sigma
from nslimb.sigma import family
from nslimb.sigma.expression import all_of, any_of, count, maximum, minimum, where


def mnmath(y: Any) -> Any:
    """Two equations of handwritten digits: a + b = c + d, and e f = g h."""
    return y[0] + y[1] == y[2] + y[3], y[4] * y[5] == y[6] * y[7]


def kandinsky(y: Any) -> Any:
    """Three figures of three objects, their shapes and then their colours: all follow one pattern in one of the two."""

    def equal_pairs(objects: Any) -> Any:
        return count(objects[0] == objects[1], objects[1] == objects[2], objects[0] == objects[2])

    parts = [[equal_pairs(y[6 * figure + 3 * k : 6 * figure + 3 * k + 3]) for figure in range(3)] for k in (0, 1)]
    return any_of(all_of(pairs == pattern for pairs in part) for part in parts for pattern in (3, 1, 0))


def bdd_oia(y: Any) -> Any:
    """A car may go forward, must stop, may turn left or right, by 21 things that it sees."""
    green, follow, clear, red, sign, car, person, rider, other = (label == 1 for label in y[:9])
    obstacle = car | person | rider | other
    stop = red | sign | obstacle

    def turn(lane: Any, light: Any, following: Any, no_lane: Any, blocked: Any, solid_line: Any) -> Any:
        return (lane | light | following) & ~(no_lane | blocked | solid_line)

    left, right = (turn(*(label == 1 for label in y[start : start + 6])) for start in (9, 15))
    possible = ~(red & green) & (clear != obstacle)
    return where(possible, ((green | follow | clear) & ~stop, stop, left, right), None)


def addition(y: Any) -> Any:
    """The sum of two numbers of three digits, as one of 1,999 values."""
    first, second = (100 * a + 10 * b + c for a, b, c in (y[:3], y[3:]))
    return first + second


KNOWLEDGE: dict[str, tuple[Callable[[Any], Any], list[int], float]] = {
    "MNMath": (mnmath, [10] * 8, 0.2),
    "Kandinsky": (kandinsky, [3] * 18, 0.4),
    "BDD-OIA": (bdd_oia, [2] * 21, 0.4),
    "MNIST-Add, N = 3": (addition, [10] * 6, 2.0),
}


def compilation() -> list[Claim]:
    """The table of compile times and states; the limits leave room for a busy machine."""
    table = Table(title="Sigma.from_expression")
    for column in ("rule", "label vectors", "weak labels", "states", "widest layer", "ms"):
        table.add_column(column, justify="left" if column == "rule" else "right")
    claims = []
    for name, (function, classes, limit) in KNOWLEDGE.items():
        sigma = Sigma.from_expression(function, classes)
        (taken,) = seconds(lambda f=function, c=classes: Sigma.from_expression(f, c), budget=1.0)
        sizes = (len(sigma.weak_labels), sigma.num_states, max(sigma.diagram.widths))
        table.add_row(name, f"{np.prod(classes, dtype=float):.0e}", *map(str, sizes), f"{taken * 1e3:.1f}")
        claims.append(Claim(f"{name}: compilation, seconds", taken, limit, f"{sigma.num_states} states"))
    Console(width=120).print(table)
    return claims


def loss_step(sigma: Sigma, logits: Tensor, weak: Tensor) -> Callable[[], object]:
    def run() -> None:
        logits.grad = None
        nslimb.semantic_loss(logits.log_softmax(-1), weak, sigma).mean().backward()

    return run


def against_worlds(batch: int = 256) -> Claim:
    """MNMath's loss against a dense matrix of worlds and outcomes for each of its two equations."""
    sigma = Sigma.from_expression(mnmath, [10] * 8)
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(batch, 8, 10, generator=generator).requires_grad_()
    hidden = torch.randint(10, (batch, 8), generator=generator)
    weak = sigma.apply(hidden)
    digits = torch.cartesian_prod(*[torch.arange(10)] * 4)
    holds = (
        digits[:, 0] + digits[:, 1] == digits[:, 2] + digits[:, 3],
        digits[:, 0] * digits[:, 1] == digits[:, 2] * digits[:, 3],
    )
    outcomes = [torch.stack([~truth, truth], dim=1).float() for truth in holds]  # [worlds, outcomes]
    observed = torch.tensor([sigma.weak_labels[s] for s in weak.tolist()]).long()

    def dense() -> None:
        logits.grad = None
        scores = logits.softmax(-1)
        loss = torch.zeros(batch)
        for k in (0, 1):
            worlds = scores[:, 4 * k]
            for i in range(1, 4):
                worlds = (worlds.unsqueeze(2) * scores[:, 4 * k + i].unsqueeze(1)).flatten(1)
            loss = loss - (worlds @ outcomes[k]).gather(1, observed[:, k : k + 1]).squeeze(1).log()
        loss.mean().backward()

    dense()
    expected = logits.grad.clone()  # type: ignore[union-attr]
    step = loss_step(sigma, logits, weak)
    step()
    torch.testing.assert_close(logits.grad, expected, rtol=1e-3, atol=1e-6)
    ours, theirs = seconds(step, dense)
    detail = f"{ours * 1e3:.1f} ms / {theirs * 1e3:.1f} ms ({theirs / ours:.1f} times faster)"
    return Claim(f"MNMath, batch {batch}: diagram / worlds matrices", ours / theirs, 1 / 3, detail)


def moduli(members: int = 32) -> dict[str, Sigma]:
    """Sums of three digits with weights of their own, modulo a number of their own: hardly a state in common."""
    rng = np.random.default_rng(0)
    rules = [(rng.integers(1, 5, size=3).tolist(), int(rng.integers(5, 12))) for _ in range(members)]
    return {
        f"rule {i}": Sigma.from_expression(lambda y, w=w, m=m: sum(map(operator.mul, w, y)) % m, [10] * 3)
        for i, (w, m) in enumerate(rules)
    }


def thresholds(members: int = 32) -> dict[str, Sigma]:
    """Whether the sum, or the spread, of three digits reaches a number of the member's own."""

    def rule(i: int, y: Any) -> Any:
        return sum(y) >= 6 + i // 2 if i % 2 else maximum(y) - minimum(y) >= i // 4 + 1

    return {f"rule {i}": Sigma.from_expression(lambda y, i=i: rule(i, y), [10] * 3) for i in range(members)}


def family_against_loop(what: str, members: dict[str, Sigma], limit: float, batch: int = 64) -> Claim:
    sigma = family(members)
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(batch, 3, 10, generator=generator).requires_grad_()
    hidden = torch.randint(10, (batch, 3), generator=generator)
    names = [f"rule {i % len(members)}" for i in range(batch)]
    weak = sigma.apply(hidden, names)
    own = [(name, [b for b, other in enumerate(names) if other == name]) for name in members]
    alone = [(members[name], rows, members[name].apply(hidden[rows])) for name, rows in own]

    def loop() -> None:
        logits.grad = None
        scores = logits.log_softmax(-1)
        losses = [nslimb.semantic_loss(scores[rows], s, member) for member, rows, s in alone]
        torch.cat(losses).mean().backward()

    single = members["rule 1"]
    step = loss_step(sigma, logits, weak)
    ours, theirs, one = seconds(step, loop, loss_step(single, logits, single.apply(hidden)))
    detail = (
        f"{ours * 1e3:.2f} / {theirs * 1e3:.2f} ms ({theirs / ours:.1f} times faster); one of them {one * 1e3:.2f} ms"
    )
    return Claim(f"{len(members)} {what}, batch {batch}: family / loop over members", ours / theirs, limit, detail)


def candidates(samples: int = 3000) -> Claim:
    """Compile the five best explanations of each sample."""
    rng = np.random.default_rng(0)
    lists = rng.integers(10, size=(samples, 5, 3))
    start = time.perf_counter()
    sigma = Sigma.from_candidates(lists, 10)
    taken = time.perf_counter() - start
    return Claim(f"{samples} lists of candidates: compilation, seconds", taken, 2.0, f"{sigma.num_states} states")


EVEN_ODD = [(0, 6), (2, 8), (4, 6), (4, 8), (1, 5), (3, 7), (1, 9), (3, 9)]


def shortcuts() -> list[Claim]:
    """All maps of ten classes that explain the weak labels, of 10 ** 10."""
    even_odd = EVEN_ODD + [(b, a) for a, b in EVEN_ODD]
    runs: dict[str, tuple[Callable[[], nslimb.theory.Shortcuts], float]] = {
        "MNIST-EvenOdd": (lambda: nslimb.shortcuts(nslimb.sigma.total(2), even_odd), 3.0),
        "MNMath": (lambda: nslimb.shortcuts(Sigma.from_expression(mnmath, [10] * 8)), 3.0),
        "MAX-5, 3,000 samples": (lambda: nslimb.shortcuts(nslimb.sigma.maximum(5), samples=3000, budget=1), 3.0),
    }
    claims = []
    for name, (run, limit) in runs.items():
        (taken,) = seconds(run, budget=0.5)
        claims.append(Claim(f"{name}: shortcuts, seconds", taken, limit, f"{run().count} maps"))
    return claims


def main() -> None:
    claims = [
        *compilation(),
        against_worlds(),
        family_against_loop("thresholds", thresholds(), 1 / 5),
        family_against_loop("moduli", moduli(), 1 / 2),
        candidates(),
        *shortcuts(),
    ]
    report("knowledge, one thread", claims)


if __name__ == "__main__":
    main()
