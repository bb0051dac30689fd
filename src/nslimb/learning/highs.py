"""Linear programs by HiGHS: the one place that imports highspy.

Models are passed and extended in bulk. HiGHS reports trouble in the model's status, not by the return code of a run
(an infeasible model runs "ok" and holds zeros), so the status is what is read here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import highspy
import numpy as np

from nslimb.arrays import FloatArray, IntArray
from nslimb.errors import SolverFailed

# After new columns the last basis is still primal feasible: go on from it by the primal simplex, unperturbed.
_GROWING: dict[str, bool | int | float | str] = {
    "simplex_strategy": 4,
    "presolve": "off",
    "primal_simplex_bound_perturbation_multiplier": 0.0,
}
_OPTIONS: dict[str, bool | int | float | str] = {
    "output_flag": False,
    "threads": 1,
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-9,
}


@dataclass(frozen=True, eq=False)
class Columns:
    """Columns of a program: cost, bounds 0 to ``upper``, and the entries (row, value) of each, one after another."""

    cost: FloatArray
    upper: FloatArray
    start: IntArray  # [n + 1]
    row: IntArray
    value: FloatArray

    def __len__(self) -> int:
        return len(self.cost)


class Solution(NamedTuple):
    """An optimal solution: values of the columns and duals of the rows."""

    objective: float
    columns: FloatArray
    duals: FloatArray


class Model:
    """min cost.x subject to lower <= A x <= upper, 0 <= x <= bounds; grows by columns and keeps its basis."""

    def __init__(
        self,
        columns: Columns,
        row_lower: FloatArray,
        row_upper: FloatArray,
        *,
        integer: bool,
        growing: bool,
        time_limit: float,
    ) -> None:
        self._highs = highspy.Highs()
        for option, value in {**_OPTIONS, **(_GROWING if growing else {}), "time_limit": time_limit}.items():
            _check(self._highs.setOptionValue(option, value), f"option {option}")
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(columns), len(row_lower)
        program.col_cost_ = columns.cost
        program.col_lower_, program.col_upper_ = np.zeros(len(columns)), columns.upper
        program.row_lower_, program.row_upper_ = row_lower, row_upper
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_, program.a_matrix_.index_ = columns.start, columns.row
        program.a_matrix_.value_ = columns.value
        if integer:
            program.integrality_ = [highspy.HighsVarType.kInteger] * len(columns)
        _check(self._highs.passModel(program), "passing the model")
        self._time_limit = time_limit

    def add_columns(self, columns: Columns) -> None:
        """Append columns; the next solve starts from the last basis."""
        status = self._highs.addCols(
            len(columns),
            columns.cost,
            np.zeros(len(columns)),
            columns.upper,
            len(columns.row),
            columns.start[:-1].astype(np.int32),
            columns.row.astype(np.int32),
            columns.value,
        )
        _check(status, "adding columns")

    def set_row_bounds(self, rows: IntArray, lower: FloatArray, upper: FloatArray) -> None:
        """Change the bounds of some rows."""
        status = self._highs.changeRowsBounds(  # type: ignore[attr-defined]
            len(rows), rows.astype(np.int32), lower, upper
        )
        _check(status, "changing row bounds")

    def solve(self) -> Solution | None:
        """The optimum, or None where there is no feasible point; anything else is an error."""
        _check(self._highs.run(), "the run")
        status = self._highs.getModelStatus()
        if status in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible):
            return None
        if status == highspy.HighsModelStatus.kTimeLimit:
            raise SolverFailed(
                f"HiGHS: time limit of {self._time_limit:g} s reached; give fewer proofs, a smaller batch or more time"
            )
        if status != highspy.HighsModelStatus.kOptimal:
            raise SolverFailed(f"HiGHS: expected an optimal solution, got status {status.name}")
        solution = self._highs.getSolution()
        objective = self._highs.getInfo().objective_function_value
        return Solution(objective, np.array(solution.col_value), np.array(solution.row_dual))


def _check(status: highspy.HighsStatus, what: str) -> None:
    if status == highspy.HighsStatus.kError:
        raise SolverFailed(f"HiGHS: {what} failed")
