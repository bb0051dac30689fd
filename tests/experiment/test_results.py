"""The page of results: its numbers recomputed from the CSV files by other means, its judgements on made-up runs."""

from __future__ import annotations

import csv
import re
import shutil
import statistics
from collections import defaultdict
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from published import write_published
from scipy import stats
from scipy.stats import spearmanr

from nslimb.errors import DataError
from nslimb.experiment import places
from nslimb.experiment.chance import interval
from nslimb.experiment.collect import MAIN
from nslimb.experiment.results import changed as changed_settings
from nslimb.experiment.results import costs, difficulty, gains, mitigation, reach, score
from nslimb.experiment.results.data import CHANGED, FOLDER, Place, Results, load, printed
from nslimb.experiment.results.frontier import frontier
from nslimb.experiment.results.layout import table, tables
from nslimb.experiment.results.page import page, write_page
from nslimb.experiment.results.predictions import predict, write_predictions
from nslimb.experiment.results.readme import BEGIN, END, inserted, opening
from nslimb.sigma.library import maximum

ROOT = places.ROOT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("results")
    write_published(made)
    shutil.copy(FOLDER / "predictions.csv", made)
    return made


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return load(folder)


def plain_means(path: Path) -> dict[tuple[str, ...], tuple[float, float]]:
    """Mean and standard deviation by protocol, benchmark, M, rho, method and adjustment, without pandas."""
    values = defaultdict(list)
    with path.open(newline="") as stream:
        for row in csv.DictReader(stream):
            keys = tuple(row[key] for key in ("protocol", "benchmark", "M", "rho", "method", "adjustment"))
            values[keys].append(float(row["accuracy"]))
    spread = {keys: statistics.stdev(found) if len(found) > 1 else float("nan") for keys, found in values.items()}
    return {keys: (statistics.mean(found), spread[keys]) for keys, found in values.items()}


def rows_of(text: str) -> list[list[str]]:
    """A Markdown table as rows of cells."""
    lines = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("| ---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if set(line) - set("|- ")]


def check_tables(results: Results, means: dict[tuple[str, ...], tuple[float, float]]) -> int:
    """Every entry of ours in the tables is the mean and deviation of the CSV file; how many there are."""
    checked = 0
    for place in results.cells():
        head, *body = rows_of(table(results, [place]))
        for column, protocol in ((2, "paper"), (3, "exact")):
            assert f"`{protocol}`" in head[column]
            shown = {row[0]: row[column].strip("*") for row in body}
            for keys, (mean, std) in means.items():
                if keys[:4] == (protocol, *place):
                    spread = "" if np.isnan(std) else f" ± {std:.2f}"
                    changes_nothing = means[(*keys[:5], "none")][0] == mean
                    assert changes_nothing or printed(*keys[4:]) in shown
                    assert shown.get(printed(*keys[4:]), f"{mean:.2f}{spread}") == f"{mean:.2f}{spread}"
                    checked += keys[4] != "supervised" or keys[5] == "none"
    return checked


def test_every_entry_of_the_tables_is_in_the_csv_file(folder: Path, results: Results) -> None:
    means = plain_means(folder / "runs.csv")
    without = {
        keys: value for keys, value in means.items() if keys[4:] not in (("supervised", "la"), ("supervised", "carot"))
    }
    assert check_tables(results, without) == len(without) > 400


def test_tables_are_in_the_papers_layout_with_the_best_in_bold(results: Results) -> None:
    titles = [title for title, _ in tables(results)]
    assert titles[:4] == ["MAX-M, no long tail", "MAX-M, rho = 5", "MAX-M, rho = 15", "MAX-M, rho = 50"]
    assert titles[4:] == ["SUM-M, rho = 50", "SUM-M, rho = 70", "HWF-M", "Smallest Parent"]
    head, *body = rows_of(table(results, [Place("max", "3", "50")]))
    assert head[1:] == [f"MAX-3, rho=50: {whose}" for whose in ("the paper", "ours, `paper`", "ours, `exact`")]
    bold = {column: [row[0] for row in body if row[column].startswith("**")] for column in (1, 2, 3)}
    assert bold == {1: ["ILP(EMP) + CAROT"], 2: ["ILP(EMP) + CAROT"], 3: ["recipe + CAROT"]}
    assert body[-3] == ["identifiable ceiling", "-", "97.00", "97.00"]
    assert body[-2] == ["reachable", "-", "67.00", "67.00"]
    assert body[-1][0] == "supervised"
    assert not body[-1][3].startswith("*")


def test_an_adjustment_that_changes_nothing_has_no_row(results: Results) -> None:
    place, keys = Place("max", "3", "50"), ["protocol", "benchmark", "M", "rho", "seed", "method"]
    plain = results.runs[results.runs["adjustment"] == "none"].set_index(keys)["accuracy"]
    runs = results.runs.copy()
    la = (runs["adjustment"] == "la") & (runs["method"] == "sl-affine")
    runs.loc[la, "accuracy"] = plain.reindex(runs.loc[la].set_index(keys).index).to_numpy()
    shown = [row[0] for row in rows_of(table(replace(results, runs=runs), [place]))]
    assert "SL, augmented + LA" not in shown
    assert {"SL, augmented", "SL, augmented + CAROT", "recipe + LA"} <= set(shown)


@pytest.mark.parametrize("published", [True, False])
def test_core_hours_are_those_of_all_files(folder: Path, published: bool) -> None:
    """By grid and protocol, and of the whole; oracle: the CSV file line by line. Every run is timed."""
    where = FOLDER if published else folder
    told = costs.costs(load(where))
    rows = [row for row in rows_of(told)[1:] if row[0] != "all"]
    hours = defaultdict(float)
    with (where / "clock.csv").open(newline="") as stream:
        lines = list(csv.DictReader(stream))
    for line in lines:
        apart = "" if line["grid"] in MAIN.values() else f"`config/{line['grid']}.yaml`"
        hours[apart, f"`{line['protocol']}`"] += float(line["seconds"]) / 3600
    shown = defaultdict(float)
    for title, protocol, _, core, _ in rows:
        shown[title if title.startswith("`config/") else "", protocol] += float(core)
    assert shown.keys() == hours.keys()
    assert len(hours) >= 3
    for key, value in hours.items():
        assert shown[key] == pytest.approx(value, abs=0.00501 * len(rows))
    assert sum(int(row[2]) for row in rows) == len(lines)
    assert f"one thread each, took {sum(hours.values()):.1f} hours together" in told
    kinds = defaultdict(list)
    for line in lines:
        kinds[tuple(line[key] for key in ("grid", "protocol", "benchmark", "M", "method"))].append(
            float(line["seconds"])
        )
    longest, usual = max(
        ((max(values), statistics.median(values)) for values in kinds.values()), key=lambda two: two[0] / two[1]
    )
    assert f"counts {longest / 60:.0f} minutes, where others of its kind took {usual:.0f} s." in told
    keys = ("protocol", "benchmark", "M", "rho", "seed", "method")
    with (where / "runs.csv").open(newline="") as stream:
        runs = {tuple(line[key] for key in keys) for line in csv.DictReader(stream)}
    assert runs == {tuple(line[key] for key in keys) for line in lines if line["grid"] in MAIN.values()}


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 30)), max_size=8), st.lists(st.integers(1, 9), max_size=3))
def test_by_the_clock_no_second_counts_twice(jobs: list[tuple[int, int]], silent: list[int]) -> None:
    """Oracle: the set of seconds in which a job is at work."""
    rows = [*((seconds, begin + seconds) for seconds, begin in jobs), *((seconds, float("nan")) for seconds in silent)]
    frame = pd.DataFrame(rows, columns=["seconds", "ended"], dtype=float)
    busy = {second for seconds, begin in jobs for second in range(begin, begin + seconds)}
    assert costs.by_the_clock(frame) == len(busy) + sum(silent)


