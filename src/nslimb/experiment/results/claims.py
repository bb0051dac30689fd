"""The paper's conclusions (i) to (vi), each judged by a rule from the published numbers, in both protocols."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

import pandas as pd
from scipy import stats

from nslimb.experiment.chance import Interval, interval, signed
from nslimb.experiment.results.data import CHANGED, PROTOCOLS, TITLES, Place, Results, is_oracle, printed

_CELL = ["benchmark", "M", "rho"]
_PAIR = [*_CELL, "seed"]
_PROGRAMS = ("ilp-emp", "ilp-alg1", "ilp-gold")
_SUBSTANTIAL = 5.0
_NEAR = 0.1  # total variation
_CHANCE = 0.05
_LEAST = 3  # cells that a judgement over cells needs
_FULL = ("max", "sum")  # at the paper's number of samples, with its network
_ONE_PROOF = ("max", "sum", "hwf")  # in protocol `paper`: the program's solution is that proof, whatever the ratios are
_WITH_CHOICE = "ilp-three-literal"  # the program with several proofs, which leave it a choice
_LONGER = "sl-longer"  # SL with as many epochs as a linear program and the SL model that it starts from


class State(Enum):
    """What the runs say of a claim in one protocol."""

    HOLDS = "holds"
    FAILS = "does not hold"
    OPEN = "is not shown"  # it may hold or not: the interval has both
    UNTESTED = "cannot be tested"  # with the settings of this protocol
    MISSING = "has too few runs"


class Judgement(NamedTuple):
    """What the runs say of a claim in a protocol, and the numbers."""

    state: State
    told: str = ""


class Claim(NamedTuple):
    """A conclusion of the paper, the rule it is judged by, and the judge."""

    number: str
    text: str
    rule: str
    judge: Callable[[Results, str], Judgement]


def _above_zero(found: Interval) -> State:
    """Whether a gain is above 0, below it, or its interval has both."""
    return State.HOLDS if found.low > 0 else State.FAILS if found.high < 0 else State.OPEN


def gains(results: Results, protocol: str, one: tuple[str, str], other: tuple[str, str]) -> pd.DataFrame:
    """Accuracy of one method and adjustment less that of another, paired by cell and seed, on the same test images."""
    return _paired(results.comparable[results.comparable["protocol"] == protocol], one, other)


def _paired(runs: pd.DataFrame, one: tuple[str, str], other: tuple[str, str]) -> pd.DataFrame:
    both = [
        runs[(runs["method"] == method) & (runs["adjustment"] == adjustment)][[*_PAIR, "accuracy"]]
        for method, adjustment in (one, other)
    ]
    frame = both[0].merge(both[1], on=_PAIR, suffixes=("", "_other"))
    return frame.assign(gain=frame["accuracy"] - frame["accuracy_other"])[[*_PAIR, "gain"]]


def by_cell(frame: pd.DataFrame) -> pd.Series:
    """Mean gain over seeds, by cell."""
    return frame.groupby(_CELL, sort=False)["gain"].mean()


def training_helps(results: Results, protocol: str) -> Judgement:
    """(i): the linear program against SL by benchmark; where it starts from SL, against SL trained as long."""
    told, states = [], []
    for benchmark, title in TITLES.items():
        for method in _PROGRAMS:
            found = gains(results, protocol, (method, "none"), ("sl", "none"))
            cells = by_cell(found[found["benchmark"] == benchmark])
            fair = by_cell(_as_long(results, protocol, method, benchmark))
            if len(cells) >= _LEAST:
                told.append(f"{title} {printed(method)} {interval(cells).gain}")
                if len(fair) >= 2:
                    told[-1] += f", over SL of as many epochs {interval(fair).gain} in {len(fair)} cells"
                if _has_no_choice(protocol, benchmark):
                    told[-1] += " (one proof, not judged)"
                else:
                    states.append(_above_zero(interval(cells)))
    with_choice = by_cell(_as_long(results, protocol, _WITH_CHOICE, "max"))
    if len(with_choice) >= _LEAST:
        states.append(_above_zero(interval(with_choice)))
        above = f"{interval(with_choice).gain} in {len(with_choice)} MAX cells"
        told.append(f"with {CHANGED[_WITH_CHOICE][1]}, above that model by {above}")
    if not told:
        return Judgement(State.MISSING)
    best = next((state for state in (State.HOLDS, State.OPEN, State.FAILS) if state in states), State.UNTESTED)
    return Judgement(best, "points over SL: " + "; ".join(told))


def _has_no_choice(protocol: str, benchmark: str) -> bool:
    """Whether the linear program has one label vector a sample, and so nothing to decide by ratios."""
    return protocol == "paper" and benchmark in _ONE_PROOF


def _as_long(results: Results, protocol: str, method: str, benchmark: str) -> pd.DataFrame:
    """What a program gains that starts from SL's model over SL trained for the epochs of both, by cell and seed."""
    frames = [frame for frame in (results.comparable, results.changed) if len(frame)]
    runs = pd.concat(frames) if frames else results.comparable
    return _paired(
        runs[(runs["protocol"] == protocol) & (runs["benchmark"] == benchmark)], (method, "none"), (_LONGER, "none")
    )


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
    if all(_has_no_choice(protocol, benchmark) for benchmark, _, _ in cells.index):
        told += "; with one proof a sample both train towards the same label vectors, ILP(EMP) for more epochs"
        return Judgement(State.UNTESTED, told)
    return Judgement(_above_zero(interval(cells)), told)


