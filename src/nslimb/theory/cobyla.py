"""Program (2) as the paper solved it: COBYLA ten times, invalid results dropped, the median of the rest."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from nslimb.arrays import FloatArray
from nslimb.sigma.component import Sigma
from nslimb.theory.agreement import Agreement


class CobylaBounds(NamedTuple):
    risks: FloatArray  # [K, c], NaN where no run was valid
    valid: NDArray[np.int64]  # [K, c]: how many runs were


def cobyla_bounds(
    sigma: Sigma, ratios: FloatArray, partial_risks: FloatArray, runs: int = 10, seed: int = 0
) -> CobylaBounds:
    """For every class and partial risk, the median over ``runs`` from random row-stochastic starts.

    A result counts as valid if it lies in [0, 1]; the paper asks no more, so a value need not belong to a feasible H.
    The paper does not give its starts and options; here they are random and SciPy's defaults.
    """
    size = sigma.num_classes
    form = Agreement(sigma, ratios)
    rng = np.random.default_rng(seed)
    results = np.full((len(partial_risks), size, runs), np.nan)
    for k, j, run in np.ndindex(results.shape):
        start = rng.dirichlet(np.ones(size), size=size)
        results[k, j, run] = cobyla_run(form, j, float(partial_risks[k]), start)
    results[~((results >= 0) & (results <= 1))] = np.nan
    valid = np.isfinite(results).sum(axis=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a slice without valid runs has the median NaN
        return CobylaBounds(np.nanmedian(results, axis=2), valid)


def cobyla_run(form: Agreement, label: int, partial_risk: float, start: FloatArray, evaluations: int = 1000) -> float:
    """One run on program (2) from H = ``start`` [c, c]: the risk of class ``label`` at its end, feasible or not.

    COBYLA knows inequalities only, so each equality of (2) is two of them.
    """
    size = form.classes

    def minus_risk(flat: FloatArray) -> float:
        return float(flat[label * size + label] - 1)

    def constraints(flat: FloatArray) -> FloatArray:
        matrix = flat.reshape(size, size)
        equal = np.append(matrix.sum(axis=1) - 1, 1 - form.value(matrix[None])[0] - partial_risk)
        return np.concatenate([flat, equal, -equal])

    solved = minimize(  # type: ignore[call-overload]  # its types know no vector-valued constraints
        minus_risk,
        start.reshape(-1),
        method="COBYLA",
        constraints={"type": "ineq", "fun": constraints},
        options={"maxiter": evaluations},
    )
    return -float(solved.fun)