def test_the_hours_of_the_whole_are_told_with_what_is_not_known(results: Results) -> None:
    told = costs.costs(results)
    last = rows_of(told)[-1]
    assert last[:3] == ["all", "both", str(len(results.clock))]
    # each job ends 20 s after the one before and takes 40 s; the first begins 40 s before its end
    ordered, apart = (results.clock["ended"].notna() == known for known in (True, False))
    passed = (20 * (ordered.sum() - 1) + 40 + 36 * apart.sum()) / 3600
    assert float(last[4]) == pytest.approx(passed, abs=0.00501)
    assert f"{apart.sum()} runs of before do not tell when they trained" in told
    assert "of before" not in costs.costs(replace(results, clock=results.clock.dropna()))


def test_nothing_has_been_run(tmp_path: Path) -> None:
    assert costs.costs(load(tmp_path)) == "Nothing has been run yet.\n"


def test_the_score_counts_the_papers_entries(results: Results, tmp_path: Path) -> None:
    assert len(results.paper) == 345
    number, other = score.repeated(results)
    assert (number, len(other)) == (108, 9)
    frame = score.compared(results)
    assert len(frame) == 237
    scored = frame[frame["table"].isin(score.SCORED)]
    assert len(scored) == 180
    means, met = plain_means_of(results), 0
    for row in scored.to_dict("records"):
        ours = means["paper", row["benchmark"], row["M"], row["rho"], row["method"], row["adjustment"]]
        met += abs(ours - row["paper_mean"]) <= 2 * max(row["paper_std"], 1)
    assert score.counts(scored) == (met, 180, 180)
    assert 0 < met < 180
    nothing = score.compared(load(tmp_path))
    assert score.counts(nothing) == (0, 0, 237)


def test_what_the_papers_own_sl_would_meet(results: Results) -> None:
    """In place of every method of its cell; oracle: a loop over the paper's file."""
    with (ROOT / "reference" / "tables.csv").open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["table"] in score.SCORED]
    plain = {
        (row["table"], row["M"], row["rho"]): float(row["mean"])
        for row in rows
        if (row["training"], row["adjustment"]) == ("SL", "none")
    }
    met = 0
    for row in rows:
        away = abs(plain[row["table"], row["M"], row["rho"]] - float(row["mean"]))
        met += away <= 2 * max(float(row["std"]), 1)
    assert len(rows) == 180
    assert f"put in for every method of its cell, would meet {met}." in score.section(results, {})


