"""A network for each space of labels in WeakClassifier and the commands, and transport with ratios that are known."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from bars import bars
from PIL import Image
from torch import nn
from typer.testing import CliRunner

import nslimb
from nslimb import Sigma, WeakClassifier
from nslimb.cli import app
from nslimb.errors import InvalidInput
from nslimb.learning.stopping import best_likelihood
from nslimb.networks import Spaced

RULE = "def places(y):\n    return y[0] + y[1] if y[1] < 2 else None\n"
BOTH = {"bar": "auto", "line": "auto"}


def places() -> Sigma:
    """The place of a standing bar, one of three, plus that of a lying one, one of two: both begin at 0."""
    sigma = Sigma.from_function(lambda y: y[0] + y[1] if y[1] < 2 else None, num_classes=3, arity=2)
    return sigma.with_spaces({"bar": [0], "line": [1]})


def drawn(number: int = 150) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Images, the places of their bars, tuples (a standing and a lying one), weak labels."""
    rng = np.random.default_rng(0)
    labels = np.concatenate([rng.integers(3, size=number), rng.integers(2, size=number)])
    images = rng.integers(60, size=(2 * number, 16, 16), dtype=np.uint8)
    for k, (image, label) in enumerate(zip(images, labels, strict=True)):
        if k < number:
            image[:, 1 + 5 * label : 4 + 5 * label] += 150
        else:
            image[2 + 7 * label : 6 + 7 * label] += 150
    tuples = np.stack([np.arange(number), number + np.arange(number)], axis=1)
    return images, labels, tuples, labels[tuples].sum(axis=1).tolist()


IMAGES, LABELS, TUPLES, WEAK = drawn()
NAMES = [f"bar {label}" for label in LABELS[:150]] + [f"line {label}" for label in LABELS[150:]]


@pytest.fixture(scope="module")
def fitted() -> WeakClassifier:
    made = WeakClassifier(places(), BOTH, "sl", epochs=12, batch_size=16)
    return made.fit(IMAGES, TUPLES, WEAK)


def test_each_kind_has_a_network_of_its_own(fitted: WeakClassifier) -> None:
    assert fitted.classes_ == ("bar 0", "bar 1", "bar 2", "line 0", "line 1")
    assert isinstance(fitted.model_.network, Spaced)
    bars_found, lines_found = fitted.predict(IMAGES[:150], space="bar"), fitted.predict(IMAGES[150:], space="line")
    right = np.concatenate([bars_found, lines_found]) == NAMES
    assert right.mean() > 0.95
    assert fitted.score(IMAGES, NAMES) == right.mean()
    each = fitted.predict(IMAGES, space=["bar"] * 150 + ["line"] * 150)
    assert (each == np.concatenate([bars_found, lines_found])).all()
    probabilities = fitted.predict_proba(IMAGES[:5], space="line")
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert (probabilities[:, :3] == 0).all()
    assert fitted.weak_score(IMAGES, TUPLES, WEAK) > 0.95
    assert fitted.ratios_ is not None
    assert fitted.ratios_.shape == (2, 5)
    assert (fitted.ratios_[0, 3:] == 0).all()
    assert (fitted.ratios_[1, :3] == 0).all()


def test_ratios_by_space_can_be_given_back(fitted: WeakClassifier) -> None:
    """transport trains a network for each space towards its ratios, as one classifier tells them to the next."""
    few = {"other_taus": (), "other_etas": ()}
    again = WeakClassifier(places(), BOTH, "transport", ratios=fitted.ratios_, epochs=1, method_settings=few)
    again.fit(IMAGES, TUPLES, WEAK)
    np.testing.assert_allclose(again.ratios_, fitted.ratios_)  # type: ignore[arg-type]
    by_label = [[0.2, 0.3, 0.5], [0.6, 0.4, 0]]
    told = WeakClassifier(places(), BOTH, "transport", ratios=by_label)
    expected = [[0.2, 0.3, 0.5, 0, 0], [0, 0, 0, 0.6, 0.4]]
    np.testing.assert_allclose(told.method_settings["given_ratios"], expected)
    with pytest.raises(InvalidInput, match="ratios: expected ratios of at least 0"):
        WeakClassifier(places(), BOTH, "transport", ratios=[[0.2, 0.3, 0.5], [0.6, 0.4]])


