"""Bounds that need no solver: Proposition 3, eq. (5), and the condition that the former rests on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nslimb.checks import check_count
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.theory.inputs import check_risks, check_several_classes


def is_m_unambiguous(sigma: Sigma) -> bool:
    """Whether sigma(l, ..., l) differs from sigma(l', ..., l') for any two classes l and l', all of them valid.

    Walks the c diagonal label vectors through the diagram.

    Parameters
    ----------
    sigma
        The symbolic component.

    Returns
    -------
    bool
        Whether it is.

    Examples
    --------
    >>> is_m_unambiguous(Sigma.from_function(max, num_classes=10, arity=3))
    True
    >>> is_m_unambiguous(Sigma.from_function(lambda y: (y[0] - y[1]) % 3, num_classes=3, arity=2))
    False
    """
    diagonal = _diagonal(Sigma.check(sigma))
    return bool((diagonal >= 0).all()) and len(np.unique(diagonal, axis=0)) == sigma.num_classes


def total_risk_bound(sigma: Sigma, partial_risk: Any) -> Any:
    """R(f) <= (c (c - 1))^(1 - 1/M) R_P^(1/M) for M-unambiguous sigma; sqrt(c (c - 1) R_P) for M = 2 (Proposition 3).

    If i is taken for i' != i in all M places, the weak label is wrong. So the sum over i != i' of (r_i H_ii')^M is at
    most R_P, and the total risk, the sum of r_i H_ii', follows by Hoelder's inequality. At most 1; a vector of partial
    risks gives a vector. A sigma that is not M-unambiguous is refused: then R_P = 0 need not mean R = 0, and
    ``class_risk_bounds`` says what is left.

    Parameters
    ----------
    sigma
        An M-unambiguous one.
    partial_risk
        A number, or a vector.

    Returns
    -------
    float or array
        At most 1.

    Raises
    ------
    InvalidInput
        If sigma is not M-unambiguous.

    Examples
    --------
    >>> round(total_risk_bound(Sigma.from_function(max, num_classes=10, arity=2), 0.001), 3)
    0.3

    References
    ----------
    Proposition 3 of the paper.
    """
    risks = check_risks("partial_risk", partial_risk)
    if not is_m_unambiguous(check_several_classes(sigma)):
        raise InvalidInput("sigma", "an M-unambiguous sigma", f"one with {_ambiguity(sigma)}")
    pairs, arity = sigma.num_classes * (sigma.num_classes - 1), sigma.arity
    bound = np.minimum(1.0, pairs ** (1 - 1 / arity) * risks ** (1 / arity))
    return bound if risks.ndim else float(bound)


def generalisation_bound(
    sigma: Sigma, empirical_risk: Any, samples: int, natarajan_dimension: int, delta: float = 0.05
) -> Any:
    """R_P is at most this with probability 1 - delta, eq. (5):

        empirical risk + sqrt(2 log(e m_P / d) / (m_P / d)) + sqrt(log(1 / delta) / (2 m_P)),
        d = 2 d_F log(6 M c^2 d_F / e),

    for ``samples`` m_P and ``natarajan_dimension`` d_F of the classifiers. d bounds the VC dimension of the partial
    loss (the paper's proof); the printed m_P/2d_F log(...) means m_P / d. At most 1, which it is wherever m_P < d.
    Put it in the place of ``partial_risk`` of ``class_risk_bounds`` for bounds from data.

    Parameters
    ----------
    sigma
        The symbolic component.
    empirical_risk
        The share of wrong weak labels in the sample.
    samples
        m_P.
    natarajan_dimension
        d_F, of the classifiers.
    delta
        The probability that the bound may fail.

    Returns
    -------
    float or array
        At most 1.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> sigma = Sigma.from_function(max, num_classes=10, arity=2)
    >>> round(generalisation_bound(sigma, 0.01, samples=1_000_000, natarajan_dimension=10), 3)
    0.068

    References
    ----------
    Eq. (5) of section 3 of the paper.
    """
    risks = check_risks("empirical_risk", empirical_risk)
    m = check_count("samples", samples)
    dimension = check_count("natarajan_dimension", natarajan_dimension)
    if isinstance(delta, bool) or not isinstance(delta, (int, float, np.floating)) or not 0 < delta < 1:
        raise InvalidInput("delta", "a number between 0 and 1", repr(delta))
    sigma = Sigma.check(sigma)
    d = 2 * dimension * math.log(6 * sigma.arity * sigma.num_classes**2 * dimension / math.e)
    if m < d:
        return np.ones(risks.shape) if risks.ndim else 1.0
    spread = math.sqrt(2 * math.log(math.e * m / d) * d / m) + math.sqrt(math.log(1 / delta) / (2 * m))
    bound = np.minimum(1.0, risks + spread)
    return bound if risks.ndim else float(bound)


def _diagonal(sigma: Sigma) -> np.ndarray:
    """The weak label of (l, ..., l) for every class l, -1 where invalid: [c, L], a sequence or one index (L = 1)."""
    weak = sigma.apply(np.tile(np.arange(sigma.num_classes)[:, None], (1, sigma.arity)))
    return np.asarray(weak).reshape(sigma.num_classes, -1)


def _ambiguity(sigma: Sigma) -> str:
    diagonal = _diagonal(sigma)
    invalid = (diagonal < 0).any(axis=1)
    if invalid.any():
        return f"no weak label for {int(np.argmax(invalid))} repeated"
    same = (diagonal[:, None] == diagonal).all(axis=2)
    first = int(np.argmax(same.sum(axis=1) > 1))
    second = np.flatnonzero(same[first])[1]
    return f"the same weak label for {first} repeated and {second} repeated"