def plain_means_of(results: Results) -> dict[tuple[str, ...], float]:
    keys = ["protocol", "benchmark", "M", "rho", "method", "adjustment"]
    return {tuple(row[key] for key in keys): row["mean"] for row in results.entries.to_dict("records")}


def test_the_score_with_the_best_epoch(results: Results, tmp_path: Path) -> None:
    """Entries without adjustment, each run at its best epoch; oracle: a loop over the rows."""
    epochs = results.epochs.copy()
    epochs["accuracy"] = np.random.default_rng(0).uniform(40, 99, len(epochs)).round(4)
    changed_epochs = replace(results, epochs=epochs)
    frame = score.best_epochs(changed_epochs)
    assert set(frame["adjustment"]) == {"none"}
    ran = frame[frame["mean"].notna()]
    assert len(ran) == 12 * 4 + 6 * 2
    for row in ran.to_dict("records"):
        keys = ("benchmark", "M", "rho", "method")
        tops: dict[str, float] = {}
        for epoch in epochs.to_dict("records"):
            if epoch["protocol"] == "paper" and all(epoch[key] == row[key] for key in keys):
                tops[epoch["seed"]] = max(tops.get(epoch["seed"], 0.0), epoch["accuracy"])
        assert row["mean"] == pytest.approx(sum(tops.values()) / 3)
        assert row["met"] == (abs(row["mean"] - row["paper_mean"]) <= 2 * max(row["paper_std"], 1))
    text = score.section(changed_epochs, {})
    sl, last = ran[ran["method"] == "sl"], plain_means_of(results)
    ends = [last["paper", row["benchmark"], row["M"], row["rho"], "sl", "none"] for row in sl.to_dict("records")]
    met = score.compared(results)
    met = met[(met["method"] == "sl") & (met["adjustment"] == "none") & met["table"].isin(score.SCORED)]
    added = sum(sl["mean"].tolist()) / 18 - sum(ends) / 18
    assert f"| SL | {score.counts(met)[0]} | {score.counts(sl)[0]} | 18 | {added:+.1f} |" in text
    assert "best test accuracy" not in score.section(load(tmp_path), {})


def test_a_changed_setting_is_told_beside_the_entry_and_is_no_row_of_a_table(folder: Path, tmp_path: Path) -> None:
    """Over the seeds that both have; met by the same rule as the score."""
    runs = pd.read_csv(folder / "runs.csv", dtype=str)
    cell = (runs["protocol"] == "paper") & (runs["benchmark"] == "max") & (runs["M"] == "3") & (runs["rho"] == "0")
    plain = runs[cell & (runs["method"] == "sl") & (runs["adjustment"] == "none")].copy()
    plain["accuracy"] = ["50", "80", "90"]
    longer = plain.iloc[1:].assign(method="sl-longer", accuracy=["81.5", "92"])
    elsewhere = plain.assign(method="sl-nll", M="2")  # an entry that the paper does not print
    rest = runs.drop(plain.index)
    pd.concat([rest, plain, longer, elsewhere]).to_csv(tmp_path / "runs.csv", index=False)
    results = load(tmp_path)
    assert set(results.changed["method"]) == {"sl-longer", "sl-nll"}
    assert not results.runs["method"].isin(CHANGED).any()
    (effect,) = changed_settings.effects(results)
    assert (effect.place, effect.method, effect.adjustment) == (Place("max", "3", "0"), "sl", "none")
    assert effect.seeds == 2
    assert (effect.paper, effect.room) == pytest.approx((84.15, 2 * 11.92))
    assert (effect.ours, effect.changed) == pytest.approx((85, 86.75))
    assert effect.met(84.15 - 23.8)
    assert not effect.met(84.15 + 23.9)
    assert "| MAX-3, rho=0 SL | 100 epochs, as in the paper | 2 | 84.2 ± 11.9 | 85.0 | 86.8 | yes | yes |" in (
        score.section(results, {})
    )
    assert "| MAX, SL | 100 epochs, as in the paper | 1 | 1 | 1 |" in changed_settings.section(results)
    assert "sl-longer" not in table(results, [effect.place])
    assert changed_settings.section(load(folder)) == ""


def test_changed_settings_count_the_entries_of_adjustments_too(folder: Path, tmp_path: Path) -> None:
    runs = pd.read_csv(folder / "runs.csv", dtype=str)
    cell = (runs["protocol"] == "paper") & (runs["benchmark"] == "max") & (runs["M"] == "3") & (runs["rho"] == "0")
    plain = runs[cell & (runs["method"] == "sl")].copy()
    plain["accuracy"] = "20"
    longer = plain.assign(
        method="sl-longer", accuracy=plain["adjustment"].map({"none": "84", "la": "84", "carot": "20"})
    )
    pd.concat([runs.drop(plain.index), plain, longer]).to_csv(tmp_path / "runs.csv", index=False)
    text = changed_settings.section(load(tmp_path))
    assert "| MAX, SL | 100 epochs, as in the paper | 3 | 0 | 2 |" in text
    assert text.count("| MAX-3, rho=0 SL |") == 1


