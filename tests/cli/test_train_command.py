"""nslimb train, predict and evaluate: from a CSV file of weak labels to predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fruit
import numpy as np
import pytest
import torch
from fruit import NAMES, TRAIN
from typer.testing import CliRunner

import nslimb
from nslimb import WeakClassifier
from nslimb.cli import app
from nslimb.cli.names import METHOD_NAMES, NETWORK_NAMES, SOURCE_NAMES
from nslimb.data import SOURCES, Samples
from nslimb.errors import DataError, InvalidInput
from nslimb.learning import METHODS
from nslimb.networks import NETWORKS


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a classifier was trained."""
    folder = tmp_path_factory.mktemp("stranger")
    fruit.draw(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = run(*TRAIN, "--size", 20, "--epochs", 12)
    assert done.exit_code == 0, done.output
    (folder / "said.txt").write_text(done.output)
    (folder / "rules.py").rename(folder / "hidden.py")  # a classifier stands alone
    return folder


def test_it_learns_and_says_what_it_learned(trained: Path) -> None:
    said = (trained / "said.txt").read_text()
    assert "45 samples to learn from and 5 for validation, 150 pictures of 20 x 20, in colour" in said
    assert "weak accuracy: " in said
    assert "of 5 validation samples" in said
    assert "estimated ratios" in said
    assert "classifier: model/classifier.pt" in said
    assert sorted(path.name for path in (trained / "model").iterdir()) == ["classifier.pt", "history.csv"]


def test_predictions_are_those_of_the_library(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trained)
    done = run("predict", "model", "photos", "--out", "p.csv", "--all")
    assert done.exit_code == 0, done.output
    rows = fruit.read(trained / "p.csv")
    assert list(rows[0]) == ["image", "label", "probability", "may_be", *(f"p({name})" for name in NAMES)]
    assert [Path(row["image"]).name for row in rows] == sorted(path.name for path in (trained / "photos").iterdir())
    found = WeakClassifier.load("model")
    files = [row["image"] for row in rows]
    np.testing.assert_allclose(
        [[float(row[f"p({name})"]) for name in NAMES] for row in rows], found.predict_proba(files), rtol=1e-4, atol=1e-9
    )
    assert [row["label"] for row in rows] == found.predict(files).tolist()
    test = {row["image"]: row["label"] for row in fruit.read(trained / "test.csv")}
    right = [test[Path(row["image"]).name] == row["label"] for row in rows if Path(row["image"]).name in test]
    assert np.mean(right) > 0.9
    done = run("evaluate", "model", "test.csv", "--images", "photos", "--json")
    measured = json.loads(done.stdout)
    assert (measured["accuracy"], measured["shortcut"]) == (np.mean(right), None)
    assert f"accuracy: {np.mean(right):.1%}" in run("evaluate", "model", "test.csv", "--images", "photos").output


def test_evaluation_says_which_shortcut_a_classifier_is_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fruit.draw(tmp_path, 60)
    monkeypatch.chdir(tmp_path)
    sigma = nslimb.Sigma.from_function(lambda y: y[0] == y[1], 3, 2, class_names=NAMES)
    rng = np.random.default_rng(0)
    pictures = rng.random((20, 16, 16, 3)).astype(np.float32)
    tuples = rng.integers(20, size=(10, 2))
    found = WeakClassifier(sigma, epochs=1, size=16).fit(pictures, tuples, [True] * 10)
    found.save("model")
    files = [row["image"] for row in fruit.read(tmp_path / "test.csv")]
    predicted = WeakClassifier.load("model").predict([Path("photos") / name for name in files])
    turned = dict(
        zip(NAMES, (*NAMES[1:], NAMES[0]), strict=True)
    )  # the pictures' classes, had it learned others' names
    fruit.write(
        tmp_path / "turned.csv", ["image", "label"], [[f, turned[p]] for f, p in zip(files, predicted, strict=True)]
    )
    done = run("evaluate", "model", "turned.csv", "--images", "photos", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["shortcut"] == {turned[name]: name for name in set(predicted)}
    told = run("evaluate", "model", "turned.csv", "--images", "photos").output
    assert "a reasoning shortcut: it reads " in told
    assert f"{turned[predicted[0]]} as {predicted[0]}" in told


@pytest.mark.parametrize("adjust", ["carot", "la"])
def test_adjusted_predictions_are_those_of_the_library(
    trained: Path, monkeypatch: pytest.MonkeyPatch, adjust: str
) -> None:
    monkeypatch.chdir(trained)
    done = run("predict", "model", "photos", "--adjust", adjust, "--out", f"{adjust}.csv")
    assert done.exit_code == 0, done.output
    rows = fruit.read(trained / f"{adjust}.csv")
    expected = WeakClassifier.load("model").predict([row["image"] for row in rows], adjust=adjust)
    assert [row["label"] for row in rows] == expected.tolist()


def test_a_finished_folder_is_not_trained_into_again(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trained)
    before = (trained / "model" / "classifier.pt").read_bytes()
    done = run(*TRAIN)
    assert done.exit_code == 2
    assert "--out: expected a folder to train into, got model, which has a trained classifier" in done.output
    assert (trained / "model" / "classifier.pt").read_bytes() == before


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    fruit.draw(tmp_path, 60)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_an_interrupt_keeps_the_last_epoch_and_the_same_command_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from nslimb.learning import loop

    command = (*TRAIN, "--size", 16, "--epochs", 4)
    kept, calls = loop.prepare, list[int]()

    def cut(*batch: Any) -> torch.Tensor:
        calls.append(1)
        if len(calls) == 3:  # of one an epoch
            raise KeyboardInterrupt
        return kept(*batch)

    assert run(*command, "--out", "whole").exit_code == 0
    monkeypatch.setattr(loop, "prepare", cut)
    done = run(*command, "--out", "cut")
    assert done.exit_code == 130
    assert "stopped; cut keeps the last whole epoch, and the same command goes on from there" in done.output
    monkeypatch.setattr(loop, "prepare", kept)
    calls.clear()
    done = run(*command, "--out", "cut")
    assert done.exit_code == 0
    assert "epoch 3/4" in done.output
    assert "epoch 2/4" not in done.output
    photos = sorted(str(path) for path in Path("photos").iterdir())
    whole, again = (WeakClassifier.load(name).predict_proba(photos) for name in ("whole", "cut"))
    np.testing.assert_array_equal(whole, again)


def test_everything_that_is_wrong_is_told_at_once_before_training(folder: Path) -> None:
    rows = [list(row.values()) for row in fruit.read(folder / "samples.csv")]
    rows[0][0] = "lost.png"
    rows[1][3] = "melon"
    rows[2][1] = ""
    rows[3] = rows[3][:2]
    (folder / "photos" / rows[4][2]).write_bytes(b"no picture")
    fruit.write(folder / "samples.csv", ["a", "b", "c", "majority"], rows)
    fruit.write(folder / "v.csv", ["a", "b", "c", "majority"], [["gone.png", rows[5][0], rows[5][1], "none"]])
    done = run(*TRAIN, "--size", 16, "--validation", "v.csv")
    assert done.exit_code == 2
    assert "6 problems with rows or pictures:" in done.output
    for told in (
        "photos/lost.png: is not there (samples.csv, row 1)",
        "samples.csv, row 2: 'melon' is no weak label of sigma (apple, lemon, none, plum)",
        "samples.csv, row 3: nothing in 'b'",
        "samples.csv, row 4: nothing in 'c', 'majority'",
        f"photos/{rows[4][2]}: cannot identify image file",
        "photos/gone.png: is not there (v.csv, row 1)",
    ):
        assert told in done.output
    assert not (folder / "model").exists()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("--columns", "a,b,d"), "samples.csv: has no column 'd'; it has 'a', 'b', 'c', 'majority'"),
        (("--weak", "minority"), "samples.csv: has no column 'minority'"),
        (("--images", "elsewhere"), "elsewhere/000.jpg: is not there (samples.csv, row 1)"),
        (("--method", "magic"), "method: expected one of sl,"),
        (("--method", "supervised"), "gold_labels: expected the gold labels"),
        (("--network", "alexnet"), "network: expected one of lenet"),
        (("--network", "lenet"), "network: expected a network for images [20, 20, 3], got lenet, which fails"),
        (("--size", "8"), "images: expected at least 16 x 16 pixels for the network 'auto', got a side of 8"),
        (("--classes", "apple,lemon"), "IndexError|is no weak label of sigma"),
        (("--device", "abacus"), "device: expected 'auto', 'cpu', 'cuda'"),
    ],
)
def test_what_cannot_be_trained_is_refused_in_words(folder: Path, change: tuple[str, str], told: str) -> None:
    done = run(*TRAIN, "--size", 20, *change)
    assert done.exit_code == 2, done.output
    assert any(part in done.output for part in told.split("|")), done.output
    assert not (folder / "model" / "classifier.pt").exists()