def test_it_is_saved_with_its_spaces(fitted: WeakClassifier, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    back = WeakClassifier.load(tmp_path)
    assert back.network == BOTH
    assert back.sigma.spaces == fitted.sigma.spaces
    np.testing.assert_array_equal(
        back.predict_proba(IMAGES, space=["bar"] * 150 + ["line"] * 150),
        fitted.predict_proba(IMAGES, space=["bar"] * 150 + ["line"] * 150),
    )


def test_networks_of_ones_own_are_asked_for_when_loading(tmp_path: Path) -> None:
    def own(num_classes: int) -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(256, num_classes))

    given = {"bar": own, "line": "auto"}
    made = WeakClassifier(places(), given, "sl", epochs=1, restarts=1).fit(IMAGES, TUPLES, WEAK)
    made.save(tmp_path)
    with pytest.raises(InvalidInput, match="its code is yours"):
        WeakClassifier.load(tmp_path)
    back = WeakClassifier.load(tmp_path, network=given)
    np.testing.assert_array_equal(
        back.predict_proba(IMAGES[:9], space="bar"), made.predict_proba(IMAGES[:9], space="bar")
    )


@pytest.mark.parametrize(
    ("network", "message"),
    [
        ({"bar": "auto"}, "a network for each of the spaces bar, line"),
        ({"bar": "auto", "sign": "auto"}, "a network for each of the spaces bar, line"),
        ({"bar": "auto", "line": 3}, "network: expected 'auto'"),
        ({"bar": lambda _: nn.Sequential(nn.Flatten(), nn.Linear(256, 7)), "line": "auto"}, "3 classes|3 logits"),
    ],
)
def test_networks_that_do_not_fit_the_spaces_are_refused(network: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        WeakClassifier(places(), network, "sl", epochs=1).fit(IMAGES, TUPLES, WEAK)


def test_the_kind_of_an_image_has_to_be_known(fitted: WeakClassifier) -> None:
    for space, told in ((None, "got none"), ("sign", "got 'sign'"), (["bar"], "got 1 for 3 images")):
        with pytest.raises(InvalidInput, match=f"space: expected the kind of all images.*bar, line.*{told}"):
            fitted.predict(IMAGES[:3], space=space)  # type: ignore[arg-type]
    one = WeakClassifier(nslimb.sigma.maximum(2, 3), epochs=1).fit(IMAGES, TUPLES, [2] * 150)
    with pytest.raises(InvalidInput, match="space: expected none, as one network knows all classes, got 'bar'"):
        one.predict(IMAGES[:3], space="bar")


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)))


def write(path: Path, rows: list[list[Any]]) -> None:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)