def test_the_limits_of_the_score(results: Results) -> None:
    """Within two deviations, and within two points where the paper's deviation is below one."""
    entry = results.distinct[(results.distinct["table"] == "max_full") & (results.distinct["paper_std"] < 1)].iloc[0]
    keys = {key: entry[key] for key in ("benchmark", "M", "rho", "method", "adjustment")}
    for difference, expected in ((2.0, True), (-2.0, True), (2.01, False)):
        row = {**keys, "protocol": "paper", "seed": "1", "accuracy": round(entry["paper_mean"] + difference, 6)}
        alone = replace(results, runs=pd.DataFrame([row]))
        frame = score.compared(alone)
        assert frame["met"].dropna().tolist() == [expected]


def test_a_miss_that_seeds_alone_may_make_is_told(results: Results) -> None:
    """Welch's statistic by hand: (difference)^2 against its variance, with the paper's deviation over three seeds."""
    entry = results.distinct[results.distinct["table"] == "sum"].iloc[0]
    keys = {key: entry[key] for key in ("benchmark", "M", "rho", "method", "adjustment")}
    away = entry["paper_mean"] - 2.5 * entry["paper_std"]
    for spread, seeds, expected in ((0.01, 3, False), (30.0, 3, True), (30.0, 1, False)):
        values = [away - spread, away + spread, away][:seeds] if seeds > 1 else [away]
        rows = [{**keys, "protocol": "paper", "seed": str(seed), "accuracy": one} for seed, one in enumerate(values)]
        alone = replace(results, runs=pd.DataFrame(rows), epochs=results.epochs.iloc[:0])
        frame = score.compared(alone)
        (row,) = frame[frame["met"].notna()].to_dict("records")
        ours, theirs = spread**2 / 3, entry["paper_std"] ** 2 / 3
        freedom = (ours + theirs) ** 2 / (ours**2 / 2 + theirs**2 / 2)
        tail = 2 * stats.t.sf(abs(row["difference"]) / np.sqrt(ours + theirs), freedom)
        assert row["by_seeds"] is expected
        assert seeds == 1 or bool(tail >= 0.05) is expected
        assert (
            "In 1 of them seeds alone may make as much (Welch's test, 5 %)." in score.section(alone, {})
        ) is expected


def test_reasons_are_shown_with_the_misses_they_explain(results: Results, tmp_path: Path) -> None:
    path = tmp_path / "reasons.yaml"
    assert score.read_reasons(path) == {}
    path.write_text("# nothing yet\n")
    assert score.read_reasons(path) == {}
    path.write_text("max_full:\n  sl: Exactly because.\n")
    text = score.section(results, score.read_reasons(path))
    assert re.search(r"\*\*MAX, SL\*\* \(also adjusted\): \d+ of 36 entries missed.* Exactly because\.", text)
    assert "No reason has been shown yet." in text
    path.write_text("maxx:\n  sl: text\n")
    with pytest.raises(DataError, match=r"reasons\.yaml: expected a mapping of tables"):
        score.read_reasons(path)


def test_reasons_leave_the_numbers_to_the_tables() -> None:
    """They are written by hand: a number of a run in them would not follow the runs."""
    texts = [text for group in score.read_reasons(FOLDER / "reasons.yaml").values() for text in group.values()]
    assert texts
    for text in texts:
        assert not re.search(r"\d\.\d|%|\d+ points|per cent", text), text


def test_the_frontier_takes_the_best_that_saw_no_gold_label(results: Results) -> None:
    means, frame = plain_means_of(results), frontier(results).set_index(["benchmark", "M", "rho"])
    for place in results.cells("max", "sum"):
        if place.M == "2":
            continue
        own = [mean for keys, mean in means.items() if keys[1:4] == place and keys[4] != "supervised"]
        paper = results.paper[results.paper["table"].isin(["max_full", "sum"])]
        there = paper[(paper["benchmark"] == place.benchmark) & (paper["M"] == place.M) & (paper["rho"] == place.rho)]
        assert frame.loc[tuple(place), "ours"] == pytest.approx(max(own))
        assert frame.loc[tuple(place), "paper"] == there["paper_mean"].max()
        for column, method in (("recipe", "recipe"), ("recipe_plain", "recipe-plain")):
            assert frame.loc[tuple(place), column] == pytest.approx(means[("exact", *place, method, "none")])
    assert np.isnan(frame.loc[("hwf", "3", "15"), "ours"])
    assert frame.loc[("hwf", "3", "15"), "paper_by"] != "ILP(GOLD)"


