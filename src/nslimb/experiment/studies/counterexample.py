"""The paper's counterexample: a marginal that weak labels cannot tell."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.polynomial import Polynomial

from nslimb import sigma as components
from nslimb.arrays import FloatArray
from nslimb.checks import check_count
from nslimb.errors import InvalidInput
from nslimb.experiment.config import Config
from nslimb.experiment.studies.base import Study
from nslimb.plotting import COLOURS, styled, subplots
from nslimb.sigma.component import Sigma

_APART = 1e-6


class Curve(NamedTuple):
    """The ratio of each weak label as a function of t = P(y = 1)."""

    t: FloatArray  # [n], from 0 to 1
    ratios: FloatArray  # [n, S]


def weak_ratio_curve(sigma: Sigma, points: int = 201) -> Curve:
    """P(s) for hidden labels 0 and 1 with ratios (1 - t, t), from the compiled sigma.

    For the counterexample P(s = 1) = t^4 + 6 t^2 (1 - t)^2 + 4 t (1 - t)^3.

    Examples
    --------
    >>> from nslimb.sigma import counterexample
    >>> weak_ratio_curve(counterexample(), points=3).ratios[:, 1].round(12).tolist()
    [0.0, 0.6875, 1.0]
    """
    _check_binary(sigma)
    t = np.linspace(0, 1, check_count("points", points, least=2))
    return Curve(t, _ratios(sigma, t))


def twins(sigma: Sigma, number: int = 5) -> FloatArray:
    """Pairs t < t' [n, 2] with the same ratio of a weak label, for a sigma with two classes and two weak labels.

    P(s = 1) is a polynomial of degree M in t, known from its values at M + 1 points. Where it turns, every value near
    the turn is taken on both sides; the pairs are spread over all values that are taken more than once, as many as
    ``number`` values. Empty where the ratio rises or falls throughout, so that t is identifiable.

    Examples
    --------
    >>> from nslimb.sigma import counterexample, maximum
    >>> twins(counterexample(), number=1).round(4).tolist(), len(twins(maximum(2, num_classes=2)))
    ([[0.2576, 0.573], [0.2576, 0.8615], [0.573, 0.8615]], 0)
    """
    _check_binary(sigma)
    if len(sigma.weak_labels) != 2:
        raise InvalidInput("sigma", "two weak labels", f"{len(sigma.weak_labels)}")
    nodes = 0.5 - 0.5 * np.cos(np.pi * (np.arange(sigma.arity + 1) + 0.5) / (sigma.arity + 1))  # Chebyshev's
    curve = Polynomial.fit(nodes, _ratios(sigma, nodes)[:, 1], deg=sigma.arity, domain=[0, 1])
    turns = curve.deriv().roots()
    turns = np.sort(turns[(np.abs(turns.imag) < 1e-9) & (turns.real > _APART) & (turns.real < 1 - _APART)].real)
    if not len(turns):
        return np.empty((0, 2))
    # Between the values at neighbouring turns and ends the number of solutions does not change.
    levels = np.unique(curve(np.concatenate([[0.0], turns, [1.0]])).round(12))
    between = np.linspace(levels[:-1], levels[1:], check_count("number", number) + 2)[1:-1].reshape(-1)
    pairs = [_pairs(curve, value) for value in between]
    return np.concatenate(pairs) if pairs else np.empty((0, 2))


def _pairs(curve: Any, value: float) -> FloatArray:
    """All pairs of different t in [0, 1] at which the curve has this value."""
    roots = (curve - value).roots()
    real = np.sort(roots[(np.abs(roots.imag) < 1e-7) & (roots.real >= 0) & (roots.real <= 1)].real)
    first, second = np.triu_indices(len(real), k=1)
    apart = real[second] - real[first] > _APART
    return np.asarray(np.stack([real[first], real[second]], axis=1)[apart])


def _ratios(sigma: Sigma, t: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore"):
        scores = torch.from_numpy(np.log(np.stack([1 - t, t], axis=1)))
    joint = sigma.log_prob(scores.unsqueeze(1).expand(-1, sigma.arity, -1)).exp().numpy()
    return np.asarray(joint)


def _check_binary(sigma: Any) -> None:
    if Sigma.check(sigma).num_classes != 2:
        raise InvalidInput("sigma", "two classes", f"{sigma.num_classes}")
    if not sigma.accepted.all() or sum(sigma.preimage_sizes()) != 2**sigma.arity:
        raise InvalidInput("sigma", "a weak label for every label vector", "one with invalid label vectors")


def compute(_config: Config | None = None) -> pd.DataFrame:
    """The weak ratio of the paper's counterexample as a function of the hidden one, and pairs that it cannot tell."""
    sigma = components.counterexample()
    curve = weak_ratio_curve(sigma)
    frame = pd.DataFrame({"t": curve.t, "weak_ratio": curve.ratios[:, -1], "kind": "curve"})
    pairs = twins(sigma)
    places = np.interp(pairs, curve.t, curve.ratios[:, -1])
    marked = [
        pd.DataFrame({"t": pair, "weak_ratio": place, "kind": f"twins {number}"})
        for number, (pair, place) in enumerate(zip(pairs, places, strict=True), start=1)
    ]
    joined: pd.DataFrame = pd.concat([frame, *marked])
    return joined


@styled
def draw(frame: pd.DataFrame) -> Any:
    figure, ((axis,),) = subplots(size=(3.8, 2.9))
    curve = frame[frame["kind"] == "curve"]
    axis.plot(curve["t"], curve["weak_ratio"], color=COLOURS[0])
    for _, pair in frame[frame["kind"] != "curve"].groupby("kind"):
        axis.plot(pair["t"], pair["weak_ratio"], "o--", color=COLOURS[1], markersize=3, linewidth=0.8)
    axis.set(xlabel="hidden ratio t", ylabel="weak ratio", title=r"$t^4 + 6t^2(1-t)^2 + 4t(1-t)^3$")
    return figure


STUDY = Study(compute, draw)
