"""Images of one's own: folders of pictures and npz files."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from nslimb.data import load, open_source, source_digest
from nslimb.errors import DataError, InvalidInput
from nslimb.sigma import CIFAR10_CLASSES


def picture(path: Path, value: int | tuple[int, ...] = 7, size: tuple[int, int] = (5, 4), mode: str = "L") -> None:
    """A picture of one value, ``size`` wide and high."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, size, value).save(path)


def folder_of(root: Path, counts: dict[str, int]) -> Path:
    """A folder with pictures of each class; the value of a picture tells which one it is."""
    value = 0
    for name, count in counts.items():
        for index in range(count):
            picture(root / name / f"{index:03}.png", value)
            value += 1
    return root


def test_a_folder_with_one_sub_folder_a_class(tmp_path: Path) -> None:
    folder_of(tmp_path / "pets", {"cat": 10, "ant": 20, "bee": 7})
    source = open_source("pets", base=tmp_path)
    assert source.name == "pets"
    assert source.class_names == ("ant", "bee", "cat")
    assert source.images.shape == (37, 4, 5)
    assert source.images.dtype == np.uint8
    of_value = np.repeat([2, 0, 1], [10, 20, 7])  # in the order in which they were drawn
    np.testing.assert_array_equal(source.labels, of_value[source.images[:, 0, 0]])
    assert len(np.unique(source.images[:, 0, 0])) == 37
    assert np.bincount(source.labels[source.is_test]).tolist() == [6, 2, 3]
    assert source.normalisation == "half"
    assert source.origin == "the folder pets"


def test_the_split_of_a_folder_is_always_the_same(tmp_path: Path) -> None:
    one = folder_of(tmp_path / "one", {"a": 30, "b": 40})
    shutil.copytree(one, tmp_path / "elsewhere" / "two")
    (one / "README.txt").write_text("about these images")
    first = open_source(one)
    second = open_source("two", base=tmp_path / "elsewhere", class_names=["b", "a"])
    assert first.is_test.sum() == 21
    assert set(first.images[first.is_test, 0, 0]) == set(second.images[second.is_test, 0, 0])
    assert first.checksum() == open_source(one).checksum() != second.checksum()  # the classes have changed places
    np.testing.assert_array_equal(first.labels, 1 - second.labels)


def test_train_and_test_above_the_classes(tmp_path: Path) -> None:
    folder_of(tmp_path / "train", {"a": 5, "b": 6})
    folder_of(tmp_path / "test", {"a": 2, "b": 1})
    (tmp_path / ".cache" / "x").mkdir(parents=True)
    source = open_source(tmp_path)
    assert np.bincount(source.labels[~source.is_test]).tolist() == [5, 6]
    assert np.bincount(source.labels[source.is_test]).tolist() == [2, 1]
    (tmp_path / "val" / "a").mkdir(parents=True)
    with pytest.raises(DataError, match=r"expected the two folders train and test .*, got test, train, val"):
        open_source(tmp_path)
    shutil.rmtree(tmp_path / "val")
    picture(tmp_path / "test" / "c" / "1.png")
    with pytest.raises(DataError, match="same classes in train and test, got a, b in train and a, b, c in test"):
        open_source(tmp_path)
    shutil.rmtree(tmp_path / "test")
    with pytest.raises(DataError, match=r"expected the two folders train and test .*, got train"):
        open_source(tmp_path)


def test_classes_may_be_called_train_and_test(tmp_path: Path) -> None:
    source = open_source(folder_of(tmp_path, {"train": 4, "car": 4, "test": 4}))
    assert source.class_names == ("car", "test", "train")
    assert source.is_test.sum() == 3


def test_sigma_says_which_class_is_which(tmp_path: Path) -> None:
    folder_of(tmp_path, {"rock": 4, "paper": 4, "scissors": 4})
    named = open_source(tmp_path, class_names=("rock", "scissors", "paper"))
    assert named.class_names == ("rock", "scissors", "paper")
    assert named.labels[named.images[:, 0, 0] < 4].tolist() == [0] * 4
    unnamed = open_source(tmp_path, class_names=("0", "1", "2"))
    assert unnamed.class_names == ("paper", "rock", "scissors")
    with pytest.raises(
        InvalidInput,
        match=r"expected the 3 classes of sigma \(rock, scissors, lizard\), got .* \(paper, rock, scissors\)",
    ):
        open_source(tmp_path, class_names=("rock", "scissors", "lizard"))