def test_of_entries_that_tie_the_one_without_adjustment_is_the_best(results: Results) -> None:
    plain = results.runs[results.runs["adjustment"] == "none"]
    runs = pd.concat([plain.assign(adjustment=adjustment) for adjustment in ("none", "la", "carot")])
    assert not frontier(replace(results, runs=runs))["ours_by"].str.contains(r"\+").any()


def test_adjustments_on_other_test_images_count_by_what_they_change_there(results: Results) -> None:
    """HWF's: formulas give 10 points more than single images, and LA 2 more on the same formulas."""
    place = Place("hwf", "3", "15")
    keys = {"protocol": "exact", **place._asdict(), "seed": "1", "method": "sl"}
    accuracy = {"none": 80.0, "la": 92.0, "carot": 91.0}
    runs = pd.DataFrame([{**keys, "adjustment": name, "accuracy": value} for name, value in accuracy.items()])
    formulas = pd.DataFrame([{**keys, "adjustment": "la", "accuracy": 92.0, "unadjusted_accuracy": 90.0}])
    both = replace(results, runs=pd.concat([results.runs, runs]), formulas=formulas)
    found = both.at(both.comparable, place).set_index("adjustment")["accuracy"]
    assert found.to_dict() == {"none": 80.0, "la": 82.0}  # CAROT's have no such number and are left out
    elsewhere = both.comparable[both.comparable["benchmark"] != "hwf"]
    pd.testing.assert_frame_equal(
        elsewhere.reset_index(drop=True)[list(results.runs)], results.runs.reset_index(drop=True)
    )
    changes = gains.gains(both, "exact", ("sl", "la"), ("sl", "none")).set_index("benchmark")["gain"]
    assert changes["hwf"] == pytest.approx(2.0)
    assert frontier(both).set_index(["benchmark", "M", "rho"]).loc[tuple(place), "ours"] == 80.0
    _, *body = rows_of(table(both, [place]))
    assert [row[0] for row in body if row[3].startswith("**")] == ["SL"]


def test_an_entry_of_fewer_seeds_is_not_the_best(results: Results) -> None:
    place = Place("max", "3", "50")
    best = frontier(results).set_index(["benchmark", "M", "rho"]).loc[tuple(place)]
    lucky = results.at(results.runs, place, "exact").query(
        "method == 'recipe' and adjustment == 'carot' and seed == '3'"
    )
    with_it = replace(results, runs=pd.concat([results.runs, lucky.assign(method="lucky", accuracy=99.9)]))
    again = frontier(with_it).set_index(["benchmark", "M", "rho"]).loc[tuple(place)]
    assert (again["ours"], again["ours_by"]) == (best["ours"], best["ours_by"])


def test_the_ceiling_is_what_weak_labels_allow_of_what_a_network_learns(results: Results) -> None:
    place = Place("max", "4", "15")
    learned = [40 + 6 * label for label in range(10)]  # as published.py has it
    assert reach.reachable(results, place) == pytest.approx(np.mean(learned))
    classes = results.classes.assign(lost=(results.classes["class"].astype(int) < 3).astype(int))
    assert reach.reachable(replace(results, classes=classes), place) == pytest.approx(sum(learned[3:]) / 10)
    paper = (results.classes["protocol"] == "paper") & (results.classes["class"].astype(int) < 5)
    lost_there = replace(results, classes=results.classes.assign(lost=paper.astype(int)))
    assert reach.reachable(lost_there, place) == pytest.approx(np.mean(learned))
    assert reach.reachable(lost_there, place, "paper") == pytest.approx(sum(learned[5:]) / 10)
    assert np.isnan(reach.reachable(results, Place("max", "2", "0")))


def test_what_weak_labels_leave_above_a_method_is_paired_by_seed(results: Results) -> None:
    """A seed whose supervised network has not been trained has no ceiling, and does not count."""
    place, means = Place("max", "4", "15"), plain_means_of(results)
    limit = np.mean([40 + 6 * label for label in range(10)])
    usual = reach.room(results, "sl", "max")
    assert usual[place] == pytest.approx(limit - means[("exact", *place, "sl", "none")])
    low = results.runs.assign(accuracy=results.runs["accuracy"] - 9 * (results.runs["seed"] == "2"))
    lower = replace(results, runs=low)
    assert reach.room(lower, "sl", "max")[place] == pytest.approx(usual[place] + 3)
    known = results.classes[(results.classes["method"] != "supervised") | (results.classes["seed"] != "2")]
    without = [reach.room(replace(each, classes=known), "sl", "max")[place] for each in (results, lower)]
    assert without[0] == without[1]
    assert reach.room(results, "sl", "sum").index.get_level_values("benchmark").unique() == ["sum"]
    told = mitigation.section(lower)
    rooms = (reach.room(lower, method, "max").mean() for method in ("sl-affine", "sl", "recipe"))
    beside, plain, left = (f"{each:.1f}" for each in rooms)
    assert f"leave {beside} points above SL with the same augmentation and {plain} points above plain SL" in told
    assert f"and {left} above the recipe" in told


