"""A stranger's folder: pictures of two sizes in colour, a CSV file of weak labels, and rules."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PIL import Image

NAMES = ("apple", "lemon", "plum")
COLOURS = {"apple": (200, 30, 30), "lemon": (230, 220, 40), "plum": (90, 30, 120)}
RULES = f"""
NAMES = {NAMES}

def majority(labels):
    for label in labels:
        if labels.count(label) >= 2:
            return NAMES[label]
    return "none"
"""


def draw(folder: Path, number: int = 180) -> None:
    """``photos``, ``samples.csv`` (columns a, b, c and majority), ``test.csv`` (image and label) and ``rules.py``."""
    rng = np.random.default_rng(1)
    (folder / "photos").mkdir(parents=True)
    labels = [NAMES[k] for k in rng.integers(3, size=number)]
    files = [f"{i:03}.{'png' if i % 2 else 'jpg'}" for i in range(number)]
    for i, (name, label) in enumerate(zip(files, labels, strict=True)):
        height, width = (24, 24) if i % 3 else (30, 40)
        pixels = rng.integers(90, 150, size=(height, width, 3))
        pixels[4:-4, 4:-4] = np.clip(np.array(COLOURS[label]) + rng.integers(-20, 20, 3), 0, 255)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / "photos" / name)
    train = number - 30
    rows = [[*files[i : i + 3], majority(labels[i : i + 3])] for i in range(0, train, 3)]
    write(folder / "samples.csv", ["a", "b", "c", "majority"], rows)
    write(folder / "test.csv", ["image", "label"], [[files[i], labels[i]] for i in range(train, number)])
    (folder / "rules.py").write_text(RULES)


def majority(labels: list[str]) -> str:
    return next((label for label in labels if labels.count(label) >= 2), "none")


def write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


TRAIN = ("train", "rules.py:majority", "samples.csv", "--images", "photos", "--columns", "a,b,c", "--weak", "majority")
TRAIN += ("--classes", ",".join(NAMES))