def test_numbered_folders_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    folder_of(tmp_path, {str(k): 2 for k in range(12)})
    source, named = open_source(tmp_path), open_source(tmp_path, class_names=list("abcdefghijkl"))
    assert source.class_names == tuple(map(str, range(12)))
    assert named.class_names == tuple("abcdefghijkl")
    assert source.checksum() == named.checksum()  # names for the classes do not change the split


def test_grey_stays_grey_and_one_coloured_picture_colours_all(tmp_path: Path) -> None:
    folder_of(tmp_path, {"a": 3, "b": 3})
    picture(tmp_path / "a" / "bits.png", 1, mode="1")
    palette = Image.new("L", (5, 4), 90).convert("P")
    palette.save(tmp_path / "a" / "palette.gif")
    assert open_source(tmp_path).images.shape == (8, 4, 5)
    picture(tmp_path / "b" / "001a.png", (1, 2, 3), mode="RGB")
    images = open_source(tmp_path).images
    assert images.shape == (9, 4, 5, 3)
    assert images[:, 0, 0].tolist() == [
        [0, 0, 0],
        [1, 1, 1],
        [2, 2, 2],
        [255, 255, 255],
        [90, 90, 90],
        [3, 3, 3],
        [4, 4, 4],
        [1, 2, 3],
        [5, 5, 5],
    ]


def test_what_is_transparent_shows_white_paper(tmp_path: Path) -> None:
    for index in range(2):
        picture(tmp_path / "a" / f"{index}.png", (30, 0), mode="LA")
        picture(tmp_path / "b" / f"{index}.png", (30, 255), mode="LA")
    images = open_source(tmp_path).images
    assert images.shape == (4, 4, 5)
    assert images[:, 0, 0].tolist() == [255, 255, 30, 30]
    picture(tmp_path / "b" / "2.png", (10, 20, 40, 0), mode="RGBA")
    assert open_source(tmp_path).images[4, 0, 0].tolist() == [255, 255, 255]


def test_pictures_in_folders_below_and_other_files(tmp_path: Path) -> None:
    folder_of(tmp_path, {"a": 2, "b": 2})
    picture(tmp_path / "a" / "more" / "x.JPG", 200)
    picture(tmp_path / "a" / ".hidden.png", 201)
    (tmp_path / "a" / "notes.txt").write_text("no picture")
    assert len(open_source(tmp_path).images) == 5


def test_mixed_sizes_are_told_with_two_examples(tmp_path: Path) -> None:
    folder_of(tmp_path, {"a": 3, "b": 3})
    picture(tmp_path / "b" / "wide.png", size=(9, 4))
    with pytest.raises(
        DataError, match=r"expected pictures of one size, got 5 x 4 \(a/000\.png\) and 9 x 4 \(b/wide\.png\)"
    ):
        open_source(tmp_path)


def test_every_broken_picture_is_named_at_once(tmp_path: Path) -> None:
    folder_of(tmp_path, {"a": 4, "b": 4})
    (tmp_path / "a" / "001.png").write_bytes(b"no picture")
    whole = (tmp_path / "a" / "002.png").read_bytes()
    (tmp_path / "a" / "002.png").write_bytes(whole[:45])
    (tmp_path / "b" / "000.png").write_bytes(b"")
    Image.fromarray(np.zeros((4, 5), np.uint16)).save(tmp_path / "b" / "003.png")
    picture(tmp_path / "b" / "wide.png", size=(9, 4))
    with pytest.raises(DataError) as told:
        open_source(tmp_path)
    first, *rest = str(told.value).splitlines()
    assert first.endswith("4 of 9 pictures cannot be read:")
    assert [line.split(":")[0].strip() for line in rest] == ["a/001.png", "a/002.png", "b/000.png", "b/003.png"]
    assert "expected 8 bits a channel" in rest[3]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({}, "expected a folder with one sub-folder a class, got no sub-folder"),
        ({"a": 3, "b": 1}, r"at least 2 images of every class, .* got none for b \(test\)"),
        ({"train/a": 3, "train/b": 3, "test/a": 3, "test/b": 0}, r"pictures in every class, got none for b \(test\)"),
        ({"a": 3, "b": 0, "c": 0}, "expected pictures in every class, got none for b, c"),
    ],
)
def test_classes_without_images_are_named(tmp_path: Path, counts: dict[str, int], message: str) -> None:
    for name in counts:
        (tmp_path / name).mkdir(parents=True)
    folder_of(tmp_path, counts)
    with pytest.raises(DataError, match=message):
        open_source(tmp_path)


