"""The paper's conclusions as the results page judges them: each rule on made-up runs that meet it and that do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from published import write_published
from scipy import stats

from nslimb.experiment.results import claims, judges
from nslimb.experiment.results.data import Place, Results
from nslimb.experiment.results.judges import State


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return write_published(tmp_path_factory.mktemp("results"))


def changed(results: Results, protocol: str, method: str, adjustment: str, points: float) -> Results:
    """The same results with other accuracies of a method and adjustment."""
    runs = results.runs.copy()
    chosen = (runs["protocol"] == protocol) & (runs["method"] == method) & (runs["adjustment"] == adjustment)
    assert chosen.any()
    runs.loc[chosen, "accuracy"] += points
    return replace(results, runs=runs)


def test_claims_follow_the_numbers(results: Results) -> None:
    assert judges.training_helps(results, "exact").state is State.HOLDS
    assert judges.training_helps(changed(results, "exact", "ilp-alg1", "none", -9), "exact").state is State.FAILS
    records = judges.records_fails(results, "paper")
    assert records == (State.HOLDS, "RECORDS is below SL in 18 of 18 cells; -3.0 (-3.0 to -3.0) on average")
    assert judges.records_fails(results, "exact") == (State.MISSING, "")
    assert judges.records_fails(changed(results, "paper", "records", "none", 9), "paper").state is State.FAILS
    assert judges.testing_helps(results, "paper").state is State.FAILS  # at most 1.5 points
    by_records = judges.testing_helps(changed(results, "paper", "records", "la", 9), "paper")
    assert by_records.state is State.HOLDS
    assert by_records.told.startswith("at most +9.5 points (RECORDS + LA, ")
    assert ", at worst -1.5 points (" in by_records.told
    with_gold = replace(results, runs=results.runs.replace({"method": {"records": "ilp-gold"}}))
    by_gold = judges.testing_helps(changed(with_gold, "paper", "ilp-gold", "la", 9), "paper")
    assert by_gold.state is State.FAILS  # an oracle's gain does not count
    assert "GOLD" not in by_gold.told
    assert judges.testing_does_less(results, "exact").state is State.HOLDS
    assert judges.testing_does_less(changed(results, "exact", "sl-affine", "carot", 9), "exact").state is State.FAILS
    of_other_images = changed(results, "exact", "sl", "carot", 9)  # plain SL is no rival of an augmented program
    assert judges.testing_does_less(of_other_images, "exact").state is State.HOLDS
    assert judges.marginals_accurate(results, "paper").state is State.FAILS
    exact = results.marginals.assign(estimated=results.marginals["true"] + 0.001)
    assert judges.marginals_accurate(replace(results, marginals=exact), "paper").state is State.HOLDS
    assert judges.marginals_accurate(results, "exact").state is State.UNTESTED  # not Algorithm 1's


def test_an_interval_with_both_signs_shows_nothing(results: Results) -> None:
    """RECORDS 9 points above SL in the cells with a steep tail, 3 below elsewhere; oracle: Student's t by scipy."""
    runs = results.runs.copy()
    steep = (runs["protocol"] == "paper") & (runs["method"] == "records") & (runs["rho"].isin(["50", "70"]))
    runs.loc[steep, "accuracy"] += 12
    judged = judges.records_fails(replace(results, runs=runs), "paper")
    gains = [9.0] * 9 + [-3.0] * 9  # three MAX and six SUM cells have a steep tail
    assert judged.state is State.OPEN
    bounds = stats.t.interval(0.95, 17, np.mean(gains), stats.sem(gains))
    assert judged.told.endswith(f"9 of 18 cells; +3.0 ({bounds[0]:+.1f} to {bounds[1]:+.1f}) on average")
    assert bounds[0] < 0 < bounds[1]


def test_a_program_without_a_choice_is_told_and_not_judged(results: Results) -> None:
    """In protocol `paper` MAX and SUM have one proof a sample; Smallest Parent has them all, but runs reduced."""
    for judge in (judges.training_helps, judges.approximate_wins, judges.testing_does_less):
        judged = judge(results, "paper")
        assert judged.state is State.UNTESTED, judge
        assert "one proof" in judged.told
    renamed = replace(results, runs=results.runs.replace({"benchmark": {"sum": "smallest_parent"}}))
    reduced = judges.training_helps(renamed, "paper")
    assert reduced.state is State.UNTESTED
    assert "Smallest Parent ILP(ALG1) +2.0 (+2.0 to +2.0) (reduced, not judged)" in reduced.told
    assert judges.approximate_wins(renamed, "paper").state is State.HOLDS
    below = changed(renamed, "paper", "ilp-emp", "none", -9)
    assert judges.approximate_wins(below, "paper").state is State.FAILS
    two = replace(results, runs=results.runs[(results.runs["M"] == "3") & results.runs["rho"].isin(["0", "5"])])
    assert judges.approximate_wins(two, "paper") == (State.MISSING, "")
    assert judges.training_helps(two, "paper") == (State.MISSING, "")


