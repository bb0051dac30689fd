"""WeakClassifier: from weak labels to predictions, saved and loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from bars import SIGMA, bars
from torch import nn

import nslimb
from nslimb import Sigma, WeakClassifier
from nslimb.data.samples import Samples
from nslimb.data.splitting import hold_out
from nslimb.errors import BrokenFile, DataError, InvalidInput
from nslimb.learning.stopping import best_likelihood

DATA = bars()
NAMED = Sigma.from_function(max, num_classes=3, arity=2, class_names=["low", "middle", "high"])


@pytest.fixture(scope="module")
def fitted() -> WeakClassifier:
    return WeakClassifier(NAMED, epochs=6, batch_size=16).fit(DATA.images, DATA.tuples, DATA.weak)


def test_it_learns_names_from_weak_labels_alone(fitted: WeakClassifier) -> None:
    names = np.array(["low", "middle", "high"])[DATA.labels]
    assert (fitted.predict(DATA.images) == names).mean() > 0.95
    assert fitted.score(DATA.images, names) == (fitted.predict(DATA.images) == names).mean()
    assert fitted.weak_score(DATA.images, DATA.tuples, DATA.weak) > 0.95
    probabilities = fitted.predict_proba(DATA.images)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    assert fitted.ratios_ is not None
    assert np.abs(fitted.ratios_ - np.bincount(DATA.labels) / len(DATA.labels)).max() < 0.2
    assert fitted.method == "auto"
    assert fitted.model_.method_name == "recipe"
    assert fitted.untold_ == []


def test_weak_score_is_sigma_of_the_predictions(fitted: WeakClassifier) -> None:
    predicted = np.array([list(fitted.classes_).index(name) for name in fitted.predict(DATA.images)])
    wrong = [*DATA.weak[:60], *(2 - np.array(DATA.weak[60:]))]
    expected = (predicted[DATA.tuples].max(axis=1) == wrong).mean()
    assert fitted.weak_score(DATA.images, DATA.tuples, wrong) == expected


def test_classes_without_names_are_numbers_and_weak_labels_go_by_value() -> None:
    """Weak labels 10, 20, 30 are at the indices 0, 1, 2: an index is no value."""
    tens = Sigma.from_function(lambda y: 10 * (max(y) + 1), num_classes=3, arity=2)
    weak = [10 * (s + 1) for s in DATA.weak]
    found = WeakClassifier(tens, "lenet", epochs=1, batch_size=16)
    images = bars(size=28).images
    assert set(found.fit(images, DATA.tuples, weak).predict(images).tolist()) <= {0, 1, 2}
    with pytest.raises(
        InvalidInput, match=r"weak: expected a sequence of weak labels of sigma \(10, 20, 30\), by value"
    ):
        found.fit(images, DATA.tuples, DATA.weak)


FORMS = {
    "floats": lambda images: images / 255,
    "float32 tensor": lambda images: torch.from_numpy(images).float() / 255,
    "channels first": lambda images: torch.from_numpy(images).unsqueeze(1),
    "channels last": lambda images: images[..., None],
    "int64": lambda images: images.astype(np.int64),
}


@pytest.mark.parametrize("form", FORMS)
def test_images_are_taken_as_they_are_meant(fitted: WeakClassifier, form: str) -> None:
    """By dtype and range: every form of the same images gives the same predictions."""
    given = FORMS[form](DATA.images)
    np.testing.assert_allclose(fitted.predict_proba(given), fitted.predict_proba(DATA.images), atol=1e-4)
    other = WeakClassifier(NAMED, epochs=1, batch_size=16).fit(given, DATA.tuples, DATA.weak)
    same = WeakClassifier(NAMED, epochs=1, batch_size=16).fit(DATA.images, DATA.tuples, DATA.weak)
    assert other.history_[0].loss == pytest.approx(same.history_[0].loss, rel=1e-4)


class Read(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """A data set that counts what is asked of it at a time."""

    def __init__(self, images: np.ndarray) -> None:
        self.images, self.sizes = images, list[int]()

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> Any:
        return torch.from_numpy(self.images[index]), "a label that nobody looks at"

    def __getitems__(self, indices: list[int]) -> Any:
        self.sizes.append(len(indices))
        return [self[index] for index in indices]


def test_a_data_set_is_read_batch_by_batch() -> None:
    data = Read(DATA.images)
    streamed = WeakClassifier(NAMED, epochs=2, batch_size=16).fit(data, DATA.tuples, DATA.weak)
    whole = WeakClassifier(NAMED, epochs=2, batch_size=16).fit(DATA.images, DATA.tuples, DATA.weak)
    assert [row.loss for row in streamed.history_] == [row.loss for row in whole.history_]
    assert max(data.sizes) <= 2 * 16
    np.testing.assert_array_equal(streamed.predict(data), whole.predict(DATA.images))


@pytest.mark.parametrize(
    ("images", "told"),
    [
        (
            DATA.images.astype(float),
            r"images: expected uint8 from 0 to 255, or floats from 0 to 1; .*, got floats from 0 to",
        ),
        (DATA.images / 127.5 - 1, r"got floats from -1 to"),
        (DATA.images // 128, r"got whole numbers of which none is above 1"),
        (DATA.images.astype(np.int64) - 1, r"got torch.int64 beyond"),
        (DATA.images[:, :8, :8], r"images: expected at least 16 x 16 pixels for the network 'auto', got a side of 8"),
        (DATA.images[..., None].repeat(2, axis=3), r"images: expected grey or coloured images"),
        (DATA.images[:0], "images: expected at least one image"),
        (list(DATA.images), "an array or tensor of images, a list of picture files, or a torch Dataset"),
        (DATA.images.astype(object), "an array of numbers"),
    ],
)
def test_images_that_mean_nothing_are_refused(images: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        WeakClassifier(NAMED, epochs=1).fit(images, DATA.tuples, DATA.weak)


def test_scaled_images_are_taken_as_they_are_where_asked_for() -> None:
    scaled = DATA.images.astype(np.float32) / 127.5 - 1
    ours = WeakClassifier(NAMED, epochs=1, normalisation="none").fit(scaled, DATA.tuples, DATA.weak)
    same = WeakClassifier(NAMED, epochs=1).fit(DATA.images, DATA.tuples, DATA.weak)
    assert ours.history_[0].loss == pytest.approx(same.history_[0].loss, rel=1e-4)


@pytest.mark.parametrize(
    ("tuples", "weak", "told"),
    [
        (DATA.tuples[:, :1], DATA.weak, r"tuples: expected image indices \[n, 2\], as sigma has 2 labels.*, got shape"),
        (DATA.tuples + 200, DATA.weak, r"tuples: expected .* each from 0 to 239, got 240 in row 20"),
        (DATA.tuples - 1, DATA.weak, r"tuples: .* got -1 in row 0"),
        (DATA.tuples, DATA.weak[:-1], "weak: expected a weak label for each of the 120 tuples, got 119"),
        (DATA.tuples, [str(s) for s in DATA.weak], r"weak: expected .* \(0, 1, 2\), by value, got '\d'"),
        (DATA.tuples, [[s] for s in DATA.weak], "weak: expected"),
        (DATA.tuples.astype(float), DATA.weak, "tuples: .* got dtype float64"),
    ],
)
def test_samples_that_do_not_fit_are_refused(tuples: Any, weak: Any, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        WeakClassifier(NAMED, epochs=1).fit(DATA.images, tuples, weak)


def test_colour_is_learned_without_flips_crops_or_the_statistics_of_cifar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bars that are told apart by left and right would be lost by flips; and dark stays dark."""
    from nslimb.data import pixels

    def never(*_: Any) -> Any:
        raise AssertionError("flipped and cropped")

    monkeypatch.setattr(pixels, "flip_and_crop", never)
    data = bars(colour=True)
    images = data.images.transpose(0, 2, 1, 3).copy()
    found = WeakClassifier(NAMED, epochs=6, batch_size=16).fit(images, data.tuples, data.weak)
    assert found.score(images, np.array(found.classes_)[data.labels]) > 0.95
    black = pixels.normalise(torch.zeros(1, 16, 16, 3, dtype=torch.uint8), found.settings.normalisation)
    assert black.unique().tolist() == [-1.0]