def test_the_commands_train_a_network_for_each_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("photos").mkdir()
    for k, image in enumerate(IMAGES):
        Image.fromarray(image).save(f"photos/{k}.png")
    write(
        Path("samples.csv"),
        [["a", "b", "weak"], *([f"{i}.png", f"{j}.png", w] for (i, j), w in zip(TUPLES, WEAK, strict=True))],
    )
    rule = RULE + "import nslimb\n\ndef sigma(arity):\n    made = nslimb.Sigma.from_function(places, 3, arity)\n"
    Path("rules.py").write_text(rule + '    return made.with_spaces({"bar": [0], "line": [1]})\n')
    train = ("train", "rules.py:sigma", "samples.csv", "--images", "photos", "--columns", "a,b", "--method", "sl")
    done = run(*train, "--network", "bar=auto,line=auto", "--epochs", 12, "--seed", 2)
    assert done.exit_code == 0, done.output
    done = run("predict", "model", "photos/0.png", "photos/1.png")
    assert done.exit_code == 2
    assert "space: expected the kind of all images" in done.output
    done = run("predict", "model", "photos/0.png", "photos/1.png", "--space", "bar")
    assert done.exit_code == 0, done.output
    predicted = [row.split(",")[1] for row in done.output.strip().splitlines()[-2:]]
    expected = WeakClassifier.load("model").predict(["photos/0.png", "photos/1.png"], space="bar")
    assert predicted == expected.tolist()
    write(Path("test.csv"), [["image", "label"], *([f"{k}.png", NAMES[k]] for k in (0, 1, 2, 200, 201, 202))])
    done = run("evaluate", "model", "test.csv", "--images", "photos", "--json")
    assert done.exit_code == 0, done.output
    measured = json.loads(done.stdout)
    files, names = [f"photos/{k}.png" for k in (0, 1, 2, 200, 201, 202)], [NAMES[k] for k in (0, 1, 2, 200, 201, 202)]
    loaded = WeakClassifier.load("model")
    assert measured["accuracy"] == pytest.approx(loaded.score(files, names))
    expected_spaces = {"bar": loaded.score(files[:3], names[:3]), "line": loaded.score(files[3:], names[3:])}
    assert measured["spaces"] == pytest.approx(expected_spaces)
    assert f"line: {expected_spaces['line']:.1%}" in run("evaluate", "model", "test.csv", "--images", "photos").output
    done = run(*train, "--network", "bar=auto", "--out", "other")
    assert done.exit_code == 2
    assert "a network for each of the spaces bar, line" in done.output


def test_transport_takes_the_best_of_its_starts(tmp_path: Path) -> None:
    """Those of the method's settings, times the classifier's own restarts; each in a folder of its own."""
    data = bars()
    sigma = nslimb.sigma.maximum(2, 3)
    ratios = np.bincount(data.labels, minlength=3) / len(data.labels)
    made = WeakClassifier(
        sigma, method="transport", ratios=ratios, restarts=1, epochs=2, method_settings={"other_taus": ()}
    )
    made.fit(data.images, data.tuples, data.weak, folder=tmp_path)
    from nslimb.learning.history import read_history

    likelihoods = [best_likelihood(read_history(tmp_path / f"start={k}" / "history.csv"), None) for k in range(4)]
    assert not (tmp_path / "start=4").exists()
    assert best_likelihood(made.history_, None) == max(likelihoods)
    assert len(set(likelihoods)) == 4
    np.testing.assert_allclose(made.ratios_, ratios)  # type: ignore[arg-type]


def test_known_ratios_are_told_as_known(tmp_path: Path) -> None:
    """A fourth class never occurs: no group names it, and nothing is said that rests on independent labels."""
    data = bars(40)
    given = {"method": "transport", "epochs": 1, "method_settings": {"other_taus": (), "other_etas": ()}}
    made = WeakClassifier(nslimb.sigma.maximum(2, 4), ratios=[0.3, 0.3, 0.4, 0], **given)  # type: ignore[arg-type]
    made.fit(data.images, data.tuples, data.weak)
    assert made.untold_ == []
    assert made.model_.known_ratios
    made.save(tmp_path)
    assert WeakClassifier.load(tmp_path).model_.known_ratios
    estimated = {**given, "method_settings": {"ratios": "estimated", "other_taus": (), "other_etas": ()}}
    found = WeakClassifier(nslimb.sigma.maximum(2, 4), **estimated)  # type: ignore[arg-type]
    assert not found.fit(data.images, data.tuples, data.weak).model_.known_ratios


@pytest.mark.parametrize("method", ["auto", "sl", "sot-alg1"])
def test_ratios_that_a_method_would_not_look_at_are_refused(method: str) -> None:
    with pytest.raises(InvalidInput, match=r"one that takes known ratios \(transport, transport-named\)"):
        WeakClassifier(nslimb.sigma.maximum(2, 3), method=method, ratios=[0.3, 0.3, 0.4])
    with pytest.raises(InvalidInput, match="transport with ratios='estimated'"):
        WeakClassifier(
            nslimb.sigma.maximum(2, 3),
            method="transport",
            ratios=[0.3, 0.3, 0.4],
            method_settings={"ratios": "estimated"},
        )


