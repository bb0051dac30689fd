"""The first page of the report, what chance may do, and which figures there are."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pytest
from fabricated import grid_run, write_run
from test_config import ROOT, values

from nslimb.experiment import front, publish
from nslimb.experiment.cells import runs
from nslimb.experiment.chance import Accuracy, clear_winner, resolution, told_apart
from nslimb.experiment.config import Config, read_config
from nslimb.experiment.explained import explanations, first_paragraph
from nslimb.experiment.figures import FIGURES
from nslimb.experiment.figures.shown import figure_entries
from nslimb.experiment.gather import gather
from nslimb.experiment.studies import STUDIES
from nslimb.experiment.verdict import verdict
from nslimb.learning.methods import METHODS, method_class


def grid(folder: Path, **changes: Any) -> Config:
    return read_config({**values(), "results": str(folder), **changes})


def one_seed(mean: float, images: int = 1000) -> Accuracy:
    return Accuracy(mean, math.nan, 1, images)


def test_chance_tells_equal_classifiers_apart_in_one_of_twenty_cases() -> None:
    rng = np.random.default_rng(0)
    found = 100 * rng.binomial(500, 0.8, size=(4000, 2)) / 500
    apart = [told_apart(one_seed(a, 500), one_seed(b, 500)) for a, b in found]
    assert 0.035 < np.mean(apart) < 0.065
    assert resolution(500, 80) == pytest.approx(1.96 * 100 * math.sqrt(2 * 0.8 * 0.2 / 500))


def test_the_seeds_own_luck_counts_too() -> None:
    assert told_apart(one_seed(80, 10_000), one_seed(85, 10_000))
    assert not told_apart(Accuracy(80, 7, 2, 10_000), one_seed(85, 10_000))
    assert told_apart(Accuracy(80, 7, 200, 10_000), one_seed(85, 10_000))


def test_there_is_a_winner_only_where_all_others_are_behind() -> None:
    assert clear_winner([one_seed(80), one_seed(90), one_seed(math.nan)]) == 1
    assert clear_winner([one_seed(80), one_seed(90), one_seed(89.5)]) is None
    assert clear_winner([one_seed(90), one_seed(90)]) is None
    assert clear_winner([one_seed(100, 50), one_seed(99, 50)]) is None
    assert clear_winner([one_seed(math.nan)]) is None
    assert clear_winner([one_seed(50)]) == 0


def test_a_table_that_another_holds_is_not_shown_twice(tmp_path: Path) -> None:
    assert front.shown_tables(grid(tmp_path)) == ["max_full", "sum", "hwf", "smallest_parent"]
    assert front.shown_tables(grid(tmp_path, tables=["max", "sum"])) == ["max", "sum"]


def test_the_page_has_ours_beside_the_papers_and_explains_names(tmp_path: Path) -> None:
    config = grid(tmp_path)
    for cell, method in runs(config):
        if cell.benchmark != "sum":
            write_run(config, cell, method, 0.95 if method == "recipe" else 0.5)
    for name in front.shown_tables(config):
        publish.write_table(config, name)
    front.write_front(config)
    page = (tmp_path / front.PAGE).read_text()
    assert "<td>50.0<small>paper 84.2 ± 11.9</small><small>macro 50.0, worst 50.0</small></td>" in page
    assert "1,000 test images:<br>differences below<br>" in page
    assert '<td class="missing">missing</td>' in page  # SUM
    assert "<strong>97.0</strong>" not in page  # recipe + CAROT, which recipe may be as good as
    assert "<dt>ILP(EMP)</dt><dd>Trains towards pseudolabels" in page
    assert page.count("<h3>max") == 1
    of_digits = page[page.index("<h3>smallest parent") : page.index("<h3>What")]
    assert "paper" not in of_digits  # whose objects are CIFAR-10's


def test_a_long_page_begins_at_its_top() -> None:
    """Snakemake centres what the first page shows, so that the top of a long one would be out of reach."""
    report = pytest.importorskip("snakemake.report", reason="Snakemake needs Python 3.11")
    template = Path(report.__file__).parent / "html_reporter" / "template" / "components" / "content.js"
    assert "flex items-center justify-center h-screen overflow-auto" in template.read_text()
    assert ".items-center:has(.nslimb) { align-items: flex-start }" in front.STYLE


def test_every_method_is_explained(tmp_path: Path) -> None:
    sentences = {first_paragraph(method_class(name)) for name in METHODS}
    assert len(sentences) == len(list(METHODS))
    assert all(len(sentence) > 50 for sentence in sentences)
    mine = {"sl-slow": {"method": "sl", "learning_rate": 0.0003}}
    config = values()
    config["benchmarks"] = {"max": {**config["benchmarks"]["max"], "methods": ["sl", mine]}}
    found = explanations(read_config({**config, "results": str(tmp_path), "tables": ["max"], "studies": []}))
    assert list(found) == ["SL", "sl-slow", "+ LA", "+ CAROT"]
    assert found["SL"].startswith("Semantic loss: ")
    assert found["SL"].endswith("(protocol exact) or the most probable one alone (paper)")
    assert found["sl-slow"] == found["SL"] + " (learning_rate = 0.0003)"
    assert found["+ LA"].startswith("Logit adjustment at test time")


def test_figures_with_nothing_to_show_are_left_out(tmp_path: Path) -> None:
    of_max = {**values()["benchmarks"]["max"], "methods": ["recipe"], "rho": [7]}
    bare = grid(tmp_path, benchmarks={"max": of_max}, tables=["max_full"], studies=[])
    assert figure_entries(bare) == [
        "marginals",
        "accuracy_by_method",
        "accuracy_against_ceiling",
        "training_curves",
    ]
    assert figure_entries(grid(tmp_path, figures=["accuracy_against_arity"])) == ["accuracy_against_arity"]
    paper = read_config({**values("config"), "results": str(tmp_path)})
    assert figure_entries(paper) == list(FIGURES)


def test_every_figure_has_a_caption_of_its_own() -> None:
    folder = ROOT / "workflow" / "report"
    captions = {(folder / "figures" / f"{name}.rst").read_text() for name in FIGURES}
    assert len(captions) == len(list(FIGURES))
    study = jinja2.Template((folder / "study.rst").read_text())
    told = {study.render(snakemake={"wildcards": {"study": name}}) for name in STUDIES}
    assert len({text.partition("Its numbers")[0] for text in told}) == len(list(STUDIES))
    assert not any("A study of your own" in text for text in told)


def test_classes_of_formulas_are_symbols(tmp_path: Path) -> None:
    config = grid(tmp_path)
    chosen = [run for run in runs(config) if run[0].benchmark in ("hwf", "max")]
    for cell, method in chosen:
        write_run(config, cell, method, 0.5, class_accuracy=[0.5] * (13 if cell.benchmark == "hwf" else 10))
    names = {run.cell.benchmark: run.class_names for run in gather(config, chosen)}
    assert names == {"hwf": (*"0123456789", "+", "-", "*"), "max": tuple("0123456789")}


def test_the_verdict_names_the_winner_and_what_chance_may_do() -> None:
    def told(*pairs: tuple[float, float]) -> str:
        made = [
            grid_run(method, seed=str(seed), accuracy=accuracy, adjusted=0.0)
            for seed, pair in enumerate(pairs)
            for method, accuracy in zip(("sl", "recipe"), pair, strict=True)
        ]
        return verdict([*made, grid_run("supervised", seed="0", accuracy=0.99, adjusted=0.0)])

    # Of 1,000 test images, where chance alone reaches 4.4 points.
    one = "in the one cell and seed there is"
    assert told((0.5, 0.6)) == f"Best: recipe, +10.00 points over SL {one}."
    assert told((0.5, 0.52)) == f"Best: recipe, +2.00 points over SL {one}, which chance may have made."
    assert told((0.5, 0.4)) == f"No mitigation is above SL {one}; the best is SL + LA (+0.00 points)."
    # Differences of 9, 10 and 11: mean 10, standard error 1 / sqrt(3), Student's t with 2 degrees of freedom 4.303.
    three = told((0.5, 0.59), (0.5, 0.6), (0.5, 0.61))
    assert three == (
        "Best on average: recipe, +10.00 points over SL (95 % interval +7.52 to +12.48, over 3 pairs of cell and seed)."
    )
    assert told((0.5, 0.48), (0.5, 0.6)).endswith("over 2 pairs of cell and seed), which chance may have made.")
