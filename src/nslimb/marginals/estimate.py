"""Algorithm 1: the maximum-likelihood marginal of the hidden labels from weak labels alone."""

from __future__ import annotations

import warnings
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import FloatArray
from nslimb.errors import InvalidInput
from nslimb.marginals.likelihood import WeakLikelihood
from nslimb.marginals.newton import Stops, climb
from nslimb.sigma.component import Sigma

_MAX_ESCAPES = 5


class NotIdentified(UserWarning):
    """The weak labels do not determine the ratios of some classes."""


class MarginalEstimate(NamedTuple):
    """What the weak labels say about the hidden marginal."""

    ratios: Tensor  # float64 [c], or [M, c] where positions were grouped
    log_likelihood: float  # sum_j p_j log Psi_j: the mean over samples
    iterations: int
    converged: bool
    flat: Tensor  # float64 [d, G, c]: orthonormal directions that the weak labels leave open
    flat_classes: tuple[int, ...]  # the classes that those directions move


class AdamOptions(NamedTuple):
    """Settings of ``solver="adam"``: r = softmax(u / temperature), u from ``initial`` [G, c] (ones if None)."""

    learning_rate: float = 1e-3
    temperature: float = 1.0
    initial: Tensor | None = None
    iterations: int = 10_000


def estimate_marginal(
    weak: Any,
    sigma: Sigma,
    groups: Any = None,
    *,
    counts: bool = False,
    solver: Literal["newton", "adam"] = "newton",
    adam: AdamOptions = AdamOptions(),  # noqa: B008
) -> MarginalEstimate:
    """Maximise sum_j p_j log Psi_sigma(r)_j over the simplex (Algorithm 1), for any sigma.

    ``weak`` holds weak labels as indices [m] or, with ``counts=True``, how often each occurred [S]. ``groups`` gives
    each position's group (``[0, 1, 0]`` for HWF-3: digits and operators apart); each group has ratios of its own, over
    the labels that sigma accepts there.

    ``solver="newton"`` follows the maximisers of l(r) + mu sum_y log r_y as mu falls to 1e-11. Among ratios of equal
    likelihood it so ends at the one closest to uniform, in the sense of KL(uniform || r). ``solver="adam"`` is the
    paper's: gradient steps on softmax logits.

    Directions along which the standard error is at least 1, more than the simplex is wide, are returned as ``flat``
    and their classes named in a warning: there the data says nothing.

    >>> sigma = Sigma.from_function(max, num_classes=3, arity=2)
    >>> estimate_marginal([10, 30, 60], sigma, counts=True).ratios.square()[0]  # r_0 ** 2 = P(s = 0)
    tensor(0.1000, dtype=torch.float64)
    """
    likelihood = WeakLikelihood.from_weak(weak, Sigma.check(sigma), groups, counts)
    if solver not in ("newton", "adam"):
        raise InvalidInput("solver", "'newton' or 'adam'", repr(solver))
    with torch.inference_mode(False), torch.enable_grad():
        solved = best_start(likelihood) if solver == "newton" else _adam(likelihood, adam)
        ratios, iterations, converged = solved
        flat = flat_directions(likelihood, ratios)
    weight = (flat**2).sum(axis=(0, 1))
    classes = tuple(np.flatnonzero(weight > 0.25 * weight.max()).tolist()) if len(flat) else ()
    if classes:
        warnings.warn(
            f"{likelihood.samples:.0f} weak labels of {sigma!r} leave {len(flat)} direction(s) of the marginal open, "
            f"among the classes {', '.join(map(str, classes))}: their ratios are the closest to uniform that fit",
            NotIdentified,
            stacklevel=2,
        )
    by_position = ratios[0] if groups is None else ratios[likelihood.positions]
    return MarginalEstimate(
        ratios=torch.from_numpy(np.ascontiguousarray(by_position)),
        log_likelihood=likelihood.value(ratios),
        iterations=iterations,
        converged=converged,
        flat=torch.from_numpy(flat),
        flat_classes=classes,
    )


def flat_directions(likelihood: WeakLikelihood, ratios: FloatArray) -> FloatArray:
    """Orthonormal directions [d, G, c] of the simplex along which the standard error is at least 1.

    The expected information is samples * sum_j (dPsi_j)(dPsi_j)^T / Psi_j, restricted to changes that keep every
    group's sum; where the Jacobian of Psi loses rank it is 0 along some direction, for any number of samples.
    """
    floor = np.where(likelihood.possible, np.maximum(ratios, 1e-12), 0.0)
    weak = np.arange(len(likelihood.shares))
    log_psi, counts = likelihood.log_psi_and_counts(floor, weak)
    slopes = np.divide(counts, floor, out=np.zeros_like(counts), where=floor > 0) * np.exp(log_psi / 2)[:, None, None]
    tangent = _tangent(likelihood)
    _, singular, axes = np.linalg.svd(slopes.reshape(len(weak), -1) @ tangent)
    information = likelihood.samples * np.pad(singular, (0, len(axes) - len(singular))) ** 2
    return np.asarray(axes[information <= 1.0] @ tangent.T).reshape(-1, *likelihood.possible.shape)


