"""Methods and the training loop on small real runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import nslimb
from nslimb import Sigma
from nslimb.data import ImageSource, Samples, draw_samples
from nslimb.data.pixels import flip_and_crop, normalise, prepare
from nslimb.data.samples import Gold
from nslimb.errors import DataError, InvalidInput, TrainingFailed
from nslimb.learning import loop
from nslimb.learning.checkpoint import VERSION, load_weights
from nslimb.learning.history import Epoch, read_history
from nslimb.learning.loop import Probe, Settings, Trained, predict, train
from nslimb.learning.methods import METHODS, Batch, Method, make_method
from nslimb.learning.methods.base import NoSettings
from nslimb.learning.methods.ilp import IlpEmp
from nslimb.networks import build

SIGMA = nslimb.sigma.maximum(2, num_classes=4)
SHORT = {"ilp-emp": {"pre_epochs": 2}, "sot-emp": {"pre_epochs": 2}}  # settings that keep runs short


def bars(per_class: int = 60, classes: int = 4) -> ImageSource:
    """Images of 28 x 28 with a noisy bar whose place tells the class: learned in a few epochs."""
    rng = np.random.default_rng(0)
    labels = np.arange(per_class * classes) % classes
    images = rng.integers(60, size=(len(labels), 28, 28), dtype=np.uint8)
    for image, label in zip(images, labels, strict=True):
        image[3 + 6 * label : 7 + 6 * label] += 150
    names = tuple(map(str, range(classes)))
    return ImageSource("bars", images, labels, rng.random(len(labels)) < 0.3, names, "-", "drawn")


SOURCE = bars()


def draw(sigma: Sigma = SIGMA, number: int = 120) -> tuple[Samples, Gold]:
    return draw_samples(SOURCE, sigma, number, seed=1, validation=40)


def run(folder: Path, name: str = "sl", epochs: int = 3, **options: Any) -> Trained:
    samples, gold = draw()
    known = {"gold_ratios": gold.ratios, "gold_labels": gold.train, "given_ratios": np.full(4, 0.25)}
    method = make_method(name, SIGMA, estimated_ratios=np.full(4, 0.25), **known, **SHORT.get(name, {}), **options)
    settings = Settings(epochs=epochs, batch_size=16)
    return train(SOURCE.images, samples, SIGMA, method, settings, folder, test=Probe(samples.test, gold.test))


@pytest.mark.parametrize("name", METHODS.names)
def test_every_method_learns_the_bars(tmp_path: Path, name: str) -> None:
    trained = run(tmp_path, name, epochs=8)
    samples, gold = draw()
    scores = predict(trained.network, trained.method, torch.from_numpy(SOURCE.images), samples.test)
    accuracy = (scores.argmax(-1).numpy() == gold.test).mean()
    assert accuracy > 0.9, trained.history
    assert trained.method.oracle == (name.startswith("supervised") or name.endswith("-gold"))
    rows = read_history(tmp_path / "history.csv")
    assert rows == trained.history
    assert len(rows) == 8 + trained.method.pre_epochs
    assert rows[-1].test_accuracy == pytest.approx(accuracy)
    assert rows[-1].validation_weak_accuracy > 0.85
    assert (rows[-1].ratios is not None) == (trained.method.ratios is not None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["history.csv", "model.pt"]


def test_the_window_restarts_the_network_after_the_pre_estimation(tmp_path: Path) -> None:
    trained = run(tmp_path, "ilp-emp", epochs=2)
    phases = [row.phase for row in trained.history]
    assert phases == ["pre-estimation", "pre-estimation", "training", "training"]
    assert trained.history[2].loss > trained.history[1].loss
    assert isinstance(trained.method, IlpEmp)
    assert trained.method.window.updates == 4


def weights_of(folder: Path) -> dict[str, torch.Tensor]:
    return load_weights(folder / "model.pt")["network"]


def assert_same_weights(a: Path, b: Path) -> None:
    first, second = weights_of(a), weights_of(b)
    assert all(torch.equal(first[key], second[key]) for key in first)


def without_times(folder: Path) -> list[Epoch]:
    return [replace(row, seconds=0.0, lp_seconds=0.0) for row in read_history(folder / "history.csv")]


@pytest.mark.parametrize("name", METHODS.names)
def test_a_run_cut_in_the_middle_of_an_epoch_resumes_to_the_same_bits(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path / "whole", name, epochs=4)
    calls: list[int] = []

    def cut(*batch: Any) -> torch.Tensor:
        calls.append(1)
        if len(calls) == 20:  # of 8 an epoch
            raise KeyboardInterrupt
        return prepare(*batch)

    with monkeypatch.context() as patched:
        patched.setattr(loop, "prepare", cut)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "cut", name, epochs=4)
    assert len(read_history(tmp_path / "cut" / "history.csv")) == 2
    run(tmp_path / "cut", name, epochs=4)
    assert_same_weights(tmp_path / "whole", tmp_path / "cut")
    assert without_times(tmp_path / "whole") == without_times(tmp_path / "cut")


def test_a_killed_process_leaves_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    """A real process, killed without warning in the middle of an epoch."""
    run(tmp_path / "whole", "ilp-emp", epochs=4)
    code = f"""
        import os, signal, sys
        sys.path[:0] = {[str(Path(__file__).parent), str(Path(__file__).parent.parent)]!r}
        import test_loop
        from nslimb.learning import loop
        calls = []
        def prepare(*batch):
            calls.append(1)
            if len(calls) == 20:
                os.kill(os.getpid(), signal.SIGKILL)
            return test_loop.prepare(*batch)
        loop.prepare = prepare
        test_loop.run(test_loop.Path({str(tmp_path / "cut")!r}), "ilp-emp", epochs=4)
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    killed = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert (tmp_path / "cut" / "checkpoint.pt").exists()
    assert not (tmp_path / "cut" / "model.pt").exists()
    run(tmp_path / "cut", "ilp-emp", epochs=4)
    assert_same_weights(tmp_path / "whole", tmp_path / "cut")
    assert without_times(tmp_path / "whole") == without_times(tmp_path / "cut")


