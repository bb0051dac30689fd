"""What is refused before any job starts: the message has the place, what exists, and how to bring one's own."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

from nslimb.errors import DataError, InvalidInput, NslimbError
from nslimb.experiment.config import read_config, read_file, read_yaml
from nslimb.experiment.needs import check_images

OWN = r"or your own as path/to/file\.py:object or module:object"
VALUES: dict[str, Any] = {
    "name": "mine",
    "protocol": "exact",
    "seeds": [1],
    "benchmarks": {
        "mine": {
            "sigma": "rules.py:winner",
            "classes": ["ant", "bee", "cat"],
            "source": "animals",
            "network": "lenet",
            "samples": 20,
            "M": [2],
            "methods": ["sl", "ilp-alg1"],
        }
    },
}
RULES = """
def winner(labels): return max(labels)
def fails(labels): raise KeyError("no rule for this")
def unhashable(labels): return [max(labels)]
def nothing(labels): return None
def factory(arity): return "not a sigma"
number = 3
"""


def draw(folder: Path, name: str, sizes: list[tuple[int, int]]) -> None:
    (folder / name).mkdir(parents=True)
    for number, size in enumerate(sizes):
        Image.new("L", size, color=40 * number).save(folder / name / f"{number}.png")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder, in which everything fits."""
    (tmp_path / "rules.py").write_text(RULES)
    for name in ("ant", "bee", "cat"):
        draw(tmp_path / "animals", name, [(28, 28)] * 4)
    return tmp_path


def changed(value: Any, *keys: str) -> dict[str, Any]:
    """The configuration with another entry in the block of the benchmark, or elsewhere by its keys."""
    config = copy.deepcopy(VALUES)
    place = config["benchmarks"]["mine"] if len(keys) == 1 else config
    for key in keys[:-1]:
        place = place.setdefault(key, {})
    place[keys[-1]] = value
    return config


def test_what_fits_is_taken(folder: Path) -> None:
    config = read_config(VALUES, folder)
    check_images(config)
    assert config.benchmarks["mine"].problem("mine").build(2, folder).class_names == ("ant", "bee", "cat")


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("methods", ["adam"], rf"benchmarks\.mine: method: expected one of sl, .*ilp-alg1, .*{OWN}, got 'adam'"),
        ("methods", ["rules.py:winner"], r"method: expected a class derived from nslimb\.learning\.Method"),
        ("methods", ["gone.py:Mine"], r"method: expected a Python file, got 'gone\.py', which is not there"),
        ("sigma", "min", rf"benchmarks\.mine: sigma: expected one of max, sum, .*{OWN}, got 'min'"),
        ("sigma", {"min": {}}, rf"sigma: expected one of max, sum, .*{OWN}, got 'min'"),
        ("sigma", {"max": {"modulo": 3}}, r"sigma: expected options of max: num_classes.*, got 'modulo'"),
        ("sigma", {"max": {}, "sum": {}}, r"sigma: expected one sigma with its options, .*got 2"),
        ("source", "moon", r"source: expected one of mnist5k, .*a folder with .*npz file.*got 'moon'.*does not exist"),
        ("network", "alexnet", rf"benchmarks\.mine\.network: network: expected one of lenet, .*{OWN}, got 'alexnet'"),
        ("network", "net.py:mine", r"network: expected a Python file, got 'net\.py', which is not there"),
        ("sigma", "gone.py:winner", r"sigma: expected a Python file, got 'gone\.py', which is not there"),
        ("sigma", "rules.py:looser", r"expected an object of rules\.py \(winner, fails, .*\), got 'looser'"),
        ("sigma", "rules.py:number", r"sigma: expected a function, a Sigma or a factory of one, got rules\.py:number"),
        ("sigma", "rules.py:fails", r"benchmarks\.mine: .*KeyError.*no rule for this"),
        ("sigma", "rules.py:unhashable", r"benchmarks\.mine: .*hashable.*\[0\]"),
        ("sigma", "rules.py:nothing", r"benchmarks\.mine: .*weak label"),
        ("classes", None, r"sigma: expected a factory .*give its classes, got rules\.py:winner, which "),
        ("M", [0], r"benchmarks\.mine: M: expected integers of at least 1, got 0"),
        ("M", ["two"], r"benchmarks\.mine: M: expected integers, got two"),
        ("M", [2, "02"], r"benchmarks\.mine: M: expected distinct values"),
        ("tail", "steep", r"tail: expected exp, reversed, or a list of classes from the head on, got 'steep'"),
        ("training", {"threads": 2}, r"training: expected one of epochs, .*got 'threads'"),
        ("training", {"epochs": 0}, r"epochs.*greater than or equal to 1"),
    ],
)
def test_a_benchmark_that_cannot_run_is_refused(folder: Path, key: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=rf"(?s){message}"):
        read_config(changed(value, key), folder)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("adjustments", ["platt"], rf"adjustments: adjustment: expected one of la, carot, {OWN}, got 'platt'"),
        ("metrics", ["f1"], rf"metrics: metric: expected one of brier, .*{OWN}, got 'f1'"),
        ("figures", ["pie"], rf"figures: figure: expected one of class_accuracy_over_epochs, .*{OWN}, got 'pie'"),
        ("studies", ["moon"], rf"studies: study: expected one of risk_bounds, .*{OWN}, got 'moon'"),
        ("adjustments", ["rules.py:winner"], r"adjustments: adjustment: expected one of la, carot, or a subclass of"),
        ("adjustments", ["la", "la"], r"adjustments: expected distinct names, got la twice"),
        ("metrics", ["brier", "rules.py:brier"], r"brier"),
        (
            "methods",
            {"sl": {"patience": 3}},
            r"methods\.sl: expected settings of the method \(proofs, form, .*'patience'",
        ),
        ("methods", {"adam": {}}, rf"method: expected one of sl, .*{OWN}, got 'adam'"),
        ("methods", {"sl": {"proofs": "many"}}, r"methods\.sl\.proofs.*: expected .*integer.*got 'many'"),
    ],
)
def test_a_grid_that_cannot_run_is_refused(folder: Path, key: str, value: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=rf"(?s){message}"):
        read_config({**VALUES, key: value}, folder)