@pytest.mark.parametrize(("size", "channels"), [(16, 1), (16, 3), (28, 1), (33, 3), (64, 3), (200, 3)])
def test_the_automatic_network_fits_and_is_small(size: int, channels: int) -> None:
    from nslimb.networks import small

    network = small(10, channels, size)
    assert network(torch.zeros(2, channels, size, size + 7)).shape == (2, 10)
    assert sum(weights.numel() for weights in network.parameters()) < 300_000


class Plain(nn.Module):
    """No Classifier, and its last layer is not the one defined last."""

    def __init__(self, classes: int = 3) -> None:
        super().__init__()
        self.out = nn.Linear(20, classes)
        self.inside = nn.Linear(256, 20)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.out(torch.relu(self.inside(images.flatten(1))))
        return logits


class Convolutional(nn.Module):
    """No linear layer at all."""

    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Conv2d(1, 3, 16)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.last(images).flatten(1)
        return logits


@pytest.mark.parametrize("network", [Plain(), Convolutional(), Plain], ids=["module", "without linear", "factory"])
def test_any_module_with_a_logit_a_class_will_do(tmp_path: Path, network: Any) -> None:
    found = WeakClassifier(NAMED, network, epochs=6, batch_size=16).fit(DATA.images, DATA.tuples, DATA.weak)
    assert found.weak_accuracy_ > 0.7
    found.save(tmp_path / "model")
    with pytest.raises(InvalidInput, match=r"network: expected the network of .*: its code is yours"):
        WeakClassifier.load(tmp_path / "model")
    loaded = WeakClassifier.load(tmp_path / "model", network=network)
    np.testing.assert_array_equal(loaded.predict_proba(DATA.images), found.predict_proba(DATA.images))
    with pytest.raises(InvalidInput, match=r"network: expected the network .* that was trained, got Error"):
        WeakClassifier.load(tmp_path / "model", network="lenet")