def test_a_method_sets_the_pace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path / "whole", epochs=2)
    monkeypatch.setattr(METHODS.get("sl"), "pace", lambda _, done: 1.0 if done < 0.5 else 0.0)
    run(tmp_path / "stopped", epochs=4)
    assert_same_weights(tmp_path / "whole", tmp_path / "stopped")


def test_the_same_seed_gives_the_same_weights(tmp_path: Path) -> None:
    run(tmp_path / "a")
    torch.randn(100)  # whatever else uses torch's own generator
    run(tmp_path / "b")
    assert_same_weights(tmp_path / "a", tmp_path / "b")


def test_training_leaves_torchs_generator_alone(tmp_path: Path) -> None:
    torch.manual_seed(5)
    expected = torch.randn(3)
    torch.manual_seed(5)
    run(tmp_path, epochs=1)
    assert torch.equal(torch.randn(3), expected)


@pytest.mark.parametrize("name", METHODS.names)
def test_only_oracles_learn_from_gold(tmp_path: Path, name: str) -> None:
    """With gold labels, gold ratios and the probe's labels permuted, every other method has the same weights."""
    samples, gold = draw()
    rng = np.random.default_rng(1)
    settings = Settings(epochs=2, batch_size=16)
    for part, permuted in (("a", False), ("b", True)):
        labels, ratios, test = gold.train, np.array([0.4, 0.3, 0.2, 0.1]), gold.test
        if permuted:
            labels = rng.permutation(labels.ravel()).reshape(labels.shape)
            ratios, test = ratios[::-1].copy(), rng.permutation(test)
        known = {"gold_ratios": ratios, "gold_labels": labels, "given_ratios": np.full(4, 0.25)}
        method = make_method(name, SIGMA, **known, **SHORT.get(name, {}))
        train(SOURCE.images, samples, SIGMA, method, settings, tmp_path / part, test=Probe(samples.test, test))
    first, second = weights_of(tmp_path / "a"), weights_of(tmp_path / "b")
    assert all(torch.equal(first[key], second[key]) for key in first) != METHODS.get(name).oracle


def test_a_checkpoint_of_another_configuration_is_refused(tmp_path: Path) -> None:
    samples, _ = draw()

    class Stops(Method):
        def loss(self, batch: Batch) -> torch.Tensor:
            return batch.logits.sum(dim=(1, 2))

        def end_epoch(self, epoch: int, predict: Any) -> bool:  # noqa: ARG002
            if epoch == 1:
                raise KeyboardInterrupt
            return False

    with pytest.raises(KeyboardInterrupt):
        train(SOURCE.images, samples, SIGMA, Stops(SIGMA, NoSettings()), Settings(epochs=3, batch_size=16), tmp_path)
    assert (tmp_path / "checkpoint.pt").exists()
    with pytest.raises(
        DataError, match=r"checkpoint\.pt: expected a checkpoint of this configuration, got one of another"
    ):
        run(tmp_path)


