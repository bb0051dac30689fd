"""What the runs say of the paper's conclusions: a rule for each, on the published numbers of one protocol."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import pandas as pd
from scipy import stats

from nslimb.experiment.chance import Interval, interval, signed
from nslimb.experiment.results.data import CELL, CELL_AND_SEED, FULL, TITLES, Place, Results, printed, without_oracles
from nslimb.experiment.results.gains import by_cell, gains, over_another, over_sl

_PROGRAMS = ("ilp-emp", "ilp-alg1", "ilp-gold")
_SUBSTANTIAL = 5.0
_NEAR = 0.1  # total variation
_CHANCE = 0.05
_LEAST = 3  # cells that a judgement over cells needs
_ONE_PROOF = ("max", "sum", "hwf")  # in protocol `paper`: the program's solution is that proof, whatever the ratios are
# The program with several proofs, which leave it a choice: what it is held against, and how that is told.
_WITH_CHOICE = (
    ("ilp-three", "sl-three", "three proofs, printed constraints, 50 epochs, over the SL of three it starts from"),
    ("ilp-three-literal", "sl-longer", "three proofs, released constraints, 50 epochs, over the SL it starts from"),
    ("ilp-three-literal", "ilp-longer", "the same over the program with one proof that starts there, 100 epochs"),
)
_LONGER = "sl-longer"  # SL with as many epochs as a linear program and the SL model that it starts from


class State(Enum):
    """What the runs say of a claim in one protocol."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "is not shown"  # it may hold or not: the interval has both
    UNTESTED = "cannot be tested"  # with the settings of this protocol
    MISSING = "has too few runs to judge"


class Judgement(NamedTuple):
    """What the runs say of a claim in a protocol, and the numbers."""

    state: State
    told: str = ""


def _above_zero(found: Interval) -> State:
    """Whether a gain is above 0, below it, or its interval has both."""
    return State.HOLDS if found.low > 0 else State.FAILS if found.high < 0 else State.OPEN


def training_helps(results: Results, protocol: str) -> Judgement:
    """(i): the linear program against SL by benchmark; judged at full size, where it has more proofs than one."""
    told, states = [], []
    for benchmark, title in TITLES.items():
        for method in _PROGRAMS:
            found = over_sl(results, protocol, method)
            cells = by_cell(found[found["benchmark"] == benchmark])
            if len(cells) < _LEAST:
                continue
            told.append(f"{title} {printed(method)} {interval(cells).gain}")
            longer = by_cell(over_another(results, protocol, benchmark, method, _LONGER))
            if len(longer) >= 2:
                told[-1] += f"; over SL of as many epochs {interval(longer).gain} in {len(longer)} cells"
            if benchmark not in FULL:
                told[-1] += " (reduced, not judged)"
            elif _has_no_choice(protocol, benchmark):
                told[-1] += " (one proof, not judged)"
            else:
                states.append(_above_zero(interval(cells)))
    if not told:
        return Judgement(State.MISSING)
    for variant, rival, words in _WITH_CHOICE:
        cells = by_cell(over_another(results, protocol, "max", variant, rival))
        if len(cells) >= 2:
            gain = f"{interval(cells).gain} in {len(cells)} cells"
            told.append(f"MAX {printed('ilp-alg1')}, {words}: {gain} (not judged)")
    best = next((state for state in (State.HOLDS, State.OPEN, State.FAILS) if state in states), State.UNTESTED)
    listed = "".join(f"\n    - {one}" for one in told)
    return Judgement(best, f"points over SL, the mean over cells and its interval{listed}")


def _has_no_choice(protocol: str, benchmark: str) -> bool:
    """Whether the linear program has one label vector a sample, and so nothing to decide by ratios."""
    return protocol == "paper" and benchmark in _ONE_PROOF


def records_fails(results: Results, protocol: str) -> Judgement:
    """(ii): RECORDS less SL, over cells."""
    cells = by_cell(gains(results, protocol, ("records", "none"), ("sl", "none")))
    if len(cells) < _LEAST:
        return Judgement(State.MISSING)
    below = int((cells < 0).sum())
    told = f"RECORDS is below SL in {below} of {len(cells)} cells; {interval(cells).gain} on average"
    return Judgement(_above_zero(interval(-cells)), told)