def test_a_module_with_other_outputs_is_refused() -> None:
    with pytest.raises(
        InvalidInput, match="network: expected one output for each of 3 classes, got a network with \\[5\\]"
    ):
        WeakClassifier(NAMED, Plain(5), epochs=1).fit(DATA.images, DATA.tuples, DATA.weak)


def test_validation_samples_choose_the_epoch_and_the_start() -> None:
    options: dict[str, Any] = {"epochs": 8, "batch_size": 16, "learning_rate": 0.02, "patience": 2}
    found = WeakClassifier(NAMED, restarts=1, **options).fit(DATA.images, DATA.tuples, DATA.weak)
    alone = WeakClassifier(NAMED, **options).fit(DATA.images, DATA.tuples, DATA.weak)
    values = [row.validation_log_likelihood for row in alone.history_]
    best = int(np.argmax(values))
    assert len(values) == min(8, best + 3)
    assert alone.model_.figures["validation_log_likelihood"] == pytest.approx(values[best], abs=1e-6)
    assert found.model_.figures["validation_log_likelihood"] >= values[best] - 1e-6
    assert best_likelihood(found.history_, 2) >= values[best]


def test_a_cut_fit_goes_on_to_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nslimb.learning import loop

    options: dict[str, Any] = {"epochs": 3, "batch_size": 16, "restarts": 1, "patience": 2}
    whole = WeakClassifier(NAMED, **options).fit(DATA.images, DATA.tuples, DATA.weak, folder=tmp_path / "whole")
    calls: list[int] = []

    def cut(*batch: Any) -> torch.Tensor:
        calls.append(1)
        if len(calls) == 30:  # of 7 an epoch: in the second start
            raise KeyboardInterrupt
        return kept(*batch)

    kept = loop.prepare
    monkeypatch.setattr(loop, "prepare", cut)
    with pytest.raises(KeyboardInterrupt):
        WeakClassifier(NAMED, **options).fit(DATA.images, DATA.tuples, DATA.weak, folder=tmp_path / "cut")
    monkeypatch.undo()
    again = WeakClassifier(NAMED, **options).fit(DATA.images, DATA.tuples, DATA.weak, folder=tmp_path / "cut")
    np.testing.assert_array_equal(again.predict_proba(DATA.images), whole.predict_proba(DATA.images))
    with pytest.raises(InvalidInput, match="which has a model of another configuration"):
        WeakClassifier(NAMED, **{**options, "seed": 5}).fit(
            DATA.images, DATA.tuples, DATA.weak, folder=tmp_path / "cut"
        )