def test_a_folder_that_may_not_be_read_is_no_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder_of(tmp_path, {"a": 3, "b": 3})
    scan = os.scandir

    def guarded(path: Path) -> object:
        if Path(path).name == "b":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", guarded)
    for ask in (open_source, source_digest):
        with pytest.raises(DataError, match=r"cannot be opened \(.*Permission denied"):
            ask(tmp_path)


def test_what_does_not_exist_tells_what_does(tmp_path: Path) -> None:
    for ask in (open_source, source_digest):
        with pytest.raises(InvalidInput) as told:
            ask("svhn", base=tmp_path)
        for part in (
            "mnist5k, mnist, cifar10, hwf, hwf-embedded",
            "sub-folder a class",
            "npz file",
            f"{tmp_path}/svhn",
        ):
            assert part in str(told.value)


def stored(path: Path, **arrays: object) -> Path:
    """An npz file of 12 images of 3 classes, with other arrays in place of these."""
    images = np.arange(12, dtype=np.uint8).repeat(20).reshape(12, 4, 5)
    whole = {"images": images, "labels": np.arange(12) % 3, **arrays}
    np.savez(path, **{name: values for name, values in whole.items() if values is not None})  # type: ignore[arg-type]
    return path


def test_an_npz_file_of_images_and_labels(tmp_path: Path) -> None:
    stored(tmp_path / "toy.npz")
    source = open_source("toy.npz", base=tmp_path)
    assert source.class_names == ("0", "1", "2")
    assert source.labels.tolist() == [0, 1, 2] * 4
    assert source.images[:, 0, 0].tolist() == list(range(12))
    assert Counter(source.labels[source.is_test].tolist()) == {0: 1, 1: 1, 2: 1}
    named = open_source(tmp_path / "toy.npz", class_names=("rock", "paper", "scissors"))
    assert named.class_names == ("rock", "paper", "scissors")
    np.testing.assert_array_equal(named.labels, source.labels)
    np.testing.assert_array_equal(named.is_test, source.is_test)


def test_an_npz_file_may_have_names_and_a_split(tmp_path: Path) -> None:
    words, split = np.array(["b", "c", "a"] * 4), np.array(["train", "test"] * 6)
    path = stored(tmp_path / "toy.npz", labels=words, split=split, images=np.zeros((12, 4, 5, 3), np.uint8))
    source = open_source(path)
    assert source.class_names == ("a", "b", "c")
    assert source.labels.tolist() == [1, 2, 0] * 4
    assert source.is_test.tolist() == [False, True] * 6
    assert source.images.shape == (12, 4, 5, 3)
    assert source.normalisation == "half"
    assert open_source(path, class_names=("c", "a", "b")).labels.tolist() == [2, 0, 1] * 4
    for listed in (np.array(["z", "a", "b", "c"])[1:][::-1], np.array([b"c", b"b", b"a"])):
        ordered = open_source(stored(path, labels=words.astype("S"), class_names=listed, split=split.astype("S")))
        assert ordered.class_names == ("c", "b", "a")
        assert ordered.labels.tolist() == [1, 0, 2] * 4
    indexed = open_source(stored(path, class_names=np.array(["x", "u", "w"])))
    assert indexed.class_names == ("x", "u", "w")
    assert indexed.labels.tolist() == [0, 1, 2] * 4
    assert open_source(path, class_names=("u", "w", "x")).labels.tolist() == [2, 0, 1] * 4


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"labels": None}, "is no npz file with images, labels"),
        ({"labels": np.array([object()] * 12)}, "is no npz file with images, labels"),
        ({"images": np.zeros((12, 4, 5))}, r"expected uint8 images .*, got float64 \[12, 4, 5\]"),
        ({"images": np.zeros((12, 4, 5, 4), np.uint8)}, r"\[N, H, W\] or \[N, H, W, 3\], got uint8 \[12, 4, 5, 4\]"),
        ({"images": np.zeros((0, 4, 5), np.uint8), "labels": np.zeros(0, int)}, r"got uint8 \[0, 4, 5\]"),
        ({"labels": np.arange(11) % 3}, r"expected 12 labels, whole numbers or names, got int64 \[11\]"),
        ({"labels": np.linspace(0, 1, 12)}, r"whole numbers or names, got float64 \[12\]"),
        ({"split": np.array(["train", "valid"] * 6)}, "each 'train' or 'test', got 'train', 'valid'"),
        ({"split": np.arange(12) > 6}, r"each 'train' or 'test', got bool \[12\]"),
        ({"split": np.array(["train"] * 12)}, r"got none for 0 \(test\), 1 \(test\), 2 \(test\)"),
        ({"class_names": np.array(["a", "b"])}, "indices into class_names, got labels from 0 to 2"),
        ({"class_names": np.array(["a", "b", "b"])}, "expected distinct class_names"),
        ({"class_names": np.array(["a", "b", "c", "d"])}, r"none for d \(train\), d \(test\)"),
        ({"labels": np.array(list("abd") * 4), "class_names": np.array(list("abc"))}, r"among .* \(a, b, c\), got d"),
        ({"labels": np.array([0, 1] * 5 + [2, 0])}, r"at least 2 images of every class, .* none for 2 \(test\)"),
    ],
)
def test_broken_npz_files_are_refused(tmp_path: Path, arrays: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        open_source(stored(tmp_path / "toy.npz", **arrays))


def test_what_is_no_npz_file_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "array.npy", np.zeros(3))
    whole = stored(tmp_path / "toy.npz").read_bytes()
    for name, content in (
        ("text.npz", b"nothing"),
        ("empty.npz", b""),
        ("cut.npz", whole[:200]),
        ("array.npz", (tmp_path / "array.npy").read_bytes()),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match=f"{name} is no npz file with images, labels"):
            open_source(name, base=tmp_path)