def test_a_rule_that_cannot_be_imported_is_refused_with_its_line(folder: Path) -> None:
    (folder / "broken.py").write_text("import math\nLIMIT = math.sqrt(-1)\ndef winner(labels): return 1\n")
    with pytest.raises(InvalidInput, match=r"expected broken\.py to be importable, got ValueError: .*\(line 2\)"):
        read_config(changed("broken.py:winner", "sigma"), folder)
    (folder / "typo.py").write_text("def winner(labels) return 1\n")
    with pytest.raises(InvalidInput, match=r"expected typo\.py to be importable, got SyntaxError"):
        read_config(changed("typo.py:winner", "sigma"), folder)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        (["sl", "sl"], r"expected distinct names, got sl twice"),
        (["sl", {"sl": {"method": "records"}}], r"expected distinct names, got sl twice"),
        (["a.py:Mine", "b.py:Mine"], r"expected distinct names, got Mine twice"),
        (
            [{"long": {"method": "sl"}}, {"longer": {"method": "long"}}],
            r"longer: expected a method, got long, which is itself a variant; name its method",
        ),
        ([{"long": {"epochs": 3}}], r"long: expected a mapping with a key method"),
        ([{"a": {"method": "sl"}, "b": {"method": "sl"}}], r"expected one name with its settings, got a, b"),
        ([{"a/b": {"method": "sl"}}], r"String should match pattern"),
        ([3], r"expected a method, or .*got 3"),
        ([{"warm": {"method": "sl", "warmth": 1}}], r"methods\.warm: expected settings of the method .*got 'warmth'"),
        ([{"none": {"method": "sl", "epochs": -1}}], r"methods\.none\.epochs: .*greater than or equal to 1"),
        (
            ["sl", {"next": {"method": "sl", "start_from": "ls"}}],
            r"methods\.next\.start_from: expected one of sl, next.*, got 'ls'",
        ),
        ([{"a": {"method": "sl", "start_from": "a"}}], r"methods\.a\.start_from: expected another method, got a -> a"),
        (
            [{"a": {"method": "sl", "start_from": "b"}}, {"b": {"method": "sl", "start_from": "a"}}],
            r"methods\.a\.start_from: expected another method, got a -> b -> a",
        ),
    ],
)
def test_methods_that_cannot_run_are_refused(folder: Path, methods: list[Any], message: str) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.py").write_text("from nslimb.learning import Method\nclass Mine(Method): pass\n")
    with pytest.raises(InvalidInput, match=rf"(?s)benchmarks\.mine.*{message}"):
        read_config(changed(methods, "methods"), folder)