def test_a_program_that_starts_from_sl_is_measured_against_sl_trained_as_long(results: Results) -> None:
    """SL of as many epochs is a point above both programs on three cells; other settings are told, not judged."""
    plain = results.runs[(results.runs["protocol"] == "paper") & (results.runs["adjustment"] == "none")]
    longer = plain[(plain["method"] == "ilp-emp") & (plain["benchmark"] == "max") & (plain["rho"] == "50")]
    longer = longer[longer["M"] != "2"]
    longer = longer.assign(method="sl-longer", accuracy=longer["accuracy"] + 1)
    held = replace(results, changed=longer, runs=results.runs[results.runs["benchmark"] == "max"])
    judged = judges.training_helps(held, "paper")
    assert judged.state is State.UNTESTED
    assert "ILP(EMP) +4.0 (+4.0 to +4.0); over SL of as many epochs -1.0 (-1.0 to -1.0) in 3 cells" in judged.told
    assert "three proofs" not in judged.told
    for variant, rival, words in (
        ("ilp-three-literal", "sl-longer", "released constraints, 50 epochs, over the SL it starts from"),
        ("ilp-three-literal", "ilp-longer", "over the program with one proof that starts there, 100 epochs"),
        ("ilp-three", "sl-three", "printed constraints, 50 epochs, over the SL of three it starts from"),
    ):
        start = longer.assign(method=rival)
        choosing = longer.assign(method=variant, accuracy=longer["accuracy"] + 5)
        found = judges.training_helps(replace(held, changed=pd.concat([start, choosing])), "paper")
        assert found.state is State.UNTESTED
        assert f"{words}: +5.0 (+5.0 to +5.0) in 3 cells (not judged)" in found.told


def test_carot_is_judged_by_how_its_gain_falls_with_the_error_of_its_ratios(results: Results) -> None:
    errors = judges.distances(results, "paper")
    runs = results.runs.set_index(["benchmark", "M", "rho", "seed"])
    carot = (runs["method"] == "sl") & (runs["adjustment"] == "carot") & (runs["protocol"] == "paper")
    plain = (runs["method"] == "sl") & (runs["adjustment"] == "none") & (runs["protocol"] == "paper")

    def judged(points: float, within: str = "max|sum") -> judges.Judgement:
        """Where CAROT gains so many points a unit of distance, and nothing on other benchmarks."""
        chosen = runs["accuracy"][plain].index.get_level_values("benchmark").str.fullmatch(within)
        values = runs["accuracy"][plain] + points * errors * chosen
        runs.loc[carot, "accuracy"] = values[runs.index[carot]].to_numpy()
        return judges.carot_depends(replace(results, runs=runs.reset_index()), "paper")

    assert judged(-30).state is State.HOLDS
    tables = errors.drop("2", level="M")  # MAX-2 is in no table
    worst = f"at worst by {(-30 * tables).min():+.1f}"
    assert judged(-30).told.startswith(f"CAROT changes 54 of 54 runs, {worst}; over 18 cells the rank correlation")
    assert "its ratios is -1.00 (that it is below 0: p < 0.001, above 0: p = 1.000)" in judged(-30).told
    assert judged(30).state is State.FAILS
    assert judged(0) == (State.UNTESTED, "CAROT changes 0 of 54 runs, at worst by +0.0")
    assert judged(-30, "max").told.startswith("CAROT changes 36 of 54 runs")
    changed_cells = carot & runs.index.isin([cell for cell in runs.index if cell[:3] == ("max", "3", "5")])
    runs.loc[carot, "accuracy"] = runs["accuracy"][plain][runs.index[carot]].to_numpy()
    runs.loc[changed_cells, "accuracy"] -= 5
    alone = judges.carot_depends(replace(results, runs=runs.reset_index()), "paper")
    assert alone == (State.UNTESTED, "CAROT changes 3 of 54 runs, at worst by -5.0")
    place = Place("max", "3", "5")
    ratios = results.at(results.marginals, place, "paper")
    one = ratios[ratios["seed"] == "1"]
    assert errors[(*place, "1")] == pytest.approx((one["estimated"] - one["true"]).abs().sum() / 2)


@pytest.mark.parametrize(
    ("paper", "exact", "expected"),
    [
        (State.HOLDS, State.HOLDS, "holds"),
        (State.FAILS, State.FAILS, "does not hold"),
        (State.MISSING, State.MISSING, "has too few runs to judge"),
        (State.HOLDS, State.FAILS, "holds only in protocol `paper`"),
        (State.FAILS, State.HOLDS, "holds only in protocol `exact`"),
        (State.HOLDS, State.MISSING, "holds in `paper`; has too few runs to judge in `exact`"),
        (State.UNTESTED, State.FAILS, "cannot be tested in `paper`; does not hold in `exact`"),
        (State.OPEN, State.HOLDS, "is not shown in `paper`; holds in `exact`"),
    ],
)
def test_verdicts(paper: State, exact: State, expected: str) -> None:
    assert claims.verdict({"paper": paper, "exact": exact}) == expected