@pytest.mark.usefixtures("folder")
def test_pictures_of_two_sizes_need_a_size() -> None:
    done = run(*TRAIN)
    assert done.exit_code == 2
    assert "pictures of several sizes, 40 x 30 (photos/000.jpg) and 24 x 24 (photos/001.png)" in done.output


def test_a_network_of_ones_own_is_saved_by_its_weights(folder: Path) -> None:
    (folder / "net.py").write_text(
        "from torch import nn\ndef tiny(classes):\n    return nn.Sequential(nn.Flatten(), nn.Linear(768, classes))\n"
    )
    done = run(*TRAIN, "--size", 16, "--epochs", 1, "--network", "net.py:tiny")
    assert done.exit_code == 0, done.output
    done = run("predict", "model", "photos/000.jpg")
    assert done.exit_code == 2
    assert "network: expected the network of model/classifier.pt, net.py:tiny: its code is yours" in done.output
    done = run("predict", "model", "photos/000.jpg", "--network", "net.py:tiny")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("image,label,probability,may_be\nphotos/000.jpg,")


def test_samples_of_ones_own_in_python(folder: Path) -> None:
    sigma = nslimb.Sigma.from_function(lambda y: fruit.majority([NAMES[k] for k in y]), 3, 3, class_names=NAMES)
    own = Samples.from_csv("samples.csv", sigma, ["a", "b", "c"], "majority", images="photos", size=16)
    rows = fruit.read(folder / "samples.csv")
    listed = {
        (tuple(own.files[i] for i in images), sigma.weak_labels[weak])
        for part in ("train", "validation")
        for images, weak in zip(getattr(own.samples, part), getattr(own.samples, f"{part}_weak"), strict=True)
    }
    assert listed == {((row["a"], row["b"], row["c"]), row["majority"]) for row in rows}
    assert own.left_out == 0
    assert own.images.shape == (30, 16, 16, 3)
    from PIL import Image

    picture = np.asarray(Image.open(folder / "photos" / own.files[0]).resize((16, 16), Image.Resampling.BILINEAR))
    np.testing.assert_array_equal(own.images[0], picture)
    found = WeakClassifier(sigma, epochs=1).fit(own.images, own.samples)
    assert found.model_.figures["training_samples"] == 9
    again = Samples.from_csv(
        "samples.csv", sigma, ["a", "b", "c"], "majority", images="photos", size=16, validation="samples.csv"
    )
    assert len(again.samples.train) == len(again.samples.validation) == 10
    with pytest.raises(InvalidInput, match="columns: expected a column for each of sigma's 3 labels"):
        Samples.from_csv("samples.csv", sigma, ["a", "b"], "majority")
    (folder / "empty.csv").write_text("a,b,c,majority\n")
    with pytest.raises(DataError, match="has no row below its header"):
        Samples.from_csv("empty.csv", sigma, ["a", "b", "c"], "majority")