def test_what_adjustments_change_is_told_by_benchmark(results: Results) -> None:
    """Oracle: means over seeds, without pandas."""
    means, changes = plain_means_of(results), []
    for key, mean in means.items():
        if key[0] == "exact" and key[1] == "sum" and key[4] != "supervised" and key[5] == "carot":
            changes.append(mean - means[(*key[:5], "none")])
    told = f"{statistics.mean(changes):+.3f} ({min(changes):+.1f}, {max(changes):+.1f}, {len(changes)})"
    text = mitigation.section(results)
    row = next(line for line in rows_of(text) if line[0] == "CAROT")
    assert told in row
    assert "CAROT" not in mitigation.section(replace(results, runs=results.runs[results.runs["adjustment"] == "none"]))


def test_what_mitigation_is_worth_is_told_with_intervals(results: Results) -> None:
    told = mitigation.section(results)
    means = plain_means_of(results)
    places = [place for place in results.cells("max") if place.M != "2"]
    recipe, augmented, plain = (
        statistics.mean(means[("exact", *place, method, "none")] for place in places)
        for method in ("recipe", "sl-affine", "sl")
    )
    over = recipe - augmented
    assert f"**MAX, 12 cells: the recipe is {over:+.1f} points over SL with the same augmentation (95 %" in told
    assert f"and {recipe - plain:+.1f} points over plain SL" in told
    unaugmented = statistics.mean(means[("exact", *place, "recipe-plain", "none")] for place in places)
    assert f"as they are, it is {unaugmented - plain:+.1f} points above SL (95 %" in told
    balanced = statistics.mean(means[("exact", *place, "sl-balanced", "none")] for place in places)
    assert f"It is {recipe - balanced:+.1f} points above weights by weak label alone (SL-balanced) (95 %" in told
    rows = {row[0]: row for row in rows_of(told.split("Cell by cell")[0])}
    cells = gains.by_cell(gains.gains(results, "exact", ("ilp-alg1", "none"), ("sl-affine", "none")))
    mean, low, high = interval(cells[cells.index.get_level_values("benchmark") == "sum"])
    assert rows["ILP(ALG1)"][4:6] == [f"{mean:+.1f}", f"{low:+.1f} to {high:+.1f}"]
    assert "sl-affine" not in rows


def test_grids_of_their_own_are_compared_with_sl(results: Results) -> None:
    told = mitigation.section(results)
    assert "### Other seeds" not in told
    ablation = {row[0]: row for row in rows_of(told.split("### What each part is worth")[1].split("###")[0])}
    plain = "SL, not augmented"
    assert ablation[""] == ["", "seeds", "SL", "bias", plain, "recipe", "bias - SL", "recipe - SL"]
    assert ablation["MAX-4, rho=50"] == ["MAX-4, rho=50", "3", "82.0", "84.0", "80.0", "88.0", "+2.0", "+6.0"]
    assert "*Recipe* over *SL, not augmented*: mean over rows +6.0 (-19.4 to +31.4)." in told  # 4 and 8
    assert "all methods, SL too, train on augmented images but those that say so" in told
    assert ablation["mean over rows (its 95 % interval)"][-1].startswith("+4.5 (")
    noise = {row[0]: row for row in rows_of(told.split("### Wrong weak labels")[1])}
    assert noise["MAX-3, rho=50, 5 % wrong"] == ["MAX-3, rho=50, 5 % wrong", "3", "72.0", "75.0", "+3.0"]


def test_the_recipe_is_told_of_reduced_benchmarks_with_and_without_augmentation(results: Results) -> None:
    keys = {"protocol": "exact", "benchmark": "hwf", "M": "5", "rho": "15", "seed": "1", "adjustment": "none"}
    rows = [{**keys, "method": name, "accuracy": value} for name, value in (("sl", 90.0), ("recipe", 87.0))]
    runs = pd.concat([results.runs, pd.DataFrame(rows)])
    told = mitigation.section(replace(results, runs=runs))
    assert "On the reduced benchmarks the recipe is above plain SL by: HWF-5, rho=15 -3.0.\n" in told
    plain = pd.DataFrame([{**keys, "method": "recipe-plain", "accuracy": 91.0}])
    told = mitigation.section(replace(results, runs=pd.concat([runs, plain])))
    assert "HWF-5, rho=15 -3.0. Trained on formulas as they are: HWF-5, rho=15 +1.0.\n" in told
    assert "On the reduced benchmarks" not in mitigation.section(results)