def test_a_broken_or_malicious_checkpoint_is_refused(tmp_path: Path) -> None:
    (tmp_path / "checkpoint.pt").write_bytes(b"not a checkpoint")
    with pytest.raises(DataError, match=r"checkpoint\.pt: cannot be read as weights"):
        run(tmp_path)

    class Evil:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "owned"),)

    torch.save({"network": Evil()}, tmp_path / "checkpoint.pt")
    with pytest.raises(DataError, match="cannot be read as weights"):
        run(tmp_path)
    assert not (tmp_path / "owned").exists()


def test_nan_stops_the_run_and_says_where(tmp_path: Path) -> None:
    samples, _ = draw()

    class Breaks(Method):
        calls = 0

        def loss(self, batch: Batch) -> torch.Tensor:
            self.calls += 1
            return batch.logits.sum(dim=(1, 2)) * (float("nan") if self.calls == 11 else 1.0)

    with pytest.raises(
        TrainingFailed, match=r"the loss is nan, not finite in epoch 2, batch 3; the last whole epoch is kept"
    ):
        train(SOURCE.images, samples, SIGMA, Breaks(SIGMA, NoSettings()), Settings(epochs=5, batch_size=16), tmp_path)
    assert len((tmp_path / "history.csv").read_text().splitlines()) == 2


@pytest.mark.parametrize("name", ["sl", "records", "ilp-alg1"])
def test_scores_that_are_no_numbers_say_epoch_and_batch_too(tmp_path: Path, name: str) -> None:
    samples, _ = draw()
    method = make_method(name, SIGMA, estimated_ratios=np.full(4, 0.25))
    settings = Settings(epochs=3, batch_size=16, learning_rate=1e25)
    with pytest.raises(TrainingFailed, match=r"not finite in epoch 1, batch \d+;"):
        train(SOURCE.images, samples, SIGMA, method, settings, tmp_path)


def cut_after(folder: Path, epochs: int, method: Method, images: np.ndarray = SOURCE.images, **options: Any) -> None:
    """Train until the end of an epoch, then stop as a crash would."""
    samples, _ = draw()
    original = method.end_epoch

    def end_epoch(epoch: int, predict: Any) -> bool:
        restart = original(epoch, predict)
        if epoch == epochs:
            raise KeyboardInterrupt
        return restart

    method.end_epoch = end_epoch  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        train(images, samples, SIGMA, method, Settings(epochs=3, batch_size=16), folder, **options)
    method.end_epoch = original  # type: ignore[method-assign]


def test_a_change_of_any_setting_is_another_configuration(tmp_path: Path) -> None:
    samples, gold = draw()
    settings = Settings(epochs=3, batch_size=16)
    ratios = np.full(4, 0.25)
    pairs = [
        (
            make_method("ilp-alg1", SIGMA, estimated_ratios=ratios),
            make_method("ilp-alg1", SIGMA, estimated_ratios=[0.4, 0.2, 0.2, 0.2]),
        ),
        (make_method("records", SIGMA), make_method("records", SIGMA, debias="predict")),
        (
            make_method("supervised", SIGMA, gold_labels=gold.train),
            make_method("supervised", SIGMA, gold_labels=gold.train[::-1].copy()),
        ),
        (make_method("sl", SIGMA), make_method("sl", SIGMA, proofs=1)),
        (make_method("ilp-emp", SIGMA, pre_epochs=2), make_method("ilp-emp", SIGMA, pre_epochs=2, epsilon=0.5)),
    ]
    for number, (before, after) in enumerate(pairs):
        cut_after(tmp_path / str(number), 1, before)
        with pytest.raises(DataError, match="got one of another"):
            train(SOURCE.images, samples, SIGMA, after, settings, tmp_path / str(number))
    cut_after(tmp_path / "images", 1, make_method("sl", SIGMA))
    with pytest.raises(DataError, match="got one of another"):
        train(255 - SOURCE.images, samples, SIGMA, make_method("sl", SIGMA), settings, tmp_path / "images")


@pytest.mark.parametrize("name", ["records", "ilp-emp"])
def test_a_method_starts_every_run_afresh(tmp_path: Path, name: str) -> None:
    samples, _ = draw()
    method = make_method(name, SIGMA, **SHORT.get(name, {}))
    for part in ("a", "b"):
        train(SOURCE.images, samples, SIGMA, method, Settings(epochs=2, batch_size=16), tmp_path / part)
    assert_same_weights(tmp_path / "a", tmp_path / "b")


