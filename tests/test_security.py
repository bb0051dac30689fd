"""Nothing that is read is executed, and nothing that is documented listens to the network."""

from __future__ import annotations

import pickle
import re
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nslimb.cli.formats.scores import read_scores
from nslimb.data import fetch
from nslimb.data.routes import read_members
from nslimb.data.samples import load_gold, load_samples
from nslimb.data.source import open_stored
from nslimb.errors import DataError
from nslimb.learning.checkpoint import load_weights

ROOT = Path(__file__).resolve().parents[1]


class Bomb:
    """Leaves a mark where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return Path.touch, (self.mark,)


def plant_pt(path: Path, bomb: Bomb) -> None:
    with zipfile.ZipFile(path, "w") as archive:  # as torch lays out its files
        archive.writestr("archive/data.pkl", pickle.dumps(bomb))
        archive.writestr("archive/version", "3\n")


def plant_npz(path: Path, bomb: Bomb) -> None:
    names = ("train", "train_weak", "validation", "validation_weak", "test", "ratios", "scores")
    np.savez(path, **dict.fromkeys(names, np.array([bomb], dtype=object)), allow_pickle=True)


def plant_raw(path: Path, bomb: Bomb) -> None:
    path.write_bytes(pickle.dumps(bomb))


def test_the_bomb_works(tmp_path: Path) -> None:
    plant_raw(tmp_path / "raw", Bomb(tmp_path / "mark"))
    pickle.loads((tmp_path / "raw").read_bytes())
    assert (tmp_path / "mark").exists()


@pytest.mark.parametrize("plant", [plant_pt, plant_npz, plant_raw])
@pytest.mark.parametrize(
    ("name", "read"),
    [("model.pt", load_weights), ("samples.npz", load_samples), ("gold.npz", load_gold), ("scores.npz", read_scores)],
)
def test_planted_files_are_refused_and_nothing_runs(
    tmp_path: Path, plant: Callable[[Path, Bomb], None], name: str, read: Callable[[Path], object]
) -> None:
    plant(tmp_path / name, Bomb(tmp_path / "mark"))
    with pytest.raises(DataError, match=name):
        read(tmp_path / name)
    assert not (tmp_path / "mark").exists()


def test_planted_images_are_refused_and_nothing_runs(tmp_path: Path) -> None:
    fetch("mnist5k", tmp_path)
    folder = tmp_path / "mnist5k.source"
    for name in ("images.npy", "labels.npy", "is_test.npy"):
        kept = (folder / name).read_bytes()
        np.save(folder / name, np.array([Bomb(tmp_path / "mark")], dtype=object), allow_pickle=True)
        with pytest.raises(DataError):
            open_stored(folder)
        assert not (tmp_path / "mark").exists()
        (folder / name).write_bytes(kept)
    open_stored(folder)  # as it was


def test_archives_are_never_unpacked_and_sizes_are_limited(tmp_path: Path) -> None:
    archive, outside = tmp_path / "a.tgz", tmp_path / "outside"
    (tmp_path / "big").write_bytes(b"0" * 2000)
    with tarfile.open(archive, "w:gz") as tar:
        tar.add(tmp_path / "big", arcname=f"../../{outside.name}")
        tar.add(tmp_path / "big", arcname="package/data")
    with pytest.raises(DataError, match="at most 1,000 bytes"):
        read_members(archive, ["package/data"], max_bytes=1000)
    assert read_members(archive, ["package/data"], max_bytes=2000) == {"package/data": b"0" * 2000}
    assert not outside.exists()


def test_every_documented_server_binds_loopback() -> None:
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "Makefile"]
    lines = [line for path in documents for line in path.read_text().splitlines()]
    serving = [line for line in lines if re.search(r"\bmlflow (ui|server) +--", line)]
    assert len(serving) >= 3
    assert all("--host 127.0.0.1" in line for line in serving), serving
