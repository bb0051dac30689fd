"""Whether the weak labels determine the hidden ratios: the rank of Psi's Jacobian, and a search for other ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.optimize import least_squares

from nslimb.arrays import FloatArray
from nslimb.checks import check_count
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.theory.inputs import check_positive_ratios
from nslimb.theory.spaced import of_an_image, space_sums, told_apart

# Two ratio vectors count as different from this total variation on, and their weak ratios as equal up to this.
_APART = 1e-3
_EQUAL = 1e-12
_STARTS = 10
_TINY = 1e-300


@dataclass(frozen=True, eq=False)
class Identifiability:
    """What the weak-label ratios Psi_sigma(r) say about r."""

    locally_identifiable: bool  # no other ratios close to r have the same weak ratios, to first order
    rank: int  # of the Jacobian on the directions that keep the sum of each space; at most c - G for G spaces
    singular_values: FloatArray  # [c - G], falling
    twin: FloatArray | None  # [c]: other ratios with the same weak ratios (None: none was found, which proves nothing)
    twin_error: float  # the largest difference between the weak ratios of r and of its twin; NaN without one


def weak_ratios(sigma: Sigma, ratios: Any) -> FloatArray:
    """Psi_sigma(r) [S]: P(s) for independent labels from r, given that there is a weak label.

    Parameters
    ----------
    sigma
        The symbolic component.
    ratios
        Label ratios [c].

    Returns
    -------
    FloatArray
        [S], of sum 1.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> weak_ratios(Sigma.from_function(max, num_classes=2, arity=2), [0.5, 0.5]).round(12).tolist()
    [0.25, 0.75]
    """
    return _psi(Sigma.check(sigma), check_positive_ratios(ratios, sigma.num_classes))


def identifiability(sigma: Sigma, ratios: Any = None, *, tolerance: float = 1e-9, starts: int = 12) -> Identifiability:
    """Do the weak labels determine r? Locally, by rank; globally, by looking for a twin.

    ``ratios`` r [c] above 0 are uniform if not given. The rank counts singular values of the Jacobian of Psi_sigma at
    r, restricted to sum-free directions, above ``tolerance`` times the largest (or 1). Full rank, c - 1, makes r
    locally identifiable. Where y may be invalid, Psi is conditioned on validity. Where sigma has G spaces, r is that of
    an image at any position, each space keeps its sum, and full rank is c - G.

    A twin is another r' with Psi(r') = Psi(r), searched by least squares from ``starts`` random points of the simplex
    and, where the rank is short, from along the Jacobian's null space; it is returned only if its weak ratios agree to
    1e-12. A twin shows that r is not identifiable, whatever the rank.

    Parameters
    ----------
    sigma
        The symbolic component. Where its spaces share labels, classes are those of all spaces, one after another.
    ratios
        Label ratios [c]; uniform if not given. Where sigma has several spaces also [M, c].
    tolerance
        Of the rank.
    starts
        Of the search for a twin.

    Returns
    -------
    Identifiability
        The ``rank``, whether r is ``locally_identifiable``, and a ``twin`` where one was found.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> from nslimb.sigma import counterexample
    >>> found = identifiability(counterexample(), [0.5, 0.5])
    >>> found.locally_identifiable, found.twin.round(4).tolist()
    (True, [0.6955, 0.3045])

    References
    ----------
    Section 3 of the paper, and its counterexample.
    """
    sigma, ratios = told_apart(Sigma.check(sigma), ratios)
    size = sigma.num_classes
    checked = check_positive_ratios(np.full(size, 1 / size) if ratios is None else of_an_image(ratios, sigma), size)
    if not isinstance(tolerance, float) or not 0 < tolerance < 1:
        raise InvalidInput("tolerance", "a number between 0 and 1", repr(tolerance))
    target = _psi(sigma, checked)
    sums = space_sums(sigma)
    tangent = _tangent(sums)
    full = tangent.shape[1]
    values = np.zeros(full)
    _, found, directions = np.linalg.svd(_jacobian(sigma, checked) @ tangent)
    values[: len(found)] = found[:full]
    rank = int((values > tolerance * max(1.0, values.max(initial=0.0))).sum())
    rng = np.random.default_rng(0)
    first = list(rng.dirichlet(np.ones(size), size=check_count("starts", starts)))
    if rank < full:
        null = tangent @ directions[rank:].T
        reach = [_to_the_border(checked, direction) for direction in (*null.T, *-null.T)]
        first = [checked + 0.9 * step for step in reach] + first
    for start in first:
        twin = _solve(sigma, target, start, sums, sums @ checked)
        error = float(np.abs(_psi(sigma, twin) - target).max())
        if error <= _EQUAL and np.abs(twin - checked).sum() / 2 >= _APART:
            return Identifiability(rank == full, rank, values, twin, error)
    return Identifiability(rank == full, rank, values, None, float("nan"))


def uniform_weak_ratios(sigma: Sigma) -> FloatArray:
    """Ratios r [c] above 0 with Psi_sigma(r) uniform over the weak labels: the paper's Case 2.

    For MAX-M, r_k = ((k + 1) / c)^(1/M) - (k / c)^(1/M). Refuses a sigma for which no such r is found.

    Parameters
    ----------
    sigma
        The symbolic component.

    Returns
    -------
    FloatArray
        Ratios [c].

    Raises
    ------
    InvalidInput
        If no such ratios are found.

    Examples
    --------
    >>> ratios = uniform_weak_ratios(Sigma.from_function(max, num_classes=10, arity=2))
    >>> float(ratios[0].round(6))  # sqrt(1 / 10)
    0.316228
    """
    size, weak = Sigma.check(sigma).num_classes, len(sigma.weak_labels)
    target = np.full(weak, 1 / weak)
    rng = np.random.default_rng(0)
    best = np.inf
    for start in (np.full(size, 1 / size), *rng.dirichlet(np.ones(size), size=_STARTS)):
        ratios = _solve(sigma, target, start, np.ones((1, size)), np.ones(1))
        error = float(np.abs(_psi(sigma, ratios) - target).max())
        if error <= _EQUAL and ratios.min() > 1e-9:
            return ratios
        best = min(best, error)
    given = f"one whose weak ratios were found no closer than {best:.2g} to uniform with all classes above 0"
    raise InvalidInput("sigma", "a sigma whose weak labels are uniform for some ratios", given)


def _tangent(sums: FloatArray) -> FloatArray:
    """An orthonormal basis [c, c - G] of the directions that leave ``sums`` [G, c] as they are."""
    return np.asarray(np.linalg.svd(sums)[2][len(sums) :].T)


def _psi(sigma: Sigma, ratios: FloatArray) -> FloatArray:
    """Psi(r) [S] given that y is valid; r need not sum to 1."""
    log_scores = torch.from_numpy(np.log(np.maximum(ratios, _TINY))).expand(1, sigma.arity, -1)
    return sigma.log_prob(log_scores)[0].softmax(dim=0).numpy()


def _jacobian(sigma: Sigma, ratios: FloatArray) -> FloatArray:
    """The derivative of ``_psi``, [S, c]."""
    with torch.enable_grad():
        rates = torch.from_numpy(np.maximum(ratios, _TINY)).expand(len(sigma.weak_labels), -1).clone().requires_grad_()
        psi = sigma.log_prob(rates.log().unsqueeze(1).expand(-1, sigma.arity, -1)).softmax(dim=1)
        (gradient,) = torch.autograd.grad(psi.diagonal().sum(), rates)
    return gradient.numpy()


def _solve(sigma: Sigma, target: FloatArray, start: FloatArray, sums: FloatArray, kept: FloatArray) -> FloatArray:
    """Ratios whose weak ratios come close to ``target``: least squares within the simplex, then Gauss-Newton steps.

    ``sums`` [G, c] of the ratios are to be as ``kept`` [G].
    """

    def residual(ratios: FloatArray) -> FloatArray:
        return np.append(_psi(sigma, ratios) - target, sums @ ratios - kept)

    def jacobian(ratios: FloatArray) -> FloatArray:
        return np.concatenate([_jacobian(sigma, ratios), sums])

    inside = np.clip(start, 1e-6, 1.0)
    solved = least_squares(
        residual, inside, jac=jacobian, bounds=(0, 1), xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=60
    )
    ratios = solved.x
    for _ in range(4):
        step = np.linalg.lstsq(jacobian(ratios), -residual(ratios), rcond=1e-10)[0]
        polished = np.clip(ratios + step, 0, 1)
        if np.abs(residual(polished)).max() >= np.abs(residual(ratios)).max():
            break
        ratios = polished
    return np.asarray(ratios / ratios.sum())


def _to_the_border(ratios: FloatArray, direction: FloatArray) -> FloatArray:
    """The longest multiple of ``direction`` that keeps the ratios at least 0."""
    falling = direction < 0
    return np.asarray(direction * (ratios[falling] / -direction[falling]).min())