def test_two_of_one_name_in_one_block_are_refused_with_the_line(tmp_path: Path) -> None:
    """YAML itself would silently take the last."""
    path = tmp_path / "grid.yaml"
    for text, message in (
        ("name: a\nbenchmarks:\n  max: {M: [3]}\n  sum: {M: [2]}\n  max: {M: [4]}\n", r"line 5: 'max' is given twice"),
        ("name: a\nname: b\n", r"line 2: 'name' is given twice"),
        ("methods:\n  sl: {gamma: 1}\n  sl: {gamma: 2}\n", r"line 3: 'sl' is given twice"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=rf"grid\.yaml: {message} in one block"):
            read_yaml(path)
    path.write_text("base: &b {M: [3], samples: 4}\nmax: {<<: *b, samples: 5}\n")
    assert read_yaml(path)["max"] == {"M": [3], "samples": 5}  # to override a merged block is no mistake


def test_paths_of_ones_own_are_relative_to_the_configuration(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "grid.yaml").write_text(yaml.safe_dump(VALUES))
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    config = read_file(Path("../grid.yaml"))
    check_images(config)
    assert config.base == folder
    assert config.results == Path("results")  # of the working directory


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["ant", "bee"], r"the 2 classes of sigma \(ant, bee\), got animals with 3 classes \(ant, bee, cat\)"),
        (["ant", "bee", "dog"], r"the 3 classes of sigma \(ant, bee, dog\), got animals with 3 classes"),
        (4, r"the 4 classes of sigma \(0, 1, 2, 3\), got animals with 3 classes"),
    ],
)
def test_a_folder_whose_classes_do_not_fit_is_refused(folder: Path, classes: Any, message: str) -> None:
    config = read_config(changed(classes, "classes"), folder)
    with pytest.raises(NslimbError, match=rf"benchmarks\.mine\.source: source: expected {message}"):
        check_images(config)


def test_images_that_cannot_be_used_are_refused(folder: Path) -> None:
    config = read_config(VALUES, folder)
    draw(folder / "animals", "more", [(28, 28), (30, 28)])
    odd = folder / "animals" / "more" / "1.png"
    odd.rename(folder / "animals" / "cat" / "odd.png")
    (folder / "animals" / "more" / "0.png").unlink()
    (folder / "animals" / "more").rmdir()
    with pytest.raises(
        NslimbError, match=r"source: .*pictures of one size, got 28 x 28 \(ant/0\.png\) and 30 x 28 \(cat/odd"
    ):
        check_images(config)
    (folder / "animals" / "cat" / "odd.png").write_bytes(b"no picture")
    with pytest.raises(NslimbError, match=r"source: .*1 of 13 pictures cannot be read:\n  cat/odd\.png"):
        check_images(config)


def test_an_archive_of_images_is_checked_too(folder: Path) -> None:
    images = np.zeros((12, 28, 28), dtype=np.uint8)
    np.savez(folder / "animals.npz", images=images, labels=np.repeat(["ant", "bee", "eel"], 4))
    config = read_config(changed("animals.npz", "source"), folder)
    with pytest.raises(NslimbError, match=r"got animals\.npz with 3 classes \(ant, bee, eel\)"):
        check_images(config)


def test_a_source_that_is_ready_is_not_read_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    config = read_config(VALUES, folder)
    ready = folder / "results" / "sources" / "own-mine.ready"
    ready.parent.mkdir(parents=True)
    ready.touch()
    (folder / "animals" / "cat" / "odd.png").write_bytes(b"no picture")
    check_images(config)
    ready.unlink()
    with pytest.raises(NslimbError, match="cannot be read"):
        check_images(config)