def approximate_wins(results: Results, protocol: str) -> Judgement:
    """(iii): whether the window's ratios serve better than Algorithm 1's, where ratios decide anything."""
    cells = by_cell(gains(results, protocol, ("ilp-emp", "none"), ("ilp-alg1", "none")))
    if len(cells) < _LEAST:
        return Judgement(State.MISSING)
    told = f"ILP(EMP) over ILP(ALG1) {interval(cells).gain} in {len(cells)} cells"
    deciding = _where_ratios_decide(cells, protocol)
    if len(deciding) < _LEAST:
        told += "; with one proof a sample both train towards the same label vectors, in other batches"
        return Judgement(State.UNTESTED, told)
    if len(deciding) < len(cells):
        told += f", in the {len(deciding)} with more than one proof {interval(deciding).gain}"
    return Judgement(_above_zero(interval(deciding)), told)


def _where_ratios_decide(cells: pd.Series, protocol: str) -> pd.Series:
    return cells[[not _has_no_choice(protocol, key[0]) for key in cells.index]]


def testing_helps(results: Results, protocol: str) -> Judgement:
    """(iv), first half: the largest gain of an adjustment in a cell of full size; of the reduced ones it is told."""
    found = _adjusted(results.comparable, protocol)
    full = found[found["benchmark"].isin(FULL)]
    if not len(full):
        return Judgement(State.MISSING)
    points, told = _extreme(full, largest=True)
    told = f"at most {told}, at worst {_extreme(full, largest=False)[1]}"
    reduced = _adjusted(pd.concat([results.comparable, results.changed]), protocol)
    reduced = reduced[~reduced["benchmark"].isin(FULL)]
    if len(reduced):
        told += f"; on the reduced benchmarks, not judged, at most {_extreme(reduced, largest=True)[1]}"
    return Judgement(State.HOLDS if points >= _SUBSTANTIAL else State.FAILS, told)


def _adjusted(runs: pd.DataFrame, protocol: str) -> pd.DataFrame:
    """What each adjustment of a weakly supervised method gains in each run."""
    own = without_oracles(runs[runs["protocol"] == protocol])
    plain = own[own["adjustment"] == "none"]
    both = own[own["adjustment"] != "none"].merge(plain, on=[*CELL_AND_SEED, "method"], suffixes=("", "_plain"))
    return both.assign(gain=both["accuracy"] - both["accuracy_plain"])


def _extreme(found: pd.DataFrame, largest: bool) -> tuple[float, str]:
    """The largest or smallest gain, mean over the seeds of a cell, of those with most seeds there; and in words."""
    groups = found.groupby([*CELL, "method", "adjustment"], sort=False)["gain"]
    means = pd.DataFrame({"gain": groups.mean(), "seeds": groups.size()}).reset_index()
    means = means[means["seeds"] == means.groupby(CELL)["seeds"].transform("max")]
    found_at = means.loc[means["gain"].idxmax() if largest else means["gain"].idxmin()]
    key = tuple(map(str, found_at[[*CELL, "method", "adjustment"]]))
    by_seed = [signed(gain) for gain in groups.get_group(key)]
    seeds = f"by seed {', '.join(by_seed)}" if len(by_seed) > 1 else "one seed"
    points = float(found_at["gain"])
    return points, f"{signed(points)} points ({printed(*key[3:])}, {Place(*key[:3]).title}; {seeds})"


def testing_does_less(results: Results, protocol: str) -> Judgement:
    """(iv), second half: the linear program against CAROT on SL, at the paper's size."""
    carot = _of_full_size(over_sl(results, protocol, "sl", "carot"))
    program = _of_full_size(over_sl(results, protocol, "ilp-alg1"))
    apart = (program - carot).dropna()
    if len(apart) < _LEAST:
        return Judgement(State.MISSING)
    parts = []
    for benchmark in FULL:
        shared = [cell for cell in apart.index if cell[0] == benchmark]
        if shared:
            means = f"CAROT {signed(carot[shared].mean())}, ILP(ALG1) {signed(program[shared].mean())}"
            parts.append(f"{TITLES[benchmark]} {means}")
    told = f"over SL {'; '.join(parts)}; the program over CAROT {interval(apart).gain}"
    if len(_where_ratios_decide(apart, protocol)) < len(apart):
        return Judgement(State.UNTESTED, f"{told}; with one proof a sample the program only trains on")
    return Judgement(_above_zero(interval(apart)), told)


