"""The paper's conclusions (i) to (vi), each judged by a rule from the published numbers, in both protocols."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from nslimb.experiment.results.data import PROTOCOLS, Results
from nslimb.experiment.results.judges import (
    Judgement,
    State,
    approximate_wins,
    carot_depends,
    marginals_accurate,
    records_fails,
    testing_does_less,
    testing_helps,
    training_helps,
)
from nslimb.experiment.results.layout import markdown

_STATES = (
    "*Holds* and *does not hold* take a 95 % interval of the mean over cells (in (v) a test) that leaves out the "
    "contrary, but for the first half of (iv), which asks for one cell, and (vi), which is a mean; *is not shown*: the "
    "interval has both; *cannot be tested*: not with the settings of the protocol. The paper says *can* of (i), (ii) "
    "and (iv) and *sometimes* of (iii): that something holds on average is more."
)


class Claim(NamedTuple):
    """A conclusion of the paper, the rule it is judged by, and the judge."""

    number: str
    text: str
    rule: str
    judge: Callable[[Results, str], Judgement]


CLAIMS = (
    Claim(
        "i",
        "training time mitigation (its linear program) can significantly improve the accuracy",
        "a linear program is above SL on average over the cells of MAX or of SUM, its 95 % interval above 0. With "
        "one proof a sample the program has nothing to decide; that is told and not judged, as is what has another "
        "number of epochs. In `exact` the SL of MAX and SUM trains with the program's augmentation",
        training_helps,
    ),
    Claim(
        "ii",
        "state of the art on training time mitigation (RECORDS) might not be appropriate",
        "RECORDS is below SL on average over cells, the 95 % interval below 0. In `exact` it runs on Smallest Parent "
        "with rho = 50 alone",
        records_fails,
    ),
    Claim(
        "iii",
        "approximate techniques for estimating r can sometimes be more effective for training time mitigation",
        "ILP(EMP) is above ILP(ALG1) on average over cells, the 95 % interval above 0. In `exact` it runs on Smallest "
        "Parent with rho = 50 alone; robustness to softmax reparametrisation is the subject of `nslimb study "
        "sensitivity`",
        approximate_wins,
    ),
    Claim(
        "iv, first half",
        "testing time mitigation can substantially improve the accuracy",
        "an adjustment gains five points or more in some cell of MAX or SUM; HWF and Smallest Parent run reduced and "
        "are not judged",
        testing_helps,
    ),
    Claim(
        "iv, second half",
        "... but tends to do less than training time mitigation (its linear program)",
        "ILP(ALG1), for the paper's training time mitigation, gains more over SL than CAROT does on average over the "
        "cells of MAX and SUM, the 95 % interval above 0",
        testing_does_less,
    ),
    Claim(
        "v",
        "CAROT may be sensitive to the quality of the estimated ratios",
        "the further the estimated ratios are off, the less CAROT gains on SL: rank correlation within benchmarks "
        "below 0 with p < 0.05, over the cells of MAX and SUM, if CAROT changes something in six of them. In `exact` "
        "it is left out where the weak validation samples do not speak for it",
        carot_depends,
    ),
    Claim(
        "vi",
        "Algorithm 1 offers quite accurate marginal estimates",
        "their total variation from the true ratios is at most 0.1 on average over the cells of MAX and SUM. In "
        "`paper` they are those of Adam stopped after 10,000 steps, as published; the likeliest ones, at which it "
        "aims, are further off (decisions: *The most even ratios that fit*)",
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
    """The claims in a table, then one by one: the judgement, the rule, and the numbers of each protocol."""
    lines, text = [["", "the paper's claim", *(f"`{protocol}`" for protocol in PROTOCOLS)]], []
    for claim in CLAIMS:
        found = {protocol: claim.judge(results, protocol) for protocol in PROTOCOLS}
        states = {protocol: judged.state for protocol, judged in found.items()}
        lines.append([f"({claim.number})", claim.text, *(state.value for state in states.values())])
        part = [f"**({claim.number}) {claim.text}: {verdict(states)}.**", f"Rule: {claim.rule}.", ""]
        part += [f"- `{protocol}`: {judged.told}." for protocol, judged in found.items() if judged.told]
        text.append("\n".join(part).rstrip())
    return "\n\n".join([markdown(lines).rstrip(), _STATES, *text]) + "\n"
