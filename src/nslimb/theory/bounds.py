"""Class-specific risk bounds: the paper's program (2), solved locally, certified from above, or by COBYLA."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray

from nslimb.arrays import FloatArray
from nslimb.errors import InvalidInput
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD
from nslimb.sigma.families import Family
from nslimb.theory.agreement import Candidates, MeanAgreement
from nslimb.theory.certificate import ClassCertificate
from nslimb.theory.cobyla import cobyla_bounds
from nslimb.theory.inputs import check_positive_ratios, check_risks, check_several_classes
from nslimb.theory.local import LocalBounds, LocalSolver, check_pairs
from nslimb.theory.relaxation import MAX_VARIABLES, Relaxation
from nslimb.theory.risk import valid_probability
from nslimb.theory.spaced import of_an_image, told_apart


@dataclass(frozen=True, eq=False)
class ClassRiskBounds:
    """What a partial risk says about the risk of each class. Shapes begin with [K] for K partial risks, or without."""

    upper: FloatArray  # [c]: the bound; proven where status is "certified", else the largest value that was found
    local: FloatArray  # [c]: a risk that some H with this partial risk does reach, so Phi is at least this
    gap: FloatArray  # [c]: upper - local, NaN without a certificate; Phi lies in between
    status: NDArray[np.str_]  # [c]: "certified", "local", "cobyla" or "no valid run"
    confusion: FloatArray  # [c, c, c]: for each class the H that reaches ``local``; NaN for COBYLA
    note: str  # why there is no certificate, or ""


def class_risk_bounds(
    sigma: Sigma,
    ratios: Any,
    partial_risk: Any,
    *,
    method: Literal["local", "cobyla"] = "local",
    certify: bool = True,
    shares: Mapping[Hashable, float] | None = None,
) -> ClassRiskBounds:
    """Phi_{sigma,j}(R_P) for every class j: how wrong a classifier with partial risk R_P can be on class j.

        Phi_j(R) = max 1 - H_jj  subject to  R_P(H) <= R,  H >= 0,  H 1 = 1            (program (2) of the paper)

    for independent labels from ``ratios`` r [c], and ``partial_risk`` a number R or a vector of K of them.

    The paper asks for R_P(H) = R. Let V(t) and W(t) be the least and the largest R_P(H) with H_jj = 1 - t. Both are
    continuous and every value between them is taken, so where the solution t here is below 1, V(t) = R, and the two
    programs agree. Only at t = 1 they may not: if also W(1) < R, no H with R_P(H) = R is so wrong on class j. The
    inequality is what a bound needs: with an upper bound of R_P in place of R_P itself (eq. (5)), Phi must not fall.

    ``method="local"`` finds H that are feasible, so ``local`` is at most Phi; ``certify`` adds an ``upper`` that is at
    least Phi, from linear programs at a few t (``Relaxation``, ``ClassCertificate``), where these have
    at most 250,000 variables (arity 2 with up to 26 classes, arity 3 with up to 10); elsewhere ``status`` is "local"
    and ``note`` says so. ``method="cobyla"`` is the paper's procedure: median of ten runs, without a certificate.

    For a family R_P is the mean of its members' partial risks, weighed by the ``shares`` {member: share} of the samples
    that have them (equal ones if not given); the bounds are "local", without a certificate.

    A single label, arity 1, needs no search: Phi_j(R) = min(1, R / r_j), r_j given a valid label, where no other class
    has the weak label of j, else 1.

    Parameters
    ----------
    sigma
        The symbolic component. Where its spaces share labels, classes are those of all spaces, one after another
        (``sigma.by_space().class_names``); to take a class for one of another space helps no classifier.
    ratios
        Label ratios [c]; where sigma has several spaces also [M, c], equal at the positions of a space.
    partial_risk
        A number R, or a vector [K].
    method
        ``"local"``, or ``"cobyla"`` for the paper's procedure.
    certify
        Prove upper bounds.
    shares
        Of the members of a family among the samples.

    Returns
    -------
    ClassRiskBounds
        ``upper`` and ``local`` [c] or [K, c], their ``gap``, ``status`` and ``note``.

    Raises
    ------
    InvalidInput
        If shapes or values do not fit; the message says what was given and what was expected.

    Examples
    --------
    >>> sigma = Sigma.from_function(max, num_classes=10, arity=2)
    >>> bounds = class_risk_bounds(sigma, [0.1] * 10, 0.01)
    >>> bounds.upper.round(3)[[0, 1, 9]].tolist(), bounds.status[0].item()
    ([1.0, 0.414, 0.055], 'certified')

    References
    ----------
    Program (2) of the paper.
    """
    check_several_classes(sigma, families=method != "cobyla")
    sigma, ratios = told_apart(sigma, ratios)
    checked = check_positive_ratios(of_an_image(ratios, sigma), sigma.num_classes)
    risks = check_risks("partial_risk", partial_risk)
    if method not in ("local", "cobyla"):
        raise InvalidInput("method", "'local' or 'cobyla'", repr(method))
    if isinstance(sigma, Family):
        result = _of_family(sigma, checked, np.atleast_1d(risks), _shares(sigma, shares))
        return result if risks.ndim else _first(result)
    if shares is not None:
        raise InvalidInput("shares", "none, as there is one sigma for all samples", repr(shares))
    solve = _cobyla if method == "cobyla" else _single if sigma.arity == 1 else _local
    result = solve(sigma, checked, np.atleast_1d(risks), certify)
    return result if risks.ndim else _first(result)


def _single(sigma: Sigma, ratios: FloatArray, partial_risks: FloatArray, _certify: bool) -> ClassRiskBounds:
    """One label: all errors on class j cost the same, and none where they do not show in the weak label."""
    size = sigma.num_classes
    every = np.arange(size)
    weak = np.asarray(sigma.apply(every[:, None]))
    other = every[:, None] != every
    unseen = other & ((weak[:, None] == weak) | (weak == DEAD)[:, None])  # an invalid j never reaches a learner
    upper = np.minimum(1.0, partial_risks[:, None] * valid_probability(sigma, ratios) / ratios)
    upper[:, unseen.any(axis=1)] = 1.0
    taken_for = np.where(unseen.any(axis=1), unseen.argmax(axis=1), other.argmax(axis=1))
    confusion = np.tile(np.eye(size), (len(partial_risks), size, 1, 1))
    confusion[:, every, every, every] -= upper
    confusion[:, every, every, taken_for] += upper
    return ClassRiskBounds(upper, upper, np.zeros(upper.shape), _all("certified", upper), confusion, "")


def _local(sigma: Sigma, ratios: FloatArray, partial_risks: FloatArray, certify: bool) -> ClassRiskBounds:
    solver = LocalSolver.of(sigma, ratios)
    found = solver.solve(partial_risks)
    variables = Relaxation.variables(sigma)
    if not certify or variables > MAX_VARIABLES:
        note = f"no certificate: {variables} variables are more than {MAX_VARIABLES}" if certify else ""
        unknown = np.full(found.risks.shape, np.nan)
        return ClassRiskBounds(found.risks, found.risks, unknown, _all("local", found.risks), found.confusion, note)
    upper, found = _certify(sigma, ratios, partial_risks, solver, found)
    return ClassRiskBounds(upper, found.risks, upper - found.risks, _all("certified", upper), found.confusion, "")


def _of_family(sigma: Family, ratios: FloatArray, partial_risks: FloatArray, shares: FloatArray) -> ClassRiskBounds:
    """The search with the agreements of all members that occur, averaged."""
    members = [sigma.member(name) for name, share in zip(sigma.members, shares, strict=True) if share > 0]
    for member in members:
        check_pairs(member)
    found = LocalSolver(MeanAgreement(members, shares[shares > 0], ratios)).solve(partial_risks)
    note = "no certificate: the partial risk is the mean of a family's members"
    unknown = np.full(found.risks.shape, np.nan)
    return ClassRiskBounds(found.risks, found.risks, unknown, _all("local", found.risks), found.confusion, note)


def _shares(sigma: Family, shares: Mapping[Hashable, float] | None) -> FloatArray:
    """The share of the samples that each member has, [members]."""
    if shares is None:
        return np.full(len(sigma.members), 1 / len(sigma.members))
    expected = f"a share of at least 0 for each of {', '.join(map(repr, sigma.members))}, to sum to 1"
    if not isinstance(shares, Mapping) or set(shares) != set(sigma.members):
        raise InvalidInput("shares", expected, repr(shares))
    values = np.array([shares[name] for name in sigma.members], dtype=np.float64)
    if not values.min() >= 0 or abs(values.sum() - 1) > 1e-6:
        raise InvalidInput("shares", expected, repr(shares))
    return values


def _certify(
    sigma: Sigma, ratios: FloatArray, partial_risks: FloatArray, solver: LocalSolver, found: LocalBounds
) -> tuple[FloatArray, LocalBounds]:
    relaxation = Relaxation(sigma, ratios)
    pairs = _expected_pairs(sigma, ratios)
    certificates = [ClassCertificate(relaxation, j, pairs[j]) for j in range(sigma.num_classes)]

    def tightened(local: FloatArray) -> FloatArray:
        return np.stack([one.tighten(partial_risks, local[:, j]) for j, one in enumerate(certificates)], axis=1)

    upper = tightened(found.risks)
    if (upper - found.risks).max() > 1e-5:
        # What is optimal for the relaxation is a good start for the search, and the other way round.
        for j, one in enumerate(certificates):
            rows = np.stack(one.rows)
            solver.improve(Candidates(np.full(len(rows), j), rows), np.array(one.order))
        found = solver.solve(partial_risks)
        upper = tightened(found.risks)
        upper = np.stack([one.cut(partial_risks, found.risks[:, j]) for j, one in enumerate(certificates)], axis=1)
    # The local point meets R to 1e-12 only, which counts where Phi is steep.
    return np.maximum(upper, found.risks), found


def _expected_pairs(sigma: Sigma, ratios: FloatArray) -> FloatArray:
    """The expected number of ordered pairs of different positions that both have class j, given a valid y: [c].

    With r_j scaled by z_j, P(valid) is the sum of P(y) prod_j z_j^{N_j} over valid y, N_j counting the positions of
    class j. Its second derivative at z = 1 is the expectation of N_j (N_j - 1), times P(valid).
    """
    size, arity = sigma.num_classes, sigma.arity
    base = torch.from_numpy(np.tile(ratios, (1, arity, 1)))
    scale = torch.ones(size, dtype=torch.float64, requires_grad=True)
    with torch.enable_grad():
        mass = sigma.log_prob((base * scale).log()).exp().sum()
        (first,) = torch.autograd.grad(mass, scale, create_graph=True)
        second = [torch.autograd.grad(first[j], scale, retain_graph=True)[0][j] for j in range(size)]
    return np.array([float(value) for value in second]) / valid_probability(sigma, ratios)


def _cobyla(sigma: Sigma, ratios: FloatArray, partial_risks: FloatArray, certify: bool) -> ClassRiskBounds:
    found = cobyla_bounds(sigma, ratios, partial_risks)
    status = np.where(found.valid > 0, "cobyla", "no valid run")
    nothing = np.full(found.risks.shape, np.nan)
    confusion = np.full((*found.risks.shape, sigma.num_classes, sigma.num_classes), np.nan)
    note = "no certificate: COBYLA's values need not belong to a feasible H" if certify else ""
    return ClassRiskBounds(found.risks, nothing, nothing, status, confusion, note)


def _all(status: str, like: FloatArray) -> NDArray[np.str_]:
    return np.full(like.shape, status)


def _first(many: ClassRiskBounds) -> ClassRiskBounds:
    return ClassRiskBounds(many.upper[0], many.local[0], many.gap[0], many.status[0], many.confusion[0], many.note)