def test_sequences_are_read_as_python_prints_them(folder: Path) -> None:
    sums = nslimb.sigma.addition(1)
    files = sorted(path.name for path in (folder / "photos").iterdir())
    rows = [[*files[2 * i : 2 * i + 2], text] for i, text in enumerate(["(3, 1)", "13", " (0,0) "])]
    fruit.write(folder / "sums.csv", ["a", "b", "sum"], rows)
    own = Samples.from_csv("sums.csv", sums, ["a", "b"], "sum", images="photos", size=16, validation="sums.csv")
    assert own.samples.train_weak.tolist() == [[3, 1], [3, 1], [0, 0]]
    fruit.write(folder / "sums.csv", ["a", "b", "sum"], [*rows, [*files[:2], "(3,)"], [*files[:2], "(3, x)"]])
    with pytest.raises(DataError, match=r"2 problems.*(?s:.*)row 4: '\(3,\)' is no weak label.*(?s:.*)row 5"):
        Samples.from_csv("sums.csv", sums, ["a", "b"], "sum", images="photos", size=16)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("predict", "nowhere", "photos"), "nowhere: is no saved classifier"),
        (("predict", "model", "photos/999.png"), "photos/999.png: is not there"),
        (("predict", "model", "photos", "--out", "no/p.csv"), "--out: expected a file in a folder that is there"),
        (("predict", "model", "photos/000.jpg", "--out", "photos/000.jpg"), "--out: expected a file other than those"),
        (("predict", "model", "empty"), "empty: expected a folder with pictures, got none in it"),
        (("evaluate", "model", "samples.csv"), "samples.csv: has no column 'image', 'label'"),
        (("evaluate", "model", "wrong.csv", "--images", "photos"), "wrong.csv, row 2: 'melon' is no class (apple,"),
    ],
)
def test_predict_and_evaluate_refuse_in_words(
    trained: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(trained)
    Path("empty").mkdir(exist_ok=True)
    fruit.write(Path("wrong.csv"), ["image", "label"], [["000.jpg", "apple"], ["001.png", "melon"]])
    done = run(*arguments)
    assert done.exit_code == 2, done.output
    assert told in done.output


def test_grey_pictures_go_to_a_colour_model_but_not_the_other_way(trained: Path, folder: Path) -> None:
    from PIL import Image

    for path in (folder / "photos").iterdir():
        Image.open(path).convert("L").save(folder / "photos" / f"{path.stem}.png")
        if path.suffix == ".jpg":
            path.unlink()
    text = (folder / "samples.csv").read_text().replace(".jpg", ".png")
    (folder / "samples.csv").write_text(text)
    done = run(*TRAIN, "--size", 20, "--epochs", 1)
    assert "pictures of 20 x 20, grey" in done.output
    assert run("predict", trained / "model", "photos/000.png").exit_code == 0
    done = run("predict", "model", trained / "photos" / "000.jpg")
    assert done.exit_code == 2
    assert "images: expected images [20, 20], as the classifier was trained on, got [20, 20, 3]" in done.output


def test_classes_that_were_not_told_apart_are_marked(folder: Path) -> None:
    (folder / "rules.py").write_text("def apples(labels):\n    return 0 in labels\n")
    rows = [[row["a"], row["b"], row["c"], str(i % 2 == 0)] for i, row in enumerate(fruit.read(folder / "samples.csv"))]
    fruit.write(folder / "weak.csv", ["a", "b", "c", "apple"], rows)
    done = run("train", "rules.py:apples", "weak.csv", "--images", "photos", "--columns", "a,b,c", "--weak", "apple",
               "--classes", "apple,lemon,plum", "--size", 16, "--epochs", 1)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "the weak labels do not tell" in done.output
    [row] = csv_rows(run("predict", "model", "photos/000.jpg").stdout)
    partner = {"lemon": "plum", "plum": "lemon", "apple": ""}
    assert row["may_be"] == partner[row["label"]]


def csv_rows(text: str) -> list[dict[str, str]]:
    import csv

    return list(csv.DictReader(text.splitlines()))


def test_names_for_the_shell_are_those_there_are() -> None:
    oracles = [name for name in METHODS if METHODS.get(name).oracle]
    assert set(METHOD_NAMES) == {"auto", *METHODS} - set(oracles)
    assert set(NETWORK_NAMES) == {"auto", *NETWORKS}
    assert set(SOURCE_NAMES) == set(SOURCES)