def test_the_recipes_epochs_are_paired_with_those_of_its_rivals(results: Results) -> None:
    """Made up: it reaches 97 % after 10 epochs, SL after 40 in one cell and 20 in another; a median of 0.375."""
    keys = {"protocol": "exact", "benchmark": "sum", "rho": "50", "seed": "1", "class_accuracy": "", "loss": 1.0}
    reached = [("5", "recipe", 10), ("5", "sl", 40), ("5", "sl-affine", 20), ("5", "recipe-plain", 24)]
    reached += [("6", "recipe", 10), ("6", "sl", 20), ("6", "sl-affine", 20), ("6", "recipe-plain", 12)]
    rows = [
        {**keys, "M": arity, "method": method, "epoch": epoch, "accuracy": accuracy, "validation_weak_accuracy": 90.0}
        for arity, method, last in reached
        for epoch, accuracy in ((last - 2, 96.9), (last, 97.0), (last + 2, 98.0))
    ]
    told = mitigation.section(replace(results, epochs=pd.DataFrame(rows)))
    rivals = "SL with the same augmentation (met), 0.38 of the epochs of plain SL (met)"
    assert f"0.50 of the epochs of {rivals}, 0.60 of the epochs of plain SL if neither is augmented (missed)" in told
    later = pd.DataFrame(rows).assign(epoch=lambda frame: frame["epoch"] + 4 * (frame["method"] == "recipe"))
    told = mitigation.section(replace(results, epochs=later))
    assert "0.70 of the epochs of SL with the same augmentation (missed)" in told


def test_class_difficulty_is_a_rank_correlation(results: Results) -> None:
    found = {(row.protocol, row.method, row.place): row for row in difficulty.agreements(results)}
    place = Place("max", "3", "50")
    predicted = results.at(results.predictions, place)
    error = [100 - (40 + 6 * label) for label in range(10)]  # as published.py has it: 0 is the hardest
    assert found["exact", "sl", place].bound == pytest.approx(spearmanr(predicted["bound"], error).statistic)
    assert found["exact", "sl", place].evidence == pytest.approx(1.0)
    assert found["exact", "sl", Place("sum", "5", "50")].evidence == pytest.approx(-1.0)  # there 9 is
    assert "The better predictor is the evidence" in difficulty.section(results)
    level = results.classes.assign(accuracy=50.0)
    assert np.isnan(difficulty.agreements(replace(results, classes=level))[0].bound)


def test_what_other_seeds_tell_of_the_order_of_the_classes(results: Results) -> None:
    """Errors of any kind; oracle: a loop over the seeds, without pandas."""
    place = Place("max", "3", "50")
    classes = results.classes.copy()
    classes["accuracy"] = np.random.default_rng(1).uniform(0, 100, len(classes)).round(4)
    drawn = replace(results, classes=classes)
    found = {(row.protocol, row.method, row.place): row for row in difficulty.agreements(drawn)}["exact", "sl", place]
    rows = results.at(classes, place, "exact").query("method == 'sl'").to_dict("records")
    error = {seed: [100 - row["accuracy"] for row in rows if row["seed"] == seed] for seed in ("1", "2", "3")}
    evidence = -results.at(results.predictions, place)["evidence"].to_numpy(float)
    others, own = [], []
    for seed, values in error.items():
        first, second = (other for name, other in error.items() if name != seed)
        others.append(spearmanr(np.add(first, second), values).statistic)
        own.append(spearmanr(evidence, values).statistic)
    assert (found.others_of_one, found.evidence_of_one) == pytest.approx((np.mean(others), np.mean(own)))
    assert "How much is there to predict?" in difficulty.section(drawn)
    single = replace(results, classes=classes[classes["seed"] == "1"])
    assert np.isnan(difficulty.agreements(single)[0].others_of_one)
    assert "How much is there to predict?" not in difficulty.section(single)