def test_classes_that_cannot_be_told_apart_are_named() -> None:
    """Only whether a label is 2 is ever seen: 0 and 1 look alike."""
    blind = Sigma.from_function(lambda y: 2 in y, num_classes=3, arity=2, class_names=["a", "b", "c"])
    weak = [bool(2 in labels) for labels in DATA.labels[DATA.tuples]]
    found = WeakClassifier(blind, epochs=2).fit(DATA.images, DATA.tuples, weak)
    assert [set(group) for group in found.untold_] == [{"a", "b"}]


@pytest.mark.parametrize("method", ["sl", "sl-prior"])
def test_wrong_weak_labels_tell_no_classes_apart(method: str) -> None:
    """0 and 1 differ in the pair (0, 1) alone, which never occurs; six samples are wrongly said to be one."""
    sigma = Sigma.from_function(lambda y: "pair" if y == (0, 1) else "two" if 2 in y else "none", 3, 2)
    labels = DATA.labels[DATA.tuples]
    tuples = DATA.tuples[(labels != [0, 1]).any(axis=1)]
    weak = ["two" if 2 in row else "none" for row in DATA.labels[tuples]]
    weak[::18] = ["pair"] * len(weak[::18])
    groups = {}
    for noise in (0.0, 0.2):
        found = WeakClassifier(sigma, "lenet", method, method_settings={"noise": noise}, epochs=1)
        groups[noise] = found.fit(bars(size=28).images, tuples, weak).untold_
    assert groups[0.0] == []
    assert [set(group) for group in groups[0.2]] == [{0, 1}]