def testing_helps(results: Results, protocol: str) -> Judgement:
    """(iv), first half: the largest gain of an adjustment in a cell at the paper's size."""
    adjusted = {
        (method, adjustment): _of_full_size(gains(results, protocol, (method, adjustment), (method, "none")))
        for method in results.runs["method"].unique()
        for adjustment in ("la", "carot")
        if not is_oracle(method)
    }
    largest = {which: cells for which, cells in adjusted.items() if len(cells)}
    if not largest:
        return Judgement(State.MISSING)
    which = max(largest, key=lambda name: largest[name].max())
    cells = largest[which].sort_values()
    points, place = float(cells.iloc[-1]), Place(*cells.index.tolist()[-1])
    told = f"at most {signed(points)} points ({printed(*which)}, {place.title})"
    return Judgement(State.HOLDS if points >= _SUBSTANTIAL else State.FAILS, told)


def testing_does_less(results: Results, protocol: str) -> Judgement:
    """(iv), second half: the linear program against CAROT on SL, at the paper's size."""
    carot = _of_full_size(gains(results, protocol, ("sl", "carot"), ("sl", "none")))
    program = _of_full_size(gains(results, protocol, ("ilp-alg1", "none"), ("sl", "none")))
    apart = (program - carot).dropna()
    if len(apart) < _LEAST:
        return Judgement(State.MISSING)
    parts = []
    for benchmark in _FULL:
        shared = [cell for cell in apart.index if cell[0] == benchmark]
        if shared:
            means = f"CAROT {signed(carot[shared].mean())}, ILP(ALG1) {signed(program[shared].mean())}"
            parts.append(f"{TITLES[benchmark]} {means}")
    told = f"over SL {'; '.join(parts)}; the program over CAROT {interval(apart).gain}"
    if all(_has_no_choice(protocol, benchmark) for benchmark, _, _ in apart.index):
        return Judgement(State.UNTESTED, f"{told}; with one proof a sample the program only trains on")
    return Judgement(_above_zero(interval(apart)), told)


def _of_full_size(frame: pd.DataFrame) -> pd.Series:
    return by_cell(frame[frame["benchmark"].isin(_FULL)])


def distances(results: Results, protocol: str) -> pd.Series:
    """Total variation of estimated and true ratios by cell and seed, mean over positions."""
    frame = results.marginals[results.marginals["protocol"] == protocol]
    frame = frame.assign(error=(frame["estimated"].astype(float) - frame["true"].astype(float)).abs() / 2)
    positions = frame.groupby([*_PAIR, "position"], sort=False)["error"].sum()
    return positions.groupby(_PAIR, sort=False).mean()