def _of_full_size(frame: pd.DataFrame) -> pd.Series:
    return by_cell(frame[frame["benchmark"].isin(FULL)])


def distances(results: Results, protocol: str) -> pd.Series:
    """Total variation of estimated and true ratios by cell and seed, mean over positions."""
    frame = results.marginals[results.marginals["protocol"] == protocol]
    frame = frame.assign(error=(frame["estimated"].astype(float) - frame["true"].astype(float)).abs() / 2)
    positions = frame.groupby([*CELL_AND_SEED, "position"], sort=False)["error"].sum()
    return positions.groupby(CELL_AND_SEED, sort=False).mean()


def carot_depends(results: Results, protocol: str) -> Judgement:
    """(v): what CAROT gains on SL against how far its ratios are off, by cell, by rank within each benchmark."""
    gained = gains(results, protocol, ("sl", "carot"), ("sl", "none"))
    runs = _in_tables(gained.set_index(CELL_AND_SEED)["gain"])
    both = pd.DataFrame({"gain": runs, "error": distances(results, protocol)}).dropna()
    cells = both.groupby(CELL, sort=False).mean().round(6)  # what ties in the files ties in ranks
    if len(cells) < 2 * _LEAST:
        return Judgement(State.MISSING)
    ranked = cells.groupby("benchmark").transform(_centred_ranks)
    told = (
        f"CAROT changes {int((both['gain'] != 0).sum())} of {len(both)} runs, at worst by {signed(both['gain'].min())}"
    )
    if (cells["gain"] != 0).sum() < 2 * _LEAST or ranked["error"].nunique() < 2:
        return Judgement(State.UNTESTED, told)
    below, above = (stats.spearmanr(ranked["error"], ranked["gain"], alternative=side) for side in ("less", "greater"))
    told += (
        f"; over {len(cells)} cells the rank correlation of its gain and the distance of its ratios is "
        f"{below.statistic:.2f} (that it is below 0: {_probability(below.pvalue)}, above 0: "
        f"{_probability(above.pvalue)})"
    )
    state = State.HOLDS if below.pvalue < _CHANCE else State.FAILS if above.pvalue < _CHANCE else State.OPEN
    return Judgement(state, told)


def _centred_ranks(values: pd.Series) -> pd.Series:
    """Ranks between -1/2 and 1/2, so that groups of other sizes compare; all 0 where the values tie."""
    return (values.rank() - (len(values) + 1) / 2) / len(values)


def _in_tables(runs: pd.Series) -> pd.Series:
    """Runs of the paper's MAX and SUM tables; MAX-2 is in its Figure 1 alone."""
    index = runs.index
    return runs[index.get_level_values("benchmark").isin(FULL) & (index.get_level_values("M") != "2")]


def _probability(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.0005 else "p < 0.001"


def marginals_accurate(results: Results, protocol: str) -> Judgement:
    """(vi): how far Algorithm 1's ratios are from the true ones; in `exact` another estimate's are told."""
    cells = _in_tables(distances(results, protocol)).groupby(CELL, sort=False).mean()
    if len(cells) < _LEAST:
        return Judgement(State.MISSING)
    near = int((cells <= _NEAR).sum())
    told = (
        f"total variation {cells.mean():.3f} on average, {cells.max():.3f} at worst; at most {_NEAR} in {near} of "
        f"{len(cells)} cells"
    )
    if protocol == "exact":
        return Judgement(State.UNTESTED, f"the most even ratios that fit, which are not Algorithm 1's: {told}")
    return Judgement(State.HOLDS if cells.mean() <= _NEAR else State.FAILS, told)