def test_the_history_is_whole_after_a_cut_between_two_files(tmp_path: Path) -> None:
    cut_after(tmp_path, 1, make_method("sl", SIGMA))
    (tmp_path / "history.csv").unlink()
    (tmp_path / ".checkpoint.pt.left").write_bytes(b"half a file")
    run(tmp_path)
    assert len((tmp_path / "history.csv").read_text().splitlines()) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["history.csv", "model.pt"]


def test_weights_of_another_network_are_no_start(tmp_path: Path) -> None:
    samples, _ = draw()
    torch.save({"version": VERSION, "network": {"a": torch.zeros(1)}}, tmp_path / "other.pt")
    with pytest.raises(InvalidInput, match="start_from: expected weights of lenet for these classes"):
        train(
            SOURCE.images,
            samples,
            SIGMA,
            make_method("sl", SIGMA),
            Settings(epochs=1),
            tmp_path / "a",
            start_from=tmp_path / "other.pt",
        )


def test_an_ilp_run_may_start_from_another_model_or_warm_up(tmp_path: Path) -> None:
    run(tmp_path / "sl", epochs=6)
    samples, gold = draw()
    method = make_method("ilp-gold", SIGMA, gold_ratios=gold.ratios)
    settings = Settings(epochs=1, batch_size=16)
    started = train(
        SOURCE.images, samples, SIGMA, method, settings, tmp_path / "b", start_from=tmp_path / "sl" / "model.pt"
    )
    assert started.history[0].train_weak_accuracy > 0.9
    warmed = run(tmp_path / "c", "ilp-alg1", epochs=2, warm_up=2)
    plain = run(tmp_path / "d", "sl", epochs=2)
    assert [row.loss for row in warmed.history] == [row.loss for row in plain.history]


def test_mixed_precision_learns_as_well_with_other_roundings(tmp_path: Path) -> None:
    samples, gold = draw()
    histories = {}
    for mixed in (False, True):
        settings = Settings(epochs=8, batch_size=16, mixed_precision=mixed)
        probe = Probe(samples.test, gold.test)
        folder = tmp_path / str(mixed)
        trained = train(SOURCE.images, samples, SIGMA, make_method("sl", SIGMA), settings, folder, test=probe)
        histories[mixed] = trained.history
        assert all(weights.dtype == torch.float32 for weights in trained.network.parameters())
    plain, mixed = histories[False], histories[True]
    assert mixed[0].loss == pytest.approx(plain[0].loss, rel=0.05)
    assert mixed[0].loss != plain[0].loss
    assert mixed[-1].test_accuracy is not None
    assert mixed[-1].test_accuracy > 0.9


