"""Benchmarks whose label vectors are listed: their counts, their samples, and the way from a recipe to metrics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nslimb
from nslimb.data import load
from nslimb.data.samples import draw_samples, load_gold, load_samples
from nslimb.errors import DataError, InvalidInput
from nslimb.experiment import names
from nslimb.experiment.benchmarks import BENCHMARKS
from nslimb.experiment.cells import Cell
from nslimb.experiment.config import Config, read_config, read_file
from nslimb.experiment.jobs.adjust import adjust_run, open_run, weak_accuracy
from nslimb.experiment.jobs.marginals import make_marginals
from nslimb.experiment.jobs.recipe import Host
from nslimb.experiment.jobs.samples import make_samples
from nslimb.experiment.jobs.train import train_run
from nslimb.experiment.needs import check_images
from nslimb.experiment.recipes import adjust_recipe, given_ratios, marginals_recipe, samples_recipe, train_recipe
from nslimb.experiment.runs.base import read_schema
from nslimb.experiment.runs.marginals import Marginals
from nslimb.experiment.runs.metrics import Metrics
from nslimb.experiment.runs.run import RunFile
from nslimb.marginals.training import training_ratios

COUNTS = [  # benchmark, arity, options, ways to read the classes, those that keep the ratios
    ("half", 2, {}, 6, 1),
    ("even_odd", 2, {}, 36, 2),
    ("xor", 4, {}, 2, 2),
    ("mnmath", 4, {"equation": "sum"}, 2, 2),
    ("mnmath", 4, {"equation": "product"}, 2, 2),
]


@pytest.mark.parametrize(("name", "arity", "options", "ways", "keeping"), COUNTS)
def test_the_count_says_beforehand_what_ratios_can_do(
    name: str, arity: int, options: dict[str, Any], ways: int, keeping: int
) -> None:
    benchmark = BENCHMARKS.get(name)
    sigma = benchmark.sigma(arity, **options)
    found = nslimb.shortcuts(sigma, benchmark.occurring(sigma))
    assert (found.count, len(found.preserving)) == (ways, keeping)
    if options.get("equation") == "sum":
        assert found.maps[1].tolist() == [9 - digit for digit in range(10)]
    elif options:
        assert found.maps[1].tolist() == [0, 1, 2, 3, 4, 7, 6, 5, 8, 9]


def test_even_odd_has_a_twin_of_the_same_samples() -> None:
    """With every digit d called d + 5 mod 10 the same pairs occur, and have the same sums."""
    support = BENCHMARKS.get("even_odd").occurring(nslimb.sigma.total(2))
    renamed = {(first, second): (first + 5) % 10 + (second + 5) % 10 for first, second in support}
    assert renamed == {(first, second): first + second for first, second in support}


def test_both_equations_leave_one_reading() -> None:
    benchmark = BENCHMARKS.get("mnmath")
    sigma = benchmark.sigma(8)
    assert benchmark.occurring(sigma) is None
    with pytest.raises(InvalidInput, match="8 digits"):
        benchmark.sigma(4)
    with pytest.raises(InvalidInput, match="equation"):
        benchmark.sigma(4, equation="third")


def test_samples_are_drawn_from_the_support() -> None:
    source = load("mnist5k", Path("data"))
    half = BENCHMARKS.get("half")
    sigma = half.sigma(2)
    samples, gold = draw_samples(source, sigma, 1400, seed=1, support=half.support, validation=50)
    drawn, times = np.unique(gold.train, axis=0, return_counts=True)
    assert sorted(map(tuple, drawn.tolist())) == sorted(half.support)  # type: ignore[arg-type]
    assert times.min() > 150
    assert times.max() < 250
    assert (source.labels[samples.train] == gold.train).all()
    assert (sigma.apply(gold.train) == samples.train_weak).all()
    assert set(gold.test.tolist()) == {0, 1, 2, 3, 4}
    assert set(map(tuple, gold.test_tuples.tolist())) <= set(half.support)  # type: ignore[arg-type]
    assert gold.ratios == pytest.approx([2 / 7, 1 / 7, 2 / 7, 1 / 7, 1 / 7, 0, 0, 0, 0, 0])
    assert not np.isin(samples.validation, samples.train).any()
    skewed, _ = draw_samples(source, sigma, 300, seed=1, support={(0, 0): 0.9, (1, 2): 0.1}, validation=5)
    assert (skewed.train_weak == 0).mean() == pytest.approx(0.9, abs=0.06)
    uneven = draw_samples(source, sigma, 10, seed=1, support=[(0, 1)], validation=5)[1]
    assert uneven.ratios.shape == (2, 10)


def test_supports_that_cannot_be_drawn_are_refused() -> None:
    source = load("mnist5k", Path("data"))
    kept = (source.labels != 4) | source.is_test
    kept[np.flatnonzero(~kept)[0]] = True  # the one for training: none is left for validation
    without = replace(source, images=source.images[kept], labels=source.labels[kept], is_test=source.is_test[kept])
    with pytest.raises(DataError, match="the support has class 4, of which the pool has no image"):
        draw_samples(without, nslimb.sigma.total(2), 10, seed=1, support=[(2, 4), (0, 1)], validation=5)
    both = nslimb.sigma.family({"max": nslimb.sigma.maximum(2), "sum": nslimb.sigma.total(2)})
    with pytest.raises(InvalidInput, match="support: expected none for a family, got label vectors"):
        draw_samples(source, both, 10, seed=1, support=[(0, 1)], validation=5)


def test_the_wrong_ratios_of_the_grid_are_as_wrong_as_it_says() -> None:
    config = read_file(Path(__file__).resolve().parents[2] / "config" / "shortcuts.yaml")
    wrong = {name: block for name, block in config.benchmarks.items() if "_wrong_" in name}
    assert len(wrong) == 4
    for name, block in wrong.items():
        support = block.problem(name).support(2)
        assert support is not None
        off = np.abs(support.ratios(10).mean(axis=0) - np.array(block.ratios)).sum() / 2
        assert off == pytest.approx(int(name[-2:]) / 100, abs=1e-4)


@pytest.mark.parametrize("support", [[(0, 1, 2)], [(0, 10)], [], {(0, 1): 0.5}])
def test_bad_supports_are_refused(support: Any) -> None:
    source = load("mnist5k", Path("data"))
    with pytest.raises(InvalidInput, match="support"):
        draw_samples(source, nslimb.sigma.total(2), 10, seed=1, support=support, validation=5)
    invalid = nslimb.Sigma.from_function(lambda y: y[0] or None, num_classes=10, arity=2)
    with pytest.raises(InvalidInput, match="label vectors with a weak label"):
        draw_samples(source, invalid, 10, seed=1, support=[(0, 1), (1, 1)], validation=5)


def grid(**changes: Any) -> Config:
    block = {"source": "mnist5k", "network": "lenet", "samples": 140, "M": [2], "methods": ["transport"], **changes}
    values: dict[str, Any] = {"name": "tiny", "protocol": "exact", "seeds": [1], "validation": 20, "adjustments": []}
    values["training"] = {"epochs": 1, "device": "cpu"}
    return read_config({**values, "benchmarks": {"half": block}})


def test_known_ratios() -> None:
    assert given_ratios(grid(), "half", "2") == pytest.approx([2 / 7, 1 / 7, 2 / 7, 1 / 7, 1 / 7, 0, 0, 0, 0, 0])
    own = [0.2] * 5 + [0.0] * 5
    assert given_ratios(grid(ratios=own), "half", "2") == pytest.approx(own)
    assert train_recipe(grid(ratios=own), Cell("half", "2", "0", "1"), "transport")["ratios"] == pytest.approx(own)
    assert "ratios" not in train_recipe(grid(methods=["sl"]), Cell("half", "2", "0", "1"), "sl")
    with pytest.raises(InvalidInput, match="classes that occur in the support"):
        grid(ratios=[0.1] * 10)
    by_position = [own, [0.3, 0.2, 0.2, 0.2, 0.1] + [0.0] * 5]
    for sigma in ("half", "sum"):
        config = grid(sigma=sigma, ratios=by_position)
        recipe = train_recipe(config, Cell("half", "2", "0", "1"), "transport")
        assert recipe["ratios"] == [pytest.approx(row) for row in by_position]
        assert read_config(config.model_dump(mode="json")) == config
        with pytest.raises(InvalidInput, match=r"benchmarks\.half: ratios: expected ratios of at least 0"):
            grid(sigma=sigma, ratios=[own, own, own])
        with pytest.raises(InvalidInput, match=r"benchmarks\.half: ratios: expected ratios of at least 0"):
            grid(sigma=sigma, ratios=[own, own[:5]])
    with pytest.raises(InvalidInput, match=r"shape \[10\]|10 numbers|ratios of at least 0"):
        grid(ratios=[0.5, 0.6])
    with pytest.raises(InvalidInput, match="ratios: expected the ratios of the classes that you know"):
        grid(sigma="sum")
    assert grid(sigma="sum", methods=[{"t": {"method": "transport", "ratios": "estimated"}}])
    assert given_ratios(grid(sigma="sum", ratios=[0.1] * 10), "half", "2") == [0.1] * 10


@pytest.mark.parametrize("method", ["recipe", "sl-prior", "sot-alg1", "ilp-alg1", "transport"])
def test_algorithm_1_is_refused_where_labels_are_not_independent(method: str) -> None:
    """Its place would be taken by the true ratios of the support, under the name of an estimate."""
    entry = {"mine": {"method": method, **({"ratios": "estimated"} if method == "transport" else {})}}
    message = (
        rf"benchmarks\.half: methods\.mine: expected .*Algorithm 1, which does not hold .*transport.*, got {method}"
    )
    with pytest.raises(InvalidInput, match=message):
        grid(methods=[entry])
    assert grid(methods=[entry], sigma="sum")
    assert grid(methods=["sl", "transport", "sot-emp", "sot-gold", "supervised"])


def test_every_image_once_is_refused_where_label_vectors_are_listed() -> None:
    with pytest.raises(InvalidInput, match=r"benchmarks\.half: samples: expected a number, as only listed .* got once"):
        grid(methods=["sl"], samples="once")
    assert grid(methods=["sl"], samples="once", sigma="sum")


def test_both_equations_list_nothing() -> None:
    """MNMath lists label vectors for one equation alone: both are drawn, estimated and measured as any other sigma."""
    cell = Cell("half", "8", "0", "1")
    both = grid(sigma="mnmath", M=[8], methods=["recipe"], ratios=[0.1] * 10)
    assert "support" not in samples_recipe(both, cell)
    assert "ratios" not in marginals_recipe(both, cell)
    assert "support" not in adjust_recipe(both, cell, "recipe")
    one, cell = grid(sigma={"mnmath": {"equation": "sum"}}, M=[4]), Cell("half", "4", "0", "1")
    assert samples_recipe(one, cell)["support"] is True
    assert marginals_recipe(one, cell)["ratios"] == pytest.approx([0.1] * 10, abs=0.05)


@pytest.mark.parametrize(("equation", "arity"), [(None, 4), ("sum", 8), ("product", 8), ("third", 4)])
def test_equations_that_do_not_fit_are_refused_before_any_job(equation: str | None, arity: int) -> None:
    with pytest.raises(InvalidInput, match=r"benchmarks\.half: (M: expected [48] digits for equation|equation)"):
        grid(sigma={"mnmath": {} if equation is None else {"equation": equation}}, M=[arity], methods=["sl"])


TWO = {"digit": "lenet45", "operator": "lenet45"}


def test_networks_that_do_not_fit_the_spaces_are_refused_before_any_job(tmp_path: Path) -> None:
    formulas = {"sigma": "hwf", "M": [3], "methods": ["sl"], "source": "hwf-embedded"}
    for network in ({"digit": "lenet45"}, {**TWO, "sign": "lenet45"}):
        with pytest.raises(InvalidInput, match="one for each of the spaces digit, operator"):
            grid(**formulas, network=network)
    (tmp_path / "net.py").write_text(
        "from torch import nn\n\ndef wide(_):\n    return nn.Sequential(nn.Flatten(), nn.Linear(45 * 45, 7))\n"
    )
    wide = {"digit": "lenet45", "operator": f"{tmp_path / 'net.py'}:wide"}
    with pytest.raises(InvalidInput, match=r"network: expected logits \[2, 3\] .* answers two images with \[2, 7\]"):
        check_images(grid(**formulas, network=wide))
    (tmp_path / "rules.py").write_text(
        "import nslimb\n\ndef bits(arity):\n    made = nslimb.Sigma.from_function(lambda y: y[0] ^ y[1], 2, arity)\n"
        "    return made.with_spaces({'a': [0], 'b': [1]})\n"
    )
    with pytest.raises(InvalidInput, match=r"sigma.by_space\(\)"):
        grid(sigma=f"{tmp_path / 'rules.py'}:bits", methods=["sl"], network={"a": "lenet", "b": "lenet"})


def share_by_hand(recipe: Any, host: Host, into: Path) -> float:
    """How many test tuples have their weak label, tuple by tuple, from the saved model."""
    run = open_run(recipe, host, "", into)
    right = 0
    for images, labels in zip(run.samples.test_tuples, run.gold.test_tuples, strict=True):
        scores = run.scores(images[None])[0]
        allowed = [np.flatnonzero(row) for row in run.sigma.accepted]
        read = [max(labels_here, key=lambda j: float(row[j])) for row, labels_here in zip(scores, allowed, strict=True)]
        right += np.array_equal(run.sigma.apply(read), run.sigma.apply(labels))
    return right / len(run.gold.test_tuples)


def test_one_network_is_measured_as_one_for_each_kind_is() -> None:
    """An operator never stands where a digit must, however likely a network takes it to be."""
    sigma = nslimb.sigma.formula(3)
    labels = np.array([[1, 10, 2], [3, 11, 1]])
    scores = torch.full((2, 3, 13), -9.0)
    scores[..., 12] = 0.0  # a multiplication sign everywhere
    scores[np.arange(2)[:, None], np.arange(3), labels] = -1.0
    assert weak_accuracy(sigma, scores, labels) == 0.0  # 1 * 2 and 3 * 1
    scores[:, 1, 12] = -9.0
    assert weak_accuracy(sigma, scores, labels) == 1.0


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sigma": "partial", "M": [1], "methods": ["sl"]},
        {"sigma": "hwf", "M": [3], "methods": ["sl"], "source": "hwf-embedded", "network": TWO},
    ],
    ids=["transport on half", "sl on partial", "two networks on formulas"],
)
def test_from_a_recipe_to_metrics(tmp_path: Path, changes: dict[str, Any]) -> None:
    config = grid(**changes)
    method = "sl" if changes else "transport"
    cell = Cell("half", config.benchmarks["half"].M[0], "0", "1")
    host = Host(data=Path("data"), base=Path(), results=tmp_path, device="cpu")
    into = tmp_path / f"train={method}"
    into.mkdir()
    make_samples(samples_recipe(config, cell), host, "", tmp_path / names.SAMPLES, tmp_path / names.GOLD)
    make_marginals(marginals_recipe(config, cell), host, tmp_path / names.SAMPLES, tmp_path / names.MARGINALS)
    run = {"cell": {}, "cell_path": "half", "method": method, "grid": "tiny"}
    train_run(train_recipe(config, cell, method), host, run, "", into)
    adjust_run(adjust_recipe(config, cell, method), host, "", into)
    metrics, described = read_schema(into / names.METRICS, Metrics), read_schema(into / names.RUN_FILE, RunFile)
    assert (metrics.ceiling is None) == (changes.get("sigma") != "hwf")
    assert metrics.adjustments["none"]["test_weak_accuracy"] == share_by_hand(
        adjust_recipe(config, cell, method), host, into
    )
    assert load_samples(tmp_path / names.SAMPLES).train_weak.ndim == (2 if changes.get("sigma") == "partial" else 1)
    assert read_schema(tmp_path / names.MARGINALS, Marginals).known == (not changes)
    if changes:
        assert described.start is None
        assert (metrics.spaces is None) == (changes["sigma"] != "hwf")
        if metrics.spaces is not None:
            gold, recall = load_gold(tmp_path / names.GOLD).test, metrics.adjustments["none"]["class_accuracy"]
            counts = np.bincount(gold, minlength=13)
            for name, labels in (("digit", range(10)), ("operator", range(10, 13))):
                expected = sum(recall[j] * counts[j] for j in labels) / sum(counts[j] for j in labels)
                assert metrics.spaces[name] == pytest.approx(expected)  # two networks: no other kind is predicted
        return
    assert read_schema(tmp_path / names.MARGINALS, Marginals).ratios == pytest.approx(
        load_gold(tmp_path / names.GOLD).ratios
    )
    assert described.start in (0, 1, 2)
    chosen = into / f"start={described.start}"
    assert (into / "model.pt").read_bytes() == (chosen / "model.pt").read_bytes()
    likelihood = {start: _last(into / f"start={start}" / "history.csv") for start in (0, 1, 2)}
    assert likelihood[described.start] == max(likelihood.values())  # type: ignore[index]


class Stop(Exception):
    """Before any training."""


@pytest.mark.parametrize("rows", [1, 2])
def test_transport_is_trained_with_the_ratios_of_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    own = [0.3, 0.2, 0.2, 0.2, 0.1] + [0.0] * 5  # not those of the support
    config, cell = grid(ratios=own if rows == 1 else [own, [0.2] * 5 + [0.0] * 5]), Cell("half", "2", "0", "1")
    host = Host(data=Path("data"), base=Path(), results=tmp_path, device="cpu")
    make_samples(samples_recipe(config, cell), host, "", tmp_path / names.SAMPLES, tmp_path / names.GOLD)
    make_marginals(marginals_recipe(config, cell), host, tmp_path / names.SAMPLES, tmp_path / names.MARGINALS)
    taken = []

    def train(_: Any, __: Any, ___: Any, method: Any, *rest: Any, **named: Any) -> None:  # noqa: ARG001
        taken.append(method.ratios)
        raise Stop

    monkeypatch.setattr("nslimb.experiment.jobs.train.train", train)
    run = {"cell": {}, "cell_path": "half", "method": "transport", "grid": "tiny"}
    with pytest.raises(Stop):
        train_run(train_recipe(config, cell, "transport"), host, run, "", tmp_path / "train=transport")
    np.testing.assert_allclose(taken[0], np.array(config.benchmarks["half"].ratios))
    assert read_schema(tmp_path / names.MARGINALS, Marginals).ratios == taken[0].tolist()


@pytest.mark.parametrize("noise", ["auto", 0.0])
def test_the_grid_leaves_the_recipe_to_suspect_wrong_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noise: Any
) -> None:
    """Its own estimate allows for wrong labels; that of the step before takes all of them to be right."""
    config = grid(sigma="max", rho=[50], noise=0.1, methods=[{"mine": {"method": "recipe", "noise": noise}}])
    cell, host = Cell("half", "2", "50", "1"), Host(data=Path("data"), base=Path(), results=tmp_path, device="cpu")
    make_samples(samples_recipe(config, cell), host, "", tmp_path / names.SAMPLES, tmp_path / names.GOLD)
    make_marginals(marginals_recipe(config, cell), host, tmp_path / names.SAMPLES, tmp_path / names.MARGINALS)
    taken = []

    def train(_: Any, samples: Any, sigma: Any, method: Any, *rest: Any, **named: Any) -> None:  # noqa: ARG001
        method.begin(samples)
        taken.append(method.ratios)
        raise Stop

    monkeypatch.setattr("nslimb.experiment.jobs.train.train", train)
    run = {"cell": {}, "cell_path": "half", "method": "mine", "grid": "tiny"}
    with pytest.raises(Stop):
        train_run(train_recipe(config, cell, "mine"), host, run, "", tmp_path / "train=mine")
    weak, sigma = load_samples(tmp_path / names.SAMPLES).train_weak, nslimb.sigma.maximum(2)
    wary, trusting = (training_ratios(weak, sigma, suspected) for suspected in (0.02, 0.0))
    assert not torch.allclose(wary, trusting)
    torch.testing.assert_close(taken[0], wary if noise == "auto" else trusting)


def test_the_shortcut_that_a_network_is_on_is_in_its_metrics(tmp_path: Path) -> None:
    """Bits learned from gold labels, then with the last layer's rows for 0 and 1 exchanged: parities stay right."""
    config = grid(sigma="xor", M=[4], methods=["supervised"], samples=300, training={"epochs": 6})
    cell, into = Cell("half", "4", "0", "1"), tmp_path / "train=supervised"
    host = Host(data=Path("data"), base=Path(), results=tmp_path, device="cpu")
    make_samples(samples_recipe(config, cell), host, "", tmp_path / names.SAMPLES, tmp_path / names.GOLD)
    make_marginals(marginals_recipe(config, cell), host, tmp_path / names.SAMPLES, tmp_path / names.MARGINALS)
    run = {"cell": {}, "cell_path": "half", "method": "supervised", "grid": "tiny"}
    train_run(train_recipe(config, cell, "supervised"), host, run, "", into)
    recipe = adjust_recipe(config, cell, "supervised")
    adjust_run(recipe, host, "", into)
    right = read_schema(into / names.METRICS, Metrics)
    assert right.adjustments["none"]["accuracy"] > 0.9
    assert right.shortcut is None
    stored = torch.load(into / names.MODEL, weights_only=True)
    last = [name for name in stored["network"] if name.endswith(("weight", "bias"))][-2:]
    for name in last:
        stored["network"][name] = stored["network"][name][[1, 0, *range(2, 10)]]
    torch.save(stored, into / names.MODEL)
    adjust_run(recipe, host, "", into)
    swapped = read_schema(into / names.METRICS, Metrics)
    assert swapped.shortcut == [1, 0] + [-1] * 8
    assert swapped.adjustments["none"]["accuracy"] < 0.1
    assert swapped.adjustments["none"]["test_weak_accuracy"] == right.adjustments["none"]["test_weak_accuracy"]