def _tangent(likelihood: WeakLikelihood) -> FloatArray:
    """An orthonormal basis [G * c, d] of the changes that keep each group's sum and leave impossible labels alone."""
    constraints = []
    for group, possible in enumerate(likelihood.possible):
        row = np.zeros(likelihood.possible.shape)
        row[group, possible] = 1
        constraints.append(row.reshape(-1))
    fixed = np.eye(likelihood.possible.size)[~likelihood.possible.reshape(-1)]
    rows = np.concatenate([np.array(constraints), fixed])
    return np.asarray(np.linalg.svd(rows)[2][len(rows) :].T)


def best_start(likelihood: WeakLikelihood) -> tuple[FloatArray, int, bool]:
    """Newton from the uniform ratios, and from others where that is not good enough.

    A point where the likelihood still curves up in some direction (parity is symmetric at uniform ratios) is left to
    both sides. Where the fit is worse than chance allows, ratios that favour one class are tried too.
    """
    uniform = likelihood.uniform
    best = _climb(likelihood, uniform[None])
    spent = int(best.iterations[0])
    for _ in range(_MAX_ESCAPES):
        if not best.curves_up[0]:
            break
        moved = [_shifted(likelihood, best.ratios[0], sign * best.upward[0]) for sign in (0.5, -0.5)]
        others = _climb(likelihood, np.stack(moved))
        spent += int(others.iterations.sum())
        tried = Stops.joined([best, others])
        best = tried.only(int(np.argmax(tried.values - 1e-9 * tried.curves_up)))
    if misfit(likelihood.shares, likelihood.samples, best.values[0]) > chance(likelihood):
        groups, labels = np.nonzero(likelihood.possible)
        starts = np.repeat(uniform[None], len(groups), axis=0)
        starts[np.arange(len(groups)), groups] *= 0.5
        starts[np.arange(len(groups)), groups, labels] += 0.5
        others = _climb(likelihood, starts)
        spent += int(others.iterations.sum())
        if others.values.max() > best.values[0] + 1e-9:
            best = others.only(int(np.argmax(others.values)))
    return best.ratios[0], spent, bool(best.converged[0] and not best.curves_up[0])


def misfit(shares: FloatArray, samples: float, value: float) -> float:
    """Half the deviance: what the best possible fit has above l(R), over all samples, in nats."""
    seen = shares[shares > 0]
    return samples * (float(seen @ np.log(seen)) - value)


def chance(likelihood: WeakLikelihood) -> float:
    """More misfit than chance allows where the model holds, by three deviations of a chi-squared."""
    size = len(likelihood.shares)
    return float(size / 2 + 3 * np.sqrt(size / 2))


def _climb(likelihood: WeakLikelihood, starts: FloatArray) -> Stops:
    return climb(likelihood, np.repeat(likelihood.shares[None], len(starts), axis=0), starts)


def _shifted(likelihood: WeakLikelihood, ratios: FloatArray, relative: FloatArray) -> FloatArray:
    """The ratios changed by a factor of exp(relative), each group summing to 1 again."""
    moved = ratios.copy()
    moved[likelihood.possible] *= np.exp(relative / np.abs(relative).max())
    return np.asarray(moved / moved.sum(axis=1, keepdims=True))


def _adam(likelihood: WeakLikelihood, options: AdamOptions) -> tuple[FloatArray, int, bool]:
    """The paper's solver: Adam on u with R = softmax(u / temperature)."""
    shape = likelihood.possible.shape
    initial = torch.ones(shape, dtype=torch.float64) if options.initial is None else torch.as_tensor(options.initial)
    if initial.shape != shape and (shape[0] > 1 or initial.shape != shape[1:]):
        raise InvalidInput("adam.initial", f"shape {list(shape)}", f"shape {list(initial.shape)}")
    if not options.temperature > 0 or not options.learning_rate > 0:
        given = f"{options.learning_rate} and {options.temperature}"
        raise InvalidInput("adam", "a learning rate and a temperature above 0", given)
    logits = initial.to(torch.float64).reshape(shape).clone().requires_grad_()
    impossible = torch.from_numpy(~likelihood.possible)
    positions = torch.from_numpy(likelihood.positions)
    seen = torch.from_numpy(likelihood.shares > 0)
    shares = torch.from_numpy(likelihood.shares)[seen]
    optimizer = torch.optim.Adam([logits], lr=options.learning_rate)
    for _ in range(options.iterations):
        log_ratios = (logits / options.temperature).masked_fill(impossible, float("-inf")).log_softmax(-1)
        loss = -(shares * likelihood.sigma.log_prob(log_ratios[positions].unsqueeze(0))[0, seen]).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        scaled = (logits / options.temperature).masked_fill(impossible, float("-inf"))
        # Near a maximum the gradient on the logits vanishes.
        converged = bool(logits.grad is not None and logits.grad.abs().max() * options.temperature < 1e-5)
        return scaled.softmax(-1).numpy(), options.iterations, converged