def test_classes_of_an_npz_file_must_fit_sigma(tmp_path: Path) -> None:
    path = stored(tmp_path / "toy.npz", labels=np.arange(12) % 3 + 1)
    assert open_source(path).class_names == ("1", "2", "3")
    assert open_source(path, class_names=("3", "2", "1")).labels.tolist() == [2, 1, 0] * 4
    with pytest.raises(InvalidInput, match=r"classes of sigma \(0, 1, 2\), got .* with 3 classes \(1, 2, 3\)"):
        open_source(path, class_names=("0", "1", "2"))


def test_built_in_sources_by_name(tmp_path: Path) -> None:
    plain = load("mnist5k", tmp_path)
    source = open_source("mnist5k", tmp_path, class_names=plain.class_names)
    assert source.checksum() == plain.checksum()
    turned = open_source("mnist5k", tmp_path, class_names=tuple("9876543210"))
    np.testing.assert_array_equal(turned.labels, 9 - plain.labels)
    assert open_source("mnist5k", tmp_path, class_names=CIFAR10_CLASSES).class_names == CIFAR10_CLASSES
    with pytest.raises(InvalidInput, match=r"classes of sigma \(a, b\), got mnist5k with 10 classes"):
        open_source("mnist5k", tmp_path, class_names=("a", "b"))
    with pytest.raises(DataError, match="run: nslimb data fetch cifar10"):
        open_source("cifar10", tmp_path)


def test_a_folder_named_like_a_built_in_source_is_no_built_in_source(tmp_path: Path) -> None:
    folder_of(tmp_path / "cifar10", {"a": 2, "b": 2})
    for spec in ("./cifar10", Path("cifar10")):
        source = open_source(spec, base=tmp_path)
        assert source.name == "./cifar10"
        assert source.class_names == ("a", "b")
        assert source_digest(spec, tmp_path) != "cifar10"


def test_the_digest_of_a_built_in_source_is_its_name() -> None:
    assert source_digest("mnist") == "mnist"


def test_the_digest_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    import hashlib

    path = stored(tmp_path / "toy.npz")
    assert source_digest("toy.npz", tmp_path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_digest_of_a_folder_changes_with_its_pictures_and_nothing_else(tmp_path: Path) -> None:
    folder = folder_of(tmp_path / "pets", {"a": 3, "b": 3})
    shutil.copytree(folder, tmp_path / "moved")  # with the same times
    seen = [source_digest("pets", tmp_path)]
    (folder / "README").write_text("about these images")
    assert source_digest(folder) == seen[0] == source_digest(tmp_path / "moved")

    def changed() -> bool:
        seen.append(source_digest(folder))
        return seen[-1] not in seen[:-1]

    os.utime(folder / "a" / "000.png", ns=(1, 1))
    assert changed()
    (folder / "a" / "000.png").rename(folder / "a" / "0.png")
    assert changed()
    stat = (folder / "b" / "001.png").stat()
    (folder / "b" / "001.png").write_bytes((folder / "b" / "001.png").read_bytes() + b" ")
    os.utime(folder / "b" / "001.png", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert changed()
    (folder / "b" / "002.png").unlink()
    assert changed()
    (folder / "b").rename(folder / "c")
    assert changed()