def test_a_formula_in_the_grid(tmp_path: Path) -> None:
    """rule.cnf over two classes of pictures of one's own; another formula is another recipe."""
    images = np.zeros((80, 28, 28), dtype=np.uint8)
    images[40:, 10:20] = 200
    np.savez(tmp_path / "bits.npz", images=images, labels=np.repeat(["0", "1"], 40))
    (tmp_path / "rule.cnf").write_text("p cnf 2 1\n1 2 0\n")
    block = {"sigma": "rule.cnf", "source": "bits.npz", "network": "lenet", "samples": 40, "M": [2], "methods": ["sl"]}
    values: dict[str, Any] = {"name": "tiny", "protocol": "exact", "seeds": [1], "validation": 10, "adjustments": []}
    values |= {"training": {"epochs": 1, "device": "cpu"}, "benchmarks": {"mine": block}}
    config, cell = read_config(values, base=tmp_path), Cell("mine", "2", "0", "1")
    host = Host(data=Path("data"), base=tmp_path, results=tmp_path, device="cpu")
    into = tmp_path / "train=sl"
    make_samples(samples_recipe(config, cell), host, "", tmp_path / names.SAMPLES, tmp_path / names.GOLD)
    make_marginals(marginals_recipe(config, cell), host, tmp_path / names.SAMPLES, tmp_path / names.MARGINALS)
    run = {"cell": {}, "cell_path": "mine", "method": "sl", "grid": "tiny"}
    recipe = train_recipe(config, cell, "sl")
    train_run(recipe, host, run, "", into)
    adjust_run(adjust_recipe(config, cell, "sl"), host, "", into)
    assert read_schema(into / names.METRICS, Metrics).adjustments["none"]["accuracy"] > 0
    samples, gold = load_samples(tmp_path / names.SAMPLES), load_gold(tmp_path / names.GOLD)
    assert (samples.train_weak == gold.train.any(axis=1)).all()
    (tmp_path / "rule.cnf").write_text("p cnf 2 1\n-1 2 0\n")
    assert train_recipe(config, cell, "sl") != recipe