def test_predictions_are_those_of_the_theory_and_computed_once(
    results: Results, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nslimb.theory.bounds import class_risk_bounds

    ratios = np.arange(1, 11) / 55
    found = predict(maximum(2), ratios)
    assert found["bound"].to_numpy() == pytest.approx(class_risk_bounds(maximum(2), ratios, 0.01, certify=False).upper)
    # Reading every 0 as 1 shows where both are 0; every 9 as 8, where there is a 9.
    assert found["evidence"].iloc[0] == pytest.approx(1000 * ratios[0] ** 2)
    assert found["evidence"].iloc[9] == pytest.approx(1000 * (1 - (1 - ratios[9]) ** 2))
    from nslimb.experiment.results import predictions

    kept = results.marginals[results.marginals["M"].isin(["2", "3"]) & (results.marginals["protocol"] == "exact")]
    kept.to_csv(tmp_path / "marginals.csv", index=False)
    monkeypatch.setattr(predictions, "predict", lambda sigma, ratios: found)
    assert write_predictions(tmp_path) == 5
    first = (tmp_path / "predictions.csv").read_bytes()
    assert write_predictions(tmp_path) == 0
    assert (tmp_path / "predictions.csv").read_bytes() == first
    kept[kept["M"] == "2"].to_csv(tmp_path / "marginals.csv", index=False)
    write_predictions(tmp_path)  # what is there stays
    assert len(load(tmp_path).predictions) == 50


def test_a_page_without_runs_says_so(tmp_path: Path) -> None:
    text = page(load(tmp_path), {})
    for told in ("No MAX or SUM cell has been run yet", "has too few runs", "Nothing has been run yet", "0 of "):
        assert told in text
    assert "nan" not in text
    assert inserted(f"a\n{BEGIN}\nold\n{END}\nb\n", load(tmp_path)) == f"a\n{BEGIN}\n{END}\nb\n"
    with pytest.raises(DataError, match="expected the lines"):
        inserted("no marks", load(tmp_path))


def test_a_page_with_one_protocol_does_not_break(tmp_path: Path) -> None:
    for protocol in ("paper", "exact"):
        results = write_published(tmp_path / protocol, (protocol,))
        text = page(results, {})
        assert "nan" not in text
        assert "has too few runs to judge in `" in text


def test_the_readme_table_is_the_mean_over_long_tails(results: Results) -> None:
    means = plain_means_of(results)
    frame = opening(results).set_index(["benchmark", "M"])
    recipe = [means["exact", "max", "4", rho, "recipe", "none"] for rho in ("0", "5", "15", "50")]
    assert frame.loc[("max", "4"), "recipe"] == pytest.approx(statistics.mean(recipe))
    plain = [means["exact", "max", "4", rho, "recipe-plain", "none"] for rho in ("0", "5", "15", "50")]
    assert frame.loc[("max", "4"), "recipe_plain"] == pytest.approx(statistics.mean(plain))
    assert frame.loc[("max", "4"), "cells"] == 4
    assert frame.loc[("sum", "7"), "cells"] == 2


def test_the_page_and_its_figures_are_written_and_belong_together(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "results")
    shutil.copy(FOLDER / "figure_2.csv", tmp_path / "results")
    shutil.copy(ROOT / "README.md", tmp_path)
    text, readme = tmp_path / "results.md", tmp_path / "README.md"
    write_page(tmp_path / "results", text, readme)
    pictures = {f"results/{path.name}": path.stat().st_size for path in (tmp_path / "results").glob("*.png")}
    assert len(pictures) == 7
    assert sum(pictures.values()) < 3_000_000
    assert set(re.findall(r"!\[.*\]\((results/.*?)\)", text.read_text())) == set(pictures)
    again = load(tmp_path / "results")
    assert page(again, {}) == text.read_text()
    assert inserted(readme.read_text(), again) == readme.read_text()
    assert "docs/results/frontier.png" in readme.read_text()


def test_what_is_said_below_figure_1_is_so() -> None:
    """Written by hand; oracle: the class accuracies of the CSV files."""
    below: dict[tuple[str, int], list[int]] = defaultdict(list)
    with (FOLDER / "epochs.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            if (row["protocol"], row["benchmark"], row["M"]) == ("paper", "max", "2"):
                low = sum(float(share) < 20 for share in row["class_accuracy"].split())
                below[row["method"], int(row["epoch"])].append(low)
    assert not any(any(low) for (method, _), low in below.items() if method == "sl")
    assert sorted(below["sl-few", 100]) == [0, 1, 2]
    assert min(below["sl-few", 20]) > 5
    values = defaultdict(list)
    with (ROOT / "reference" / "class_accuracy.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            if row["figure"] == "fig1":
                values[row["series"]].append(float(row["value"]))
    assert [values[f"epoch {epoch}"].count(0) for epoch in (20, 40)] == [6, 4]
    assert sum(value < 20 for value in values["epoch 100"]) == 4


def test_what_is_said_of_levels_of_chance_is_so() -> None:
    """The numbers in docs/decisions.md, written by hand, against docs/selection_criteria.csv without pandas."""
    changes = defaultdict(list)
    with (ROOT / "docs" / "selection_criteria.csv").open(newline="") as stream:
        for row in csv.DictReader(stream):
            key = (row["criterion"], row["chance"], row["adjustment"])
            changes[key].append(float(row["after"]) - float(row["before"]))
    assert {len(values) for values in changes.values()} == {75}
    text = " ".join((ROOT / "docs" / "decisions.md").read_text().split())
    for criterion, level, loses in (
        ("accuracy", "0.0", "({:.1f})"),
        ("likelihood", "0.0", "({:.1f})"),
        ("accuracy", "2.0", "({:.1f})"),
        ("likelihood", "2.0", "(none loses)"),
        ("accuracy", "2.5", "(none loses)"),
        ("likelihood", "2.5", "(none)"),
    ):
        la, carot = (changes[criterion, level, name] for name in ("la", "carot"))
        least = min(*la, *carot)
        assert (least < 0) == ("{" in loses)
        assert f"{statistics.mean(la):+.2f} and {statistics.mean(carot):+.2f} {loses.format(least)}" in text


def test_the_committed_page_and_readme_are_those_of_the_committed_files() -> None:
    """Every number of ours in both comes from docs/results, and the tables once more from runs.csv by other means."""
    results = load()
    assert (ROOT / "docs" / "results.md").read_text() == page(results, score.read_reasons(FOLDER / "reasons.yaml"))
    readme = (ROOT / "README.md").read_text()
    assert readme == inserted(readme, results)
    if (FOLDER / "runs.csv").exists():
        means = plain_means(FOLDER / "runs.csv")
        apart = {keys for keys in means if keys[4] in CHANGED or (keys[4] == "supervised" and keys[5] != "none")}
        check_tables(results, {keys: value for keys, value in means.items() if keys not in apart})