def test_a_saved_classifier_stands_alone(fitted: WeakClassifier, tmp_path: Path) -> None:
    """Another process, another folder, no rules and no pickle: the same predictions."""
    file = fitted.save(tmp_path / "model")
    assert file == tmp_path / "model" / "classifier.pt"
    np.save(tmp_path / "images.npy", DATA.images)
    program = (
        "import numpy as np, json, nslimb\n"
        "found = nslimb.WeakClassifier.load('model')\n"
        "images = np.load('images.npy')\n"
        "print(json.dumps([found.predict_proba(images).tolist(), found.predict(images, adjust='carot').tolist(),\n"
        "                  found.classes_, found.ratios_.tolist(), found.weak_accuracy_]))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    probabilities, adjusted, classes, ratios, weak_accuracy = json.loads(done.stdout)
    np.testing.assert_allclose(probabilities, fitted.predict_proba(DATA.images), atol=1e-6)
    assert adjusted == fitted.predict(DATA.images, adjust="carot").tolist()
    assert (tuple(classes), ratios) == (fitted.classes_, fitted.ratios_.tolist())  # type: ignore[union-attr]
    assert weak_accuracy == fitted.weak_accuracy_


def test_records_predicts_with_its_prior_after_loading(tmp_path: Path) -> None:
    data = bars(size=28)
    found = WeakClassifier(NAMED, "lenet", "records", method_settings={"momentum": 0.5}, epochs=1)
    found.fit(data.images, data.tuples, data.weak).save(tmp_path)
    loaded = WeakClassifier.load(tmp_path)
    np.testing.assert_array_equal(loaded.predict_proba(data.images), found.predict_proba(data.images))
    assert loaded.model_.method.settings.momentum == 0.5


def test_the_recipe_keeps_ratios_that_it_is_given() -> None:
    data, told = bars(size=28), [0.2, 0.3, 0.5]
    found = WeakClassifier(NAMED, "lenet", method_settings={"estimated_ratios": told}, epochs=1)
    np.testing.assert_allclose(found.fit(data.images, data.tuples, data.weak).ratios_, told)


def test_sequences_as_weak_labels(tmp_path: Path) -> None:
    sums = nslimb.sigma.addition(1)
    rng = np.random.default_rng(0)
    images, tuples = rng.integers(256, size=(40, 16, 16), dtype=np.uint8), np.arange(40).reshape(20, 2)
    weak = sums.decode(sums.apply(rng.integers(10, size=(20, 2))))
    found = WeakClassifier(sums, method="sl-balanced", epochs=1).fit(images, tuples, weak)
    assert found.ratios_ is None
    found.save(tmp_path)
    loaded = WeakClassifier.load(tmp_path)
    integers = [ones + 10 * tens for ones, tens in weak]  # type: ignore[misc]
    for values in (weak, integers):
        assert loaded.weak_score(images, tuples, values) == found.weak_score(images, tuples, weak)
    with pytest.raises(InvalidInput, match="weak: expected"):
        found.fit(images, tuples, [label[:1] for label in weak])  # type: ignore[index]
    with pytest.raises(InvalidInput, match="adjust: expected none"):
        loaded.predict(images, adjust="la")


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"version": 0}, BrokenFile, "is of format version none, and this nslimb reads 1; remove it and train again"),
        ({"version": 9}, BrokenFile, "is of format version 9, and this nslimb reads 1"),
        ({"classifier": "{}"}, BrokenFile, "cannot be read as a classifier"),
        ({"sigma": {}}, DataError, "a saved sigma that cannot be put together"),
    ],
)
def test_a_file_of_another_kind_says_what_to_do(
    fitted: WeakClassifier, tmp_path: Path, change: dict[str, Any], error: type[Exception], told: str
) -> None:
    file = fitted.save(tmp_path / "a.pt")
    torch.save({**torch.load(file, weights_only=True), **change}, file)
    with pytest.raises(error, match=told):
        WeakClassifier.load(file)


def test_what_cannot_be_loaded_or_saved_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is no saved classifier"):
        WeakClassifier.load(tmp_path)
    torch.save({"version": 1, "network": {}}, tmp_path / "model.pt")
    with pytest.raises(DataError, match="holds the weights of a training run"):
        WeakClassifier.load(tmp_path / "model.pt")
    with pytest.raises(InvalidInput, match=r"WeakClassifier: expected fit\(\) or load\(\)"):
        WeakClassifier(SIGMA).predict(DATA.images)
    sets = Sigma.from_function(frozenset, num_classes=3, arity=2)
    weak = [frozenset(labels) for labels in DATA.labels[DATA.tuples].tolist()]
    with pytest.raises(InvalidInput, match="weak labels: expected int, float, bool, str or tuples of them"):
        WeakClassifier(sets, epochs=1).fit(DATA.images, DATA.tuples, weak).save(tmp_path / "sets")
    assert not (tmp_path / "sets").exists()


def test_gold_labels_are_asked_for_by_oracles_alone_and_refused() -> None:
    with pytest.raises(InvalidInput, match="gold_labels: expected"):
        WeakClassifier(NAMED, method="supervised", epochs=1).fit(DATA.images, DATA.tuples, DATA.weak)


def test_labels_and_images_of_another_kind_are_refused(fitted: WeakClassifier) -> None:
    with pytest.raises(InvalidInput, match=r"labels: expected a class for each of the 240 images .*, got 'tall'"):
        fitted.score(DATA.images, ["tall"] * 240)
    with pytest.raises(InvalidInput, match="labels: expected a class for each of the 240 images"):
        fitted.score(DATA.images, ["low"])
    with pytest.raises(InvalidInput, match=r"images: expected images \[16, 16\], as the classifier was trained on"):
        fitted.predict(bars(size=20).images)