def test_a_logic_program_in_the_grid(tmp_path: Path) -> None:
    """From rules.lp to metrics; another program is another recipe, for samples, training and metrics alike."""
    pytest.importorskip("clingo")
    rules = tmp_path / "rules.lp"
    rules.write_text("weak(A + B) :- label(1, A), label(2, B).")
    block = {"sigma": "rules.lp", "classes": 10, "source": "mnist5k", "network": "lenet", "samples": 40, "M": [2]}
    values: dict[str, Any] = {"name": "tiny", "protocol": "exact", "seeds": [1], "validation": 20, "adjustments": []}
    values |= {"training": {"epochs": 1, "device": "cpu"}, "benchmarks": {"mine": {**block, "methods": ["sl"]}}}
    config, cell = read_config(values, base=tmp_path), Cell("mine", "2", "0", "1")
    host = Host(data=Path("data"), base=tmp_path, results=tmp_path, device="cpu")
    into = tmp_path / "train=sl"
    into.mkdir()
    make_samples(samples_recipe(config, cell), host, "", tmp_path / names.SAMPLES, tmp_path / names.GOLD)
    make_marginals(marginals_recipe(config, cell), host, tmp_path / names.SAMPLES, tmp_path / names.MARGINALS)
    run = {"cell": {}, "cell_path": "mine", "method": "sl", "grid": "tiny"}
    recipes = [make(config, cell, "sl") for make in (train_recipe, adjust_recipe)]
    train_run(recipes[0], host, run, "", into)
    adjust_run(recipes[1], host, "", into)
    assert read_schema(into / names.METRICS, Metrics).adjustments["none"]["accuracy"] > 0
    samples, gold = load_samples(tmp_path / names.SAMPLES), load_gold(tmp_path / names.GOLD)
    assert (samples.train_weak == gold.train.sum(axis=1)).all()
    rules.write_text("weak(A * B) :- label(1, A), label(2, B).")
    assert all(
        make(config, cell, "sl") != old for make, old in zip((train_recipe, adjust_recipe), recipes, strict=True)
    )
    (tmp_path / "facts.lp").write_text("big(9).\n")
    rules.write_text('weak(A) :- label(1, A). #include "facts.lp".')  # whose edits would go unnoticed
    with pytest.raises(InvalidInput, match=r"benchmarks\.mine: sigma: expected a logic program in one file, got rules"):
        read_config(values, base=tmp_path)
    rules.write_text('weak(A, "5 %") :- label(1, A). #include "facts.lp".')
    with pytest.raises(InvalidInput, match="a logic program in one file"):
        read_config(values, base=tmp_path)
    rules.write_text("weak(A) :- label(1, A). % no #include here")
    assert read_config(values, base=tmp_path)


def _last(path: Path) -> float:
    from nslimb.learning.history import read_history

    found = read_history(path)[-1].validation_log_likelihood
    assert found is not None
    return found