def test_transport_in_the_command_asks_for_ratios(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("photos").mkdir()
    data = bars(40)
    for k, image in enumerate(data.images):
        Image.fromarray(image).save(f"photos/{k}.png")
    rows = [[f"{i}.png", f"{j}.png", weak] for (i, j), weak in zip(data.tuples, data.weak, strict=True)]
    write(Path("samples.csv"), [["a", "b", "weak"], *rows])
    train = ("train", "max", "samples.csv", "--images", "photos", "--columns", "a,b", "--classes", 3, "--epochs", 1)
    done = run(*train, "--method", "transport")
    assert done.exit_code == 2
    assert "ratios: expected the ratios of the classes" in done.output
    Path("r.json").write_text(json.dumps([0.3, 0.3, 0.4]))
    done = run(*train, "--method", "transport", "--ratios", "r.json")
    assert done.exit_code == 0, done.output
    assert "start 3 of 3" in done.output
    assert "known ratios of the classes" in " ".join(done.output.split())
    assert "estimated" not in done.output
    np.testing.assert_allclose(WeakClassifier.load("model").ratios_, [0.3, 0.3, 0.4])  # type: ignore[arg-type]
    done = run(*train, "--ratios", "r.json", "--out", "other")
    assert done.exit_code == 2
    told = "method: expected one that takes known ratios (transport, transport-named), as ratios are given, got recipe"
    assert told in done.output
    Path("wrong.json").write_text(json.dumps([0.5, 0.5]))
    done = run(*train, "--method", "transport", "--ratios", "wrong.json", "--out", "other")
    assert done.exit_code == 2
    assert "ratios: expected ratios of at least 0 that sum to 1" in done.output


LARGER = "weak(A) :- label(1, A), label(2, B), A >= B. weak(B) :- label(1, A), label(2, B), A < B."


@pytest.mark.parametrize(("rule", "text"), [("rules.lp", LARGER), ("rule.cnf", "p cnf 2 1\n1 2 0\n")])
def test_the_command_trains_by_a_program_and_by_a_formula(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rule: str, text: str
) -> None:
    if rule == "rules.lp":
        pytest.importorskip("clingo")
    monkeypatch.chdir(tmp_path)
    Path("photos").mkdir()
    Path(rule).write_text(text)
    data, formula = bars(40), rule == "rule.cnf"
    for k, image in enumerate(data.images):
        Image.fromarray(image).save(f"photos/{k}.png")
    weak = [larger > 0 if formula else larger for larger in data.weak]
    rows = [[f"{i}.png", f"{j}.png", s] for (i, j), s in zip(data.tuples, weak, strict=True)]
    write(Path("samples.csv"), [["a", "b", "weak"], *rows])
    train = ("train", rule, "samples.csv", "--images", "photos", "--columns", "a,b", "--epochs", 1, "--method", "sl")
    done = run(*train, *(() if formula else ("--classes", 3)))
    assert done.exit_code == 0, done.output
    found = WeakClassifier.load("model")  # without the rule: the sigma is in it
    assert found.sigma.weak_labels == ((False, True) if formula else (0, 1, 2))
    assert (found.sigma.num_classes, found.sigma.preimage_sizes()) == ((2, (1, 3)) if formula else (3, (1, 3, 5)))
    assert set(found.predict(data.images[:9]).tolist()) <= set(range(found.sigma.num_classes))


def test_a_space_whose_network_has_the_wrong_number_of_logits() -> None:
    from nslimb.networks import build_spaced

    def wide(_: int) -> nn.Module:
        return nn.Sequential(nn.Flatten(), nn.Linear(4, 7))

    made = build_spaced(
        {"a": "", "b": ""}, {"a": 7, "b": 2}, torch.ones(1, 9, dtype=torch.bool), 1, factories={"a": wide, "b": wide}
    )
    with pytest.raises(InvalidInput, match="a network with 2 logits for its space"):
        made(torch.zeros(1, 1, 2, 2))