def test_training_leaves_torchs_threads_alone_and_takes_few() -> None:
    seen: list[int] = []

    class Watching(Plain):
        def forward(self, images: torch.Tensor) -> torch.Tensor:
            seen.append(torch.get_num_threads())
            return super().forward(images)

    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        WeakClassifier(NAMED, Watching, epochs=1).fit(DATA.images, DATA.tuples, DATA.weak)
        assert torch.get_num_threads() == 3
        assert 1 in seen
        seen.clear()
        WeakClassifier(NAMED, Watching, epochs=1, threads=2).fit(DATA.images, DATA.tuples, DATA.weak)
        assert 2 in seen
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("number", [2, 7, 200])
def test_apart_rows_are_held_out_without_loss(number: int) -> None:
    tuples = np.random.default_rng(number).permutation(3 * number).reshape(number, 3)
    train, validation = hold_out(tuples, 0.1, seed=1)
    assert len(train) + len(validation) == number
    assert len(validation) == max(1, round(0.1 * number))


@pytest.mark.parametrize(("images", "number"), [(3000, 1000), (300, 300), (60, 500)])
def test_no_image_is_in_both_parts(images: int, number: int) -> None:
    tuples = np.random.default_rng(images).integers(images, size=(number, 3))
    train, validation = hold_out(tuples, 0.1, seed=1)
    assert len(train) >= 0.5 * number
    assert 0 < len(validation) <= 0.2 * number
    assert not set(tuples[train].flat) & set(tuples[validation].flat)
    assert not set(train) & set(validation)


def test_rows_that_all_hang_together_are_not_thrown_away() -> None:
    tuples = np.random.default_rng(5).integers(5, size=(40, 3))
    with pytest.raises(InvalidInput, match="tuples: expected samples that share few images, or validation samples"):
        hold_out(tuples, 0.1, seed=1)


def test_samples_bring_their_own_weak_labels_and_validation() -> None:
    own = Samples(
        DATA.tuples[:90], np.array(DATA.weak[:90]), DATA.tuples[90:], np.array(DATA.weak[90:]), np.empty(0, int)
    )
    found = WeakClassifier(NAMED, epochs=1).fit(DATA.images, own)
    same = WeakClassifier(NAMED, epochs=1).fit(
        DATA.images, DATA.tuples[:90], DATA.weak[:90], validation=(DATA.tuples[90:], DATA.weak[90:])
    )
    assert found.history_[0].loss == same.history_[0].loss
    assert found.model_.figures == same.model_.figures
    with pytest.raises(InvalidInput, match="weak, validation: expected none beside Samples"):
        found.fit(DATA.images, own, DATA.weak)
    with pytest.raises(InvalidInput, match="weak: expected the weak label of each tuple, got none"):
        found.fit(DATA.images, DATA.tuples)
    with pytest.raises(InvalidInput, match="samples: expected at least one validation sample"):
        found.fit(DATA.images, replace(own, validation=own.validation[:0], validation_weak=own.validation_weak[:0]))
    with pytest.raises(InvalidInput, match="validation: expected at least one sample"):
        found.fit(DATA.images, DATA.tuples, DATA.weak, validation=(DATA.tuples[:0], []))


def test_sets_of_weak_labels_and_known_ratios(tmp_path: Path) -> None:
    """Python sets where it is not sure which weak label it is, and a method that is told the ratios."""
    rng = np.random.default_rng(1)
    weak = [{s, int(rng.integers(3))} if rng.random() < 0.3 else s for s in DATA.weak]
    ratios = np.bincount(DATA.labels) / len(DATA.labels)
    classifier = WeakClassifier(SIGMA, method="transport", ratios=ratios, epochs=6, batch_size=16)
    classifier.fit(DATA.images, DATA.tuples, weak)
    assert (classifier.predict(DATA.images) == DATA.labels).mean() > 0.9
    assert classifier.untold_ == []
    loaded = WeakClassifier.load(classifier.save(tmp_path / "model"))
    assert (loaded.predict(DATA.images) == classifier.predict(DATA.images)).all()
    assert loaded.weak_score(DATA.images, DATA.tuples, weak) > 0.9
    with pytest.raises(InvalidInput, match="ratios: expected the ratios of the classes"):
        WeakClassifier(SIGMA, method="transport", epochs=1).fit(DATA.images, DATA.tuples, DATA.weak)