def test_the_test_set_is_looked_at_every_few_epochs_and_at_the_end(tmp_path: Path) -> None:
    samples, gold = draw()
    settings = Settings(epochs=5, batch_size=16)
    for every in (1, 2, 9):
        probe, folder = Probe(samples.test, gold.test, every), tmp_path / str(every)
        train(SOURCE.images, samples, SIGMA, make_method("sl", SIGMA), settings, folder, test=probe)
        looked = [row.epoch for row in read_history(folder / "history.csv") if row.test_accuracy is not None]
        assert looked == {1: [1, 2, 3, 4, 5], 2: [2, 4, 5], 9: [5]}[every]
    assert_same_weights(tmp_path / "1", tmp_path / "9")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs: expected an integer of at least 1, got 0"),
        ({"batch_size": 0}, "batch_size: expected an integer of at least 1, got 0"),
        ({"seed": -1}, "seed: expected an integer of at least 0, got -1"),
        ({"device": "cuda:99"}, "device: expected .* got 'cuda:99'"),
        ({"learning_rate": 0.0}, "learning_rate: expected a number above 0"),
        (
            {"network": "alexnet"},
            "network: expected one of lenet, lenet45, symbolnet, resnet18, resnet-narrow, or .*, got 'alexnet'",
        ),
        ({"network": "symbolnet"}, r"network: expected a network for images \[28, 28\], got symbolnet, which fails"),
        ({"device": "abacus"}, "device: expected 'auto', 'cpu', 'cuda' or another device that is there, got 'abacus'"),
    ],
)
def test_bad_settings_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    samples, _ = draw()
    with pytest.raises(InvalidInput, match=message):
        train(SOURCE.images, samples, SIGMA, make_method("sl", SIGMA), Settings(**options), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_network_with_the_wrong_number_of_outputs_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("from nslimb.networks import lenet\ndef seven(_): return lenet(7)\n")
    samples, _ = draw()
    settings = Settings(network="mine.py:seven")
    message = r"network: expected one output for each of 4 classes, got mine\.py:seven with 7"
    with pytest.raises(InvalidInput, match=message):
        train(SOURCE.images, samples, SIGMA, make_method("sl", SIGMA), settings, tmp_path / "run", base=tmp_path)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("adam", "method: expected one of sl, .*supervised-decay, or your own as .*, got 'adam'"),
        ("ilp-gold", "gold_ratios: expected the true ratios, for an oracle"),
        ("supervised", "gold_labels: expected the gold labels"),
    ],
)
def test_methods_say_what_they_need(name: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make_method(name, SIGMA)


def test_ratios_that_are_not_given_are_estimated_from_the_training_samples(tmp_path: Path) -> None:
    samples, _ = draw()
    method = make_method("ilp-alg1", SIGMA)
    with pytest.raises(
        InvalidInput, match="estimated_ratios: expected ratios, or training samples to estimate them from"
    ):
        method.ratios  # noqa: B018
    train(SOURCE.images, samples, SIGMA, method, Settings(epochs=1, batch_size=16), tmp_path)
    assert method.ratios is not None
    expected = nslimb.estimate_marginal(samples.train_weak, SIGMA, regularise="entropy").ratios
    np.testing.assert_allclose(method.ratios, expected)


@pytest.mark.parametrize("name", METHODS.names)
def test_settings_of_another_method_are_refused_by_name(name: str) -> None:
    with pytest.raises(InvalidInput, match=rf"settings of {name}: expected .*got 'patience'"):
        make_method(name, SIGMA, patience=3)


def test_hwf_windows_keep_positions_apart() -> None:
    method = make_method("ilp-emp", nslimb.sigma.formula(3))
    assert method.ratios is not None
    assert method.ratios.shape == (3, 13)


@pytest.mark.parametrize(
    ("name", "shape", "features"),
    [
        ("lenet", (28, 28), 256),
        ("lenet45", (45, 45), 1024),
        ("symbolnet", (45, 45), 30976),
        ("resnet18", (32, 32, 3), 512),
        ("resnet-narrow", (32, 32, 3), 128),
    ],
)
def test_networks_expose_features_and_head(name: str, shape: tuple[int, ...], features: int) -> None:
    network = build(name, 13, seed=1).eval()
    images = normalise(torch.randint(256, (2, *shape), dtype=torch.uint8))
    found = network.features(images)
    assert found.shape == (2, features)
    torch.testing.assert_close(network.head(found), network(images))
    assert network(images).shape == (2, 13)
    again = build(name, 13, seed=1)
    assert all(torch.equal(a, b) for a, b in zip(network.parameters(), again.parameters(), strict=True))
    other = next(iter(build(name, 13, seed=2).parameters()))
    assert not torch.equal(next(iter(network.parameters())), other)


def test_resnet_18_has_the_usual_size() -> None:
    assert sum(weights.numel() for weights in build("resnet18", 10, 1).parameters()) == 11_173_962


def test_pixels_are_scaled() -> None:
    grey = normalise(torch.tensor([[[0, 255]]], dtype=torch.uint8))
    assert grey.tolist() == [[[[-1.0, 1.0]]]]
    colour = normalise(torch.full((1, 1, 1, 3), 128, dtype=torch.uint8), "cifar10")
    expected = (128 / 255 - torch.tensor([0.4914, 0.4822, 0.4465])) / torch.tensor([0.2470, 0.2435, 0.2616])
    torch.testing.assert_close(colour.flatten(), expected)


def test_augmentation_flips_and_shifts_each_image_by_itself() -> None:
    images = (
        torch.arange(1, 32 * 32 * 3 + 1).remainder(251).add(1).to(torch.uint8).view(1, 32, 32, 3).repeat(64, 1, 1, 1)
    )
    augmented = flip_and_crop(images, torch.Generator().manual_seed(0))
    assert augmented.shape == images.shape
    assert len(augmented.flatten(1).unique(dim=0)) > 40
    framed = torch.nn.functional.pad(images[0], (0, 0, 4, 4, 4, 4))
    both = (framed, framed.flip(1))
    for image in augmented:
        crops = (frame[t : t + 32, left : left + 32] for frame in both for t in range(9) for left in range(9))
        assert any(torch.equal(image, crop) for crop in crops)


def changed(**parts: Any) -> Samples:
    return replace(draw()[0], **parts)


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (
            changed(train=draw()[0].train[:, :1]),
            r"samples.train: expected image indices \[n, 2\], as sigma has 2 labels, .*, got shape \[120, 1\]",
        ),
        (
            changed(train=draw()[0].train.repeat(2, axis=1)),
            r"samples.train: expected .* got shape \[120, 4\]",
        ),
        (changed(train=draw()[0].train + 240), r"samples.train: expected .* each from 0 to 239, got \d+ in row 0"),
        (changed(validation=draw()[0].validation - 240), r"samples.validation: expected .*, got -\d+ in row 0"),
        (changed(train_weak=draw()[0].train_weak[:-1]), r"samples.train_weak: expected 120 integers, .* got shape"),
        (changed(train_weak=draw()[0].train_weak + 1), r"samples.train_weak: expected .* \(0 to 3\), got 4"),
        (changed(train_weak=draw()[0].train_weak.astype(str)), r"samples.train_weak: expected .* got dtype <U"),
        (changed(validation_weak=draw()[0].validation_weak[:3]), r"samples.validation_weak: expected 40 integers"),
    ],
)
def test_samples_that_do_not_fit_sigma_or_the_images_are_refused(
    tmp_path: Path, samples: Samples, message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        train(SOURCE.images, samples, SIGMA, make_method("sl", SIGMA), Settings(epochs=1), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_float_images_are_read_by_their_range(tmp_path: Path) -> None:
    """From 0 to 1 they are what bytes from 0 to 255 are; anything else is refused."""
    samples, _ = draw()
    runs = []
    for part, images in (("bytes", SOURCE.images), ("floats", (SOURCE.images / 255).astype(np.float32))):
        settings = Settings(epochs=1, batch_size=16)
        runs.append(train(images, samples, SIGMA, make_method("sl", SIGMA), settings, tmp_path / part))
    assert runs[0].history[0].loss == pytest.approx(runs[1].history[0].loss, rel=1e-4)
    images = SOURCE.images.astype(np.float32)
    with pytest.raises(InvalidInput, match="images: expected uint8 from 0 to 255, or floats from 0 to 1;"):
        train(images, samples, SIGMA, make_method("sl", SIGMA), Settings(epochs=1), tmp_path / "other")


def test_a_finished_folder_is_not_trained_into_again(tmp_path: Path) -> None:
    run(tmp_path, epochs=1)
    before = (tmp_path / "model.pt").read_bytes()
    with pytest.raises(InvalidInput, match=r"folder: expected a folder to train into, got .* has a trained model"):
        run(tmp_path, epochs=1)
    assert (tmp_path / "model.pt").read_bytes() == before


def test_early_stopping_takes_the_best_epoch_by_weak_likelihood(tmp_path: Path) -> None:
    samples, gold = draw()
    settings = Settings(epochs=12, batch_size=16, learning_rate=0.01, patience=2)
    probe = Probe(samples.test, gold.test)
    stopped = train(SOURCE.images, samples, SIGMA, make_method("sl", SIGMA), settings, tmp_path / "a", test=probe)
    values = [row.validation_log_likelihood for row in stopped.history]
    best = int(np.argmax(values))
    assert len(values) == min(12, best + 3)
    until = train(
        SOURCE.images,
        samples,
        SIGMA,
        make_method("sl", SIGMA),
        replace(settings, epochs=best + 1, patience=None),
        tmp_path / "b",
    )
    assert len(until.history) == best + 1
    assert_same_weights(tmp_path / "a", tmp_path / "b")
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["history.csv", "model.pt"]


def test_the_digest_of_old_settings_stays() -> None:
    """A checkpoint of before must be taken up: new settings count where they are used."""
    learned = Settings().learned()
    assert set(learned) == {
        "network",
        "epochs",
        "batch_size",
        "learning_rate",
        "seed",
        "augment",
        "normalisation",
        "mixed_precision",
        "compile",
    }
    assert Settings(patience=3).learned()["patience"] == 3


def test_threads_are_few_for_small_networks_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        run(tmp_path, epochs=1)
        assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(before)
    assert "training: on cpu, with 1 thread\n" in capsys.readouterr().err
