"""What is drawn, of a grid and of the published results, with the numbers that were measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from fabricated import epochs_of, write_run
from published import write_published
from test_config import ROOT, values

from nslimb.experiment.cells import runs
from nslimb.experiment.config import Config, read_config
from nslimb.experiment.figures import FIGURES
from nslimb.experiment.gather import GridRun, gather
from nslimb.experiment.results import figures as of_results
from nslimb.experiment.results.data import Place, Results, load
from nslimb.experiment.results.difficulty import agreements
from nslimb.learning.history import write_history

# Some of the quick grid's benchmarks: two long tails, two arities, an oracle.
SCENARIOS = {"MAX-2, rho=0", "MAX-3, rho=0", "MAX-2, rho=50", "MAX-3, rho=50", "SUM-5, rho=50"}


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    quick = values()
    of_max = {**quick["benchmarks"]["max"], "M": [2, 3]}
    of_max["methods"] = [
        "sl",
        "records",
        "ilp-emp",
        "ilp-alg1",
        "supervised",
        {"sl-long": {"method": "sl", "epochs": 9}},
    ]
    quick.update(
        results=str(tmp_path_factory.mktemp("results")),
        seeds=[1, 2],
        benchmarks={"max": of_max, "sum": {**quick["benchmarks"]["sum"], "methods": ["sl", "ilp-alg1"]}},
    )
    return read_config(quick)


def accuracy_of(place: int, seed: str) -> float:
    """Another one for each method and seed."""
    return 0.3 + 0.05 * place + 0.02 * (seed == "2")


@pytest.fixture(scope="module")
def gathered(config: Config) -> list[GridRun]:
    for cell, method in runs(config):
        place = [variant.name for variant in config.benchmarks[cell.benchmark].methods].index(method)
        folder = write_run(config, cell, method, accuracy_of(place, cell.seed))
        lp = 0.5 if method.startswith("ilp") else 0.0
        write_history(folder / "history.csv", epochs_of(6, lp_seconds=lp, loss=1.0 + place))
    found = gather(config, runs(config))
    assert all(run.finished for run in found)
    return found


def shown(figure: Any) -> list[Any]:
    return [axis for axis in figure.axes if axis.get_visible()]


def titles(figure: Any) -> list[str]:
    return [axis.get_title() for axis in shown(figure)]


def legend(figure: Any) -> list[str]:
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def values_of(line: Any) -> Any:
    return np.asarray(line.get_ydata(), dtype=float)


def lines(axis: Any) -> dict[str, Any]:
    return {str(line.get_label()): line for line in axis.lines}


def printed(some: Iterable[GridRun]) -> list[str]:
    return list(dict.fromkeys(run.printed for run in some))


def draw(name: str, some: list[GridRun]) -> Any:
    return FIGURES.get(name)(some)


@pytest.mark.parametrize("name", FIGURES.names)
def test_a_grid_without_results_is_drawn_as_empty(name: str, config: Config, tmp_path: Path) -> None:
    empty = gather(config.model_copy(update={"results": tmp_path}), runs(config))
    figure = draw(name, empty)
    series = [values_of(line) for axis in figure.axes for line in axis.lines if line.get_zorder() > 0]
    assert not any(np.isfinite(drawn).any() for drawn in series)


def test_every_method_and_adjustment_has_its_bar(gathered: list[GridRun]) -> None:
    figure = draw("accuracy_by_method", gathered)
    assert set(titles(figure)) == SCENARIOS
    assert legend(figure) == ["no adjustment", "LA", "CAROT"]
    for axis in shown(figure):
        group = [run for run in gathered if run.scenario == axis.get_title()]
        assert [label.get_text() for label in axis.get_xticklabels()] == printed(group)
        for place, bars in enumerate(axis.containers[1::2]):  # the others are error bars
            expected = [100 * (accuracy_of(i, "1") + 0.01 + 0.01 * place) for i in range(len(printed(group)))]
            assert [bar.get_height() for bar in bars] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "swept", "places"),
    [("accuracy_against_rho", "rho", ["0", "50"]), ("accuracy_against_arity", "M", ["2", "3"])],
)
def test_every_method_has_its_line(gathered: list[GridRun], name: str, swept: str, places: list[str]) -> None:
    figure = draw(name, gathered)
    fixed = {"rho": ["MAX, M=2", "MAX, M=3"], "M": ["MAX, rho=0", "MAX, rho=50"]}[swept]
    assert titles(figure) == fixed  # SUM has one of each: nothing to compare
    of_max = [run for run in gathered if run.cell.benchmark == "max"]
    assert legend(figure) == printed(of_max)
    for axis in shown(figure):
        assert [label.get_text() for label in axis.get_xticklabels()] == places
        means = [values_of(container.lines[0]) for container in axis.containers]
        expected = [100 * (accuracy_of(i, "1") + 0.01) for i in range(6)]
        np.testing.assert_allclose(means, np.repeat(np.array(expected)[:, None], 2, axis=1))
        assert all(container.has_yerr for container in axis.containers)


def test_training_curves_are_the_histories(gathered: list[GridRun]) -> None:
    figure = draw("training_curves", gathered)
    assert {title for title in titles(figure) if title} == SCENARIOS
    assert legend(figure) == printed(gathered)
    above = [axis for axis in shown(figure) if axis.get_title()]
    below = [axis for axis in shown(figure) if not axis.get_title()]
    for axis, other in zip(above, below, strict=True):
        group = [run for run in gathered if run.scenario == axis.get_title() and run.cell.seed == "1"]
        assert list(lines(axis)) == list(lines(other)) == printed(group)
        for run in group:
            assert lines(axis)[run.printed].get_ydata().tolist() == [row.loss for row in run.epochs or ()]
            weak = lines(other)[run.printed].get_ydata()
            np.testing.assert_allclose(weak, [100 * row.validation_weak_accuracy for row in run.epochs or ()])


def test_class_accuracies_of_sl_early_midway_and_at_the_end(gathered: list[GridRun]) -> None:
    figure = draw("class_accuracy_over_epochs", gathered)
    assert set(titles(figure)) == SCENARIOS
    for axis in shown(figure):
        for line, epoch in zip(axis.lines, (1, 2, 6), strict=True):
            np.testing.assert_allclose(line.get_ydata(), [epoch * j for j in range(10)])


def test_sl_beside_the_linear_program_with_the_hidden_ratios(gathered: list[GridRun]) -> None:
    figure = draw("sl_against_ilp", gathered)
    assert set(titles(figure)) == SCENARIOS
    assert set(legend(figure)) == {"hidden ratio, largest = 100", "SL", "ILP(ALG1)"}
    for axis in shown(figure):
        assert [bar.get_height() for bar in axis.patches] == pytest.approx([100] * 10)
        assert set(lines(axis)) == {"SL", "ILP(ALG1)"}
    first = next(axis for axis in shown(figure) if axis.get_title() == "MAX-3, rho=0")
    np.testing.assert_allclose(lines(first)["ILP(ALG1)"].get_ydata(), 100 * (accuracy_of(3, "1") + 0.01))


def test_estimated_beside_true_ratios(gathered: list[GridRun]) -> None:
    figure = draw("marginals", gathered)
    assert set(titles(figure)) == SCENARIOS
    assert set(legend(figure)) == {"|difference|", "true", "Algorithm 1"}
    for axis in shown(figure):
        assert [bar.get_height() for bar in axis.patches] == pytest.approx([0.1] * 20)


def test_known_ratios_are_not_called_estimates(tmp_path: Path) -> None:
    """Where label vectors are listed, Algorithm 1 was never asked; with both kinds the legend tells them apart."""
    quick = values()
    block = {"source": "mnist5k", "network": "lenet", "samples": 20, "M": [2], "methods": ["sl"]}
    benchmarks = {"half": block, "sum": {**quick["benchmarks"]["sum"], "methods": ["sl"]}}
    quick.update(results=str(tmp_path), seeds=[1], protocol="exact", benchmarks=benchmarks)
    config = read_config(quick)
    for cell, method in runs(config):
        write_run(config, cell, method, 0.5)
    found = gather(config, runs(config))
    figure = draw("marginals", found)
    told = {axis.get_title(): {bars.get_label() for bars in axis.containers} for axis in shown(figure)}
    assert told == {"HALF-2, rho=0": {"true", "known"}, "SUM-5, rho=50": {"true", "Algorithm 1"}}
    assert set(legend(figure)) == {"|difference|", "true", "known", "Algorithm 1"}


def test_the_cost_of_the_program_where_there_is_one(gathered: list[GridRun]) -> None:
    (axis,) = shown(draw("lp_seconds_per_batch", gathered))
    rows = [label.get_text() for label in axis.get_yticklabels()]
    expected = {f"{run.scenario}, {run.printed}" for run in gathered if run.method.startswith("ilp")}
    assert set(rows) == expected
    assert len(rows) == len(expected)
    program, rest = axis.containers
    assert [bar.get_width() for bar in program] == pytest.approx([0.05] * len(rows))  # 0.5 s in 10 batches
    assert [bar.get_width() for bar in rest] == pytest.approx([0.15] * len(rows))


def test_no_oracle_is_measured_by_the_ceiling(gathered: list[GridRun]) -> None:
    (axis,) = shown(draw("accuracy_against_ceiling", gathered))
    assert set(lines(axis)) >= set(printed(run for run in gathered if not run.oracle))
    assert not set(lines(axis)) & set(printed(run for run in gathered if run.oracle))
    points = lines(axis)["SL"].get_xydata()
    assert len(points) == len(SCENARIOS)
    assert points[:, 1] == pytest.approx([100 * (accuracy_of(0, "1") + 0.01)] * len(points))


def test_ours_stands_beside_the_papers_where_there_is_both(tmp_path: Path) -> None:
    """The paper prints MAX-2 after 20, 40 and 100 epochs, and MAX-5 with rho = 50 at the end."""
    quick = values()
    block = {**quick["benchmarks"]["max"], "M": [2, 5], "rho": [0, 50], "methods": ["sl", "ilp-alg1", "records"]}
    config = read_config({**quick, "results": str(tmp_path), "benchmarks": {"max": block}})
    for cell, method in runs(config):
        write_history(write_run(config, cell, method, 0.5) / "history.csv", epochs_of(50))
    figure = draw("against_the_paper", gather(config, runs(config)))
    assert titles(figure) == [
        "MAX-2, rho=0: epoch 20",
        "MAX-2, rho=0: epoch 40",
        "MAX-5, rho=50: SL",
        "MAX-5, rho=50: ILP(ALG1)",
    ]
    reference = pd.read_csv(ROOT / "reference" / "class_accuracy.csv")
    paper = reference[(reference["figure"] == "fig1") & (reference["series"] == "epoch 40")]["value"]
    drawn = lines(shown(figure)[1])
    np.testing.assert_allclose(values_of(drawn["the paper"]), paper)
    np.testing.assert_allclose(values_of(drawn["ours"]), [40 * j for j in range(10)])


def test_every_method_has_a_look_of_its_own(gathered: list[GridRun]) -> None:
    looks = {run.method: (run.colour, run.mark) for run in gathered}
    assert len(set(looks.values())) == len(looks)


def test_lines_of_many_methods_can_be_told_apart(tmp_path: Path) -> None:
    quick = values()
    many = [{f"sl-{number}": {"method": "sl", "epochs": number}} for number in range(1, 15)]
    quick.update(results=str(tmp_path), benchmarks={"max": {**quick["benchmarks"]["max"], "rho": [0], "methods": many}})
    config = read_config(quick)
    for cell, method in runs(config):
        write_run(config, cell, method, 0.5)
    figure = draw("training_curves", gather(config, runs(config)))
    drawn = [(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines]
    assert len(set(drawn)) == len(drawn) == 14


def test_two_benchmarks_of_one_sigma_are_drawn_apart(tmp_path: Path) -> None:
    quick = values()
    block = {**quick["benchmarks"]["max"], "M": [3], "rho": [0], "methods": ["sl"]}
    other = {**block, "sigma": "max", "samples": 99}
    quick.update(results=str(tmp_path), benchmarks={"max": block, "fewer_max": other})
    config = read_config(quick)
    for place, (cell, method) in enumerate(runs(config)):
        write_run(config, cell, method, 0.2 + 0.5 * place)
    found = gather(config, runs(config))
    figure = draw("accuracy_by_method", found)
    assert titles(figure) == ["MAX-3, rho=0", "fewer max-3, rho=0"]
    heights = [axis.containers[1][0].get_height() for axis in shown(figure)]
    assert heights == pytest.approx([20, 70])


@pytest.fixture(scope="module")
def results() -> Results:
    """What is published."""
    return load()


@pytest.fixture(scope="module")
def page(results: Results) -> Callable[[str], Any]:
    """The figures of the page by name, each drawn once."""
    return cache(lambda name: of_results.FIGURES[name][1](results))


@pytest.mark.parametrize("protocol", ["paper", "exact"])
def test_figures_of_results_do_without_a_protocol(protocol: str, tmp_path: Path) -> None:
    some = write_published(tmp_path, (protocol,))
    for name, (_, draw_results) in of_results.FIGURES.items():
        assert draw_results(some).get_size_inches()[0] > 5, name


def smallest_font(figure: Any) -> float:
    """Of what is seen, in points at the saved size."""
    from matplotlib.text import Text

    figure.draw_without_rendering()
    seen = [axis for axis in figure.axes if axis.get_visible()]
    found = [text for part in (*seen, *figure.legends) for text in part.findobj(Text)]
    return min(float(text.get_fontsize()) for text in found if text.get_text() and text.get_visible())


@pytest.mark.parametrize("name", ["accuracy", "classes", "marginals", "figure_2", "order"])
def test_figures_of_results_can_be_read_at_page_width(page: Callable[[str], Any], name: str) -> None:
    figure = page(name)
    assert figure.get_size_inches()[0] <= 7.2
    assert smallest_font(figure) >= 7


def test_accuracies_on_other_test_images_are_not_drawn(results: Results, page: Callable[[str], Any]) -> None:
    """Of HWF ours without adjustment alone; LA and CAROT have ticks of their own elsewhere."""
    figure = page("accuracy")
    (formulas,) = [axis for axis in shown(figure) if axis.get_title().startswith("HWF")]
    assert formulas.get_title() == "HWF, ours without adjustment"
    plain = results.entries[(results.entries["benchmark"] == "hwf") & (results.entries["adjustment"] == "none")]
    paper = results.distinct[results.distinct["benchmark"] == "hwf"]
    drawn = np.sort(np.concatenate([values_of(line) for line in formulas.lines]))
    np.testing.assert_allclose(drawn, np.sort([*plain["mean"], *paper["paper_mean"]]))
    (parent,) = [axis for axis in shown(figure) if axis.get_title() == "Smallest Parent"]
    marks = [line.get_marker() for line in parent.lines]
    own = pd.concat([results.entries, results.distinct])
    own = own[own["benchmark"] == "smallest_parent"]
    for adjustment, tick in (("la", 0), ("carot", 1)):
        assert marks.count(tick) == (own["adjustment"] == adjustment).sum() > 0
    assert {"with LA", "with CAROT", "identifiable ceiling, protocol exact"} <= set(legend(figure))


def test_the_ceiling_that_is_drawn_is_of_protocol_exact(results: Results, page: Callable[[str], Any]) -> None:
    figure = page("accuracy")
    (axis,) = [axis for axis in shown(figure) if axis.get_title() == "MAX-5"]
    level = [lines.get_segments()[0] for lines in axis.collections if lines.get_linewidth()[0] == 1]
    expected = [results.ceiling(Place("max", "5", rho), "exact") for rho in ("0", "5", "15", "50")]
    assert [segment[0][1] for segment in level] == pytest.approx(expected)
    assert [segment[1][1] for segment in level] == pytest.approx(expected)


def test_rows_of_classes_are_the_same_cell_in_all_panels(results: Results, page: Callable[[str], Any]) -> None:
    figure = page("classes")
    panels = [axis for axis in figure.axes if axis.images and axis.get_xlabel() == "class"]
    cells = [cell.title for cell in results.cells()]
    assert [label.get_text() for label in panels[0].get_yticklabels()] == cells
    for axis, (protocol, method) in zip(panels, (("paper", "sl"), ("exact", "sl"), ("exact", "recipe")), strict=True):
        values = axis.images[0].get_array()
        assert values.shape == (len(cells), 13)
        for row, cell in enumerate(results.cells()):
            own = results.at(results.classes, cell, protocol)
            means = own[own["method"] == method].groupby("class")["accuracy"].mean().to_numpy()
            np.testing.assert_allclose(values[row].compressed(), means)
        assert [text.get_text() for text in axis.texts] == (["not run"] if protocol == "exact" else [])
        assert [label.get_text() for label in axis.get_xticklabels()] == list("0123456789+-*")


def test_ratios_of_all_cells_stand_on_one_axis_from_zero(results: Results, page: Callable[[str], Any]) -> None:
    """And those of one M in one row."""
    figure = page("marginals")
    assert titles(figure) == [cell.title for cell in results.cells()]
    assert len({axis.get_ylim() for axis in shown(figure)}) == 1
    assert shown(figure)[0].get_ylim()[0] == 0
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("class", "ratio")
    assert {text.rpartition(", ")[2] for text in legend(figure)} == {"seed 1"}
    height = {axis.get_title(): axis.get_subplotspec().rowspan.start for axis in shown(figure)}
    assert len({height[f"MAX-4, rho={rho}"] for rho in (0, 5, 15, 50)}) == 1
    one = results.marginals.query("benchmark == 'hwf' and M == '5' and seed == '1' and protocol == 'exact'")
    (axis,) = [axis for axis in shown(figure) if axis.get_title() == "HWF-5, rho=15"]
    expected = one.groupby("class")[["true", "estimated"]].mean()
    assert [bar.get_height() for bar in axis.patches] == pytest.approx(expected["true"].tolist())
    np.testing.assert_allclose(values_of(lines(axis)["estimated, protocol exact, seed 1"]), expected["estimated"])


def test_classes_of_one_bound_are_told_apart_by_number(results: Results, page: Callable[[str], Any]) -> None:
    figure = page("figure_2")
    assert legend(figure) == [str(label) for label in range(10)]
    left, right = shown(figure)
    assert not left.child_axes
    (inset,) = right.child_axes
    rows = results.figure_2[results.figure_2["case"] == "uniform weak labels"]
    at = rows[rows["partial_risk"] == np.sort(rows["partial_risk"].unique())[5]]
    assert [bar.get_height() for bar in inset.patches] == pytest.approx(at["certified"].tolist())
    assert len({tuple(bar.get_facecolor()) for bar in inset.patches}) == 10


def test_the_order_of_classes_is_that_of_the_cells_of_the_table(results: Results, page: Callable[[str], Any]) -> None:
    """Every class of every cell that has a rank correlation, HWF's 13 too, in [0, 1]."""
    figure = page("order")
    assert "cells of 13 classes (HWF)" in legend(figure)
    single = float(next(dots for dots in figure.axes[0].collections if dots.get_label() == "1 class").get_sizes()[0])
    rows = [row for row in agreements(results) if (row.protocol, row.method) == ("exact", "sl")]
    axis = figure.axes[4]  # SL in protocol exact, by the evidence
    expected = [len(results.at(results.predictions, row.place)) for row in rows if not np.isnan(row.evidence)]
    counts = [dots.get_sizes() / single for dots in axis.collections]
    assert sum(map(sum, counts)) == pytest.approx(sum(expected))
    assert sum(counts[1]) == pytest.approx(3 * 13)
    points = np.concatenate([dots.get_offsets() for dots in axis.collections])
    assert (points.min(), points.max()) == (0, 1)
    assert f"({len(expected)} cells)" in axis.get_title()


def test_classes_that_are_as_hard_as_predicted_stand_on_the_diagonal(results: Results) -> None:
    keys = ["benchmark", "M", "rho", "class"]
    as_predicted = results.classes.merge(results.predictions, on=keys).assign(accuracy=lambda rows: rows["evidence"])
    dots = of_results.draw_order(replace(results, classes=as_predicted)).axes[4].collections
    points = np.concatenate([each.get_offsets() for each in dots[:2]])
    np.testing.assert_allclose(points[:, 0], points[:, 1])
    assert len(points) >= 13