def carot_depends(results: Results, protocol: str) -> Judgement:
    """(v): what CAROT gains on SL against how far its ratios are off, by rank within each benchmark.

    Runs in which it was not chosen, and so changed nothing, say nothing of it.
    """
    found = gains(results, protocol, ("sl", "carot"), ("sl", "none")).set_index(_PAIR)["gain"]
    both = pd.DataFrame({"gain": found, "error": distances(results, protocol)}).dropna()
    chosen = both[both["gain"] != 0]
    by_benchmark = chosen.groupby("benchmark")
    ranked = by_benchmark.rank(pct=True)[by_benchmark["gain"].transform("size") >= 2 * _LEAST]
    told = f"CAROT changes {len(chosen)} of {len(both)} runs"
    if len(ranked) < 2 * _LEAST or ranked["gain"].nunique() < 2 or ranked["error"].nunique() < 2:
        return Judgement(State.UNTESTED, told) if len(both) else Judgement(State.MISSING)
    tested = {side: stats.spearmanr(ranked["error"], ranked["gain"], alternative=side) for side in ("less", "greater")}
    told += (
        f"; in the {len(ranked)} of benchmarks with {2 * _LEAST} or more of them the rank correlation of its gain and "
        f"the distance of its ratios is {tested['less'].statistic:.2f} ({_probability(tested['less'].pvalue)}); "
        f"at worst {signed(float(chosen['gain'].min()))} points"
    )
    falls, rises = (bool(tested[side].pvalue < _CHANCE) for side in ("less", "greater"))
    return Judgement(State.HOLDS if falls else State.FAILS if rises else State.OPEN, told)


def _probability(value: float) -> str:
    return f"p = {value:.3f}" if value >= 0.0005 else "p < 0.001"


def marginals_accurate(results: Results, protocol: str) -> Judgement:
    """(vi): the distance of Algorithm 1's ratios from the true ones."""
    cells = distances(results, protocol).groupby(_CELL, sort=False).mean()
    if len(cells) < _LEAST:
        return Judgement(State.MISSING)
    near = int((cells <= _NEAR).sum())
    told = (
        f"total variation {cells.mean():.3f} on average, {cells.max():.3f} at worst; at most {_NEAR} in {near} of "
        f"{len(cells)} cells"
    )
    return Judgement(State.HOLDS if cells.mean() <= _NEAR else State.FAILS, told)


CLAIMS = (
    Claim(
        "i",
        "training time mitigation can significantly improve the accuracy",
        "a linear program is above SL on average over the cells of some benchmark, its 95 % interval above 0. With one "
        "proof a sample the program has nothing to decide, so that such benchmarks are told and not judged; the "
        "changed setting that gives it a choice is, against SL of as many epochs",
        training_helps,
    ),
    Claim(
        "ii",
        "state of the art on training time mitigation (RECORDS) might not be appropriate",
        "RECORDS is below SL on average over cells, the 95 % interval below 0",
        records_fails,
    ),
    Claim(
        "iii",
        "approximate techniques for estimating r can sometimes be more effective for training time mitigation",
        "ILP(EMP) is above ILP(ALG1) on average over cells, the 95 % interval above 0; robustness to softmax "
        "reparametrisation is the subject of `nslimb study sensitivity`",
        approximate_wins,
    ),
    Claim(
        "iv, first half",
        "testing time mitigation can substantially improve the accuracy",
        "an adjustment gains five points or more in some cell of MAX or SUM",
        testing_helps,
    ),
    Claim(
        "iv, second half",
        "... but tends to do less than training time mitigation",
        "ILP(ALG1) gains more over SL than CAROT does on average over the cells of MAX and SUM, the 95 % interval "
        "above 0",
        testing_does_less,
    ),
    Claim(
        "v",
        "CAROT may be sensitive to the quality of the estimated ratios",
        "the further the estimated ratios are off, the less CAROT gains on SL: rank correlation within benchmarks "
        "below 0 with p < 0.05, among the runs in which CAROT was chosen",
        carot_depends,
    ),
    Claim(
        "vi",
        "Algorithm 1 offers quite accurate marginal estimates",
        "their total variation from the true ratios is at most 0.1 on average over cells",
        marginals_accurate,
    ),
)


def verdict(states: dict[str, State]) -> str:
    """The judgements of both protocols in words."""
    if len(set(states.values())) == 1:
        return next(iter(states.values())).value
    holds = [protocol for protocol, state in states.items() if state is State.HOLDS]
    if holds and State.FAILS in states.values():
        return f"holds only in protocol `{holds[0]}`"
    return "; ".join(f"{state.value} in `{protocol}`" for protocol, state in states.items())


def section(results: Results) -> str:
    """Each claim, its verdict, the rule and the numbers."""
    text = []
    for claim in CLAIMS:
        found = {protocol: claim.judge(results, protocol) for protocol in PROTOCOLS}
        verdicts = verdict({protocol: judged.state for protocol, judged in found.items()})
        lines = [f"**({claim.number}) {claim.text}: {verdicts}.**", f"Rule: {claim.rule}.", ""]
        lines += [f"- `{protocol}`: {judged.told}." for protocol, judged in found.items() if judged.told]
        text.append("\n".join(lines).rstrip())
    return "\n\n".join(text) + "\n"
