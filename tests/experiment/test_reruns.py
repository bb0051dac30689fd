"""The table of edits, and what each runs again: on recipes and digests, without a job.

Every row edits a copy of the package, the configuration or the user's own files. Steps are named ``step benchmark`` or
``step benchmark method``. An edit must change the recipes of the steps that it names, may change those of a second
list, and leaves all others alone.
"""

from __future__ import annotations

import copy
import fnmatch
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nslimb.experiment import digests, places, recipes
from nslimb.experiment.cells import cells, runs
from nslimb.experiment.config import read_config
from nslimb.experiment.jobs.recipe import digest_of

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.xdist_group("reruns")  # they share a copy of the package

CONFIG: dict[str, Any] = {
    "name": "reruns",
    "protocol": "exact",
    "seeds": [1],
    "methods": {"ilp-emp": {"pre_epochs": 1}},
    "benchmarks": {
        "max": {"source": "mnist5k", "network": "lenet", "samples": 10, "M": [2], "methods": ["sl", "ilp-alg1"]},
        "hwf": {"source": "hwf-embedded", "network": "lenet45", "samples": 10, "M": [3], "methods": ["sl", "ilp-emp"]},
        "mine": {
            "sigma": "rules.py:least",
            "classes": 3,
            "source": "mine.npz",
            "network": "net.py:small",
            "samples": 10,
            "M": [2],
            "methods": ["sl", "own.py:Own"],
        },
    },
    "tables": ["max", "runtime"],
    "figures": ["marginals"],
    "studies": ["order", "counterexample"],
    "runtime": {"cells": {"max": {"M": [2], "samples": 10}}},
}
RULES = "from helper import pick\ndef least(labels): return pick(labels)\n"
HELPER = "def pick(labels): return min(labels)\n"
NETWORK = "from torch import nn\ndef small(c): return nn.Sequential(nn.Flatten(), nn.LazyLinear(c))\n"
METHOD = "import nslimb\nclass Own(nslimb.learning.Method):\n    def loss(self, batch): return nslimb.pseudolabels\n"


@dataclass
class House:
    """A copy of the package and the workflow's scripts, a user's folder, and a configuration."""

    root: Path
    config: dict[str, Any] = field(default_factory=lambda: copy.deepcopy(CONFIG))

    @property
    def package(self) -> Path:
        return self.root / "src" / "nslimb"

    @property
    def own(self) -> Path:
        return self.root / "own"

    def steps(self) -> dict[str, str]:
        """A digest of what each step depends on; of the seed 1, if there are more."""
        digests._code_digest.cache_clear()  # else a process takes code for unchanged
        config = read_config(self.config, self.own)
        found: dict[str, Any] = {}
        for name in config.benchmarks:
            found[f"fetch {name}"] = recipes.source_recipe(config, name)
        for cell in (cell for cell in cells(config) if cell.seed == "1"):
            found[f"samples {cell.benchmark}"] = recipes.samples_recipe(config, cell)
            found[f"marginals {cell.benchmark}"] = recipes.marginals_recipe(config, cell)
        for cell, method in ((cell, method) for cell, method in runs(config) if cell.seed == "1"):
            found[f"train {cell.benchmark} {method}"] = recipes.train_recipe(config, cell, method)
            found[f"adjust {cell.benchmark} {method}"] = recipes.adjust_recipe(config, cell, method)
        found["timing max"] = recipes.timing_recipe(config, "max", "2")
        for study in config.studies:
            found[f"study {study}"] = {"code": recipes.study_digest(config, study)}
        found["figures"] = {"code": recipes.figures_digest(config)}
        found["table"] = {"code": recipes.step_digest("table")}
        found["track"] = {"code": recipes.step_digest("track")}
        return {step: digest_of(recipe) for step, recipe in found.items()}


def write_images(path: Path, seed: int = 0) -> None:
    images = np.random.default_rng(seed).integers(256, size=(30, 28, 28), dtype=np.uint8)
    np.savez(path, images=images, labels=np.arange(30) % 3)


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("house")
    without = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "nslimb", root / "src" / "nslimb", ignore=without)
    shutil.copytree(ROOT / "workflow" / "scripts", root / "workflow" / "scripts", ignore=without)
    own = root / "own"
    own.mkdir()
    for name, text in (("rules", RULES), ("helper", HELPER), ("net", NETWORK), ("own", METHOD)):
        (own / f"{name}.py").write_text(text)
    write_images(own / "mine.npz")
    for path in own.iterdir():
        os.utime(path, (1, 1))  # an edit has another time, however soon it comes
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(places, "PACKAGE", root / "src" / "nslimb")
        patched.setattr(places, "SCRIPTS", root / "workflow" / "scripts")
        yield root


@pytest.fixture(scope="module")
def before(copied: Path) -> dict[str, str]:
    return House(copied).steps()


@pytest.fixture
def house(copied: Path) -> Iterator[House]:
    """One whose files are put back, with their times: what has been read of them stays read."""
    kept = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in copied.rglob("*.*") if path.is_file()}
    yield House(copied)
    for path in [path for path in copied.rglob("*.*") if path.is_file()]:
        if path not in kept:
            path.unlink()
        elif path.stat().st_mtime_ns != kept[path][1]:
            path.write_bytes(kept[path][0])
            os.utime(path, ns=(kept[path][1], kept[path][1]))


Edit = Callable[[House], None]


def code(*names: str, line: str = "EDITED = True") -> Edit:
    """A line added to modules of the package; patterns name several."""

    def edit(house: House) -> None:
        for name in names:
            paths = list(house.package.glob(name))
            assert paths, name
            for path in paths:
                path.write_text(f"{path.read_text(encoding='utf-8')}\n{line}\n", encoding="utf-8")

    return edit


def documented(house: House) -> None:
    """Every docstring of every module, class and function says something more."""
    number = 0
    for path in house.package.rglob("*.py"):
        text, found = re.subn(
            r'^( *)"""(?=[A-Z`])',
            r'\1"""More, \n\1in two lines. ',
            path.read_text(encoding="utf-8"),
            flags=re.MULTILINE,
        )
        path.write_text(text, encoding="utf-8")
        number += found
    assert number > 500


def setting(*keys: str, value: Any) -> Edit:
    """An entry of the configuration."""

    def edit(house: House) -> None:
        place = house.config
        for key in keys[:-1]:
            place = place.setdefault(key, {})
        place[keys[-1]] = value

    return edit


def registered(registry: str, anchor: str, line: str, module: str, text: str = "THING = 1\n") -> Edit:
    """A module more, and a line for it in a registry."""

    def edit(house: House) -> None:
        path = house.package / registry
        before = path.read_text(encoding="utf-8")
        assert anchor in before
        path.write_text(before.replace(anchor, f"{anchor}\n        {line},", 1), encoding="utf-8")
        (house.package / module).write_text(text, encoding="utf-8")

    return edit


def users(name: str, text: str) -> Edit:
    return lambda house: (house.own / name).write_text(text) and None


def another_picture(house: House) -> None:
    write_images(house.own / "mine.npz", seed=1)


def another_benchmark(house: House) -> None:
    house.config["benchmarks"]["more"] = {**house.config["benchmarks"]["max"], "sigma": "max"}


def another_variant(house: House) -> None:
    house.config["benchmarks"]["max"]["methods"].append({"sl-long": {"method": "sl", "epochs": 7}})


TRAINING = ["train *", "adjust *"]
# Tables, figures and studies read the configuration, and so what it may name; they take seconds.
READERS = ["table", "figures", "study *"]
EVERY_RUN = ["samples *", "marginals *", *TRAINING, "timing *"]

EDITS: dict[str, tuple[Edit, list[str], list[str]]] = {
    # what is edited: (the edit, what must run again, what may)
    "comments everywhere": (code("**/*.py", line="# A comment."), [], []),
    "docstrings everywhere": (documented, [], []),
    "threads": (setting("training", "threads", value=2), [], []),
    "device": (setting("training", "device", value="cuda"), [], []),
    "look_every": (setting("training", "look_every", value=5), [], []),
    "results and data folders": (setting("data", value="elsewhere"), [], []),
    "more seeds": (setting("seeds", value=[1, 2]), [], []),
    "a benchmark more in the grid": (another_benchmark, [], []),
    "a variant more in the grid": (another_variant, [], []),
    "epochs": (setting("training", "epochs", value=7), TRAINING, []),
    "epochs of a benchmark": (
        setting("benchmarks", "hwf", "training", value={"epochs": 7}),
        ["train hwf *", "adjust hwf *"],
        [],
    ),
    "the protocol": (setting("protocol", value="paper"), EVERY_RUN[:-1], []),
    "settings of a method": (
        setting("methods", "ilp-alg1", value={"epsilon": 0.5}),
        ["train max ilp-alg1", "adjust max ilp-alg1"],
        [],
    ),
    "the validation samples": (setting("validation", value=99), ["samples *", "adjust *"], []),
    "the network of a benchmark": (
        setting("benchmarks", "max", "network", value="symbolnet"),
        ["train max *", "adjust max *", "timing max"],
        [],
    ),
    "a metric more in the grid": (setting("metrics", value=["brier"]), ["adjust *"], []),
    "an adjustment less": (setting("adjustments", value=["la"]), ["adjust *"], []),
    "an option of sigma": (
        setting("benchmarks", "hwf", "sigma", value={"hwf": {"precedence": True}}),
        ["samples hwf", "marginals hwf", "train hwf *", "adjust hwf *"],
        [],
    ),
    "the engine of others": (code("sigma/scallop.py"), [], []),
    "the commands": (code("cli/*.py"), [], []),
    "the theory": (code("theory/*.py"), [], ["adjust *", *READERS]),  # the ceiling is a metric
    "the diagnosis": (code("diagnosis/*.py"), [], []),
    "the loop": (code("learning/loop.py"), [*TRAINING, "timing max"], READERS),
    "a network": (code("networks.py"), [*TRAINING, "timing max"], READERS),
    "semantic loss": (code("learning/semantic.py"), [*TRAINING, "timing max"], READERS),
    "ILP": (
        code("learning/methods/ilp.py"),
        ["train * ilp-*", "adjust * ilp-*", "timing max"],
        [],
    ),
    "SL": (code("learning/methods/sl.py"), ["train * sl", "adjust * sl"], [*TRAINING, "timing max"]),
    "the benchmark HWF": (
        code("experiment/benchmarks/hwf.py"),
        ["samples hwf", "marginals hwf", "train hwf *", "adjust hwf *"],
        [],
    ),
    "the benchmark MAX": (
        code("experiment/benchmarks/max.py"),
        ["samples max", "marginals max", "train max *", "adjust max *", "timing max"],
        [],
    ),
    "Algorithm 1": (code("marginals/newton.py"), ["marginals *"], [*TRAINING, "timing max", "study *"]),
    "how samples are drawn": (code("data/samples.py"), EVERY_RUN, ["fetch *", *READERS]),
    "CAROT": (code("adjustment/carot.py"), ["adjust *"], READERS),
    "the job of one step": (code("experiment/jobs/adjust.py"), ["adjust *"], ["study *"]),
    "tables": (code("experiment/tables.py"), ["table"], ["figures", "study *"]),
    "a figure of the grid": (code("experiment/figures/marginals.py"), ["figures"], []),
    "a figure that is not in the grid": (code("experiment/figures/training_curves.py"), [], []),
    "a study": (code("experiment/studies/order.py"), ["study order"], []),
    "a study that is not in the grid": (code("experiment/studies/sensitivity.py"), [], []),
    "tracking": (code("experiment/tracking.py"), ["track"], []),
    "the configuration's checks": (code("experiment/checks.py"), [], READERS),
    "the names that the package offers": (
        registered("__init__.py", '    "Records",', '"Novelty"', "novelty.py"),
        [],
        [],
    ),
    "a method more in the package": (
        registered(
            "learning/methods/__init__.py",
            '"sl": "nslimb.learning.methods.sl:Semantic",',
            '"new": "nslimb.learning.methods.new:New"',
            "learning/methods/new.py",
        ),
        [],
        [],
    ),
    "a benchmark more in the package": (
        registered(
            "experiment/benchmarks/__init__.py",
            '"max": "nslimb.experiment.benchmarks.max:MAX",',
            '"new": "nslimb.experiment.benchmarks.new:NEW"',
            "experiment/benchmarks/new.py",
        ),
        [],
        [],
    ),
    "a sigma more in the package": (
        registered(
            "sigma/resolve.py",
            '"max": "nslimb.sigma.library:maximum",',
            '"new": "nslimb.sigma.new:new"',
            "sigma/new.py",
        ),
        [],
        [],
    ),
    "a network more in the package": (
        registered("networks.py", '"lenet": "nslimb.networks:lenet",', '"new": "nslimb.new:new"', "new.py"),
        [],
        [],
    ),
    "an adjustment more in the package": (
        registered(
            "adjustment/base.py",
            '"la": "nslimb.adjustment.logit:LogitAdjustment",',
            '"new": "nslimb.adjustment.new:New"',
            "adjustment/new.py",
        ),
        [],
        [],
    ),
    "a metric more in the package": (
        registered(
            "metrics/registry.py",
            '"brier": "nslimb.metrics.scoring:brier",',
            '"new": "nslimb.metrics.new:new"',
            "metrics/new.py",
        ),
        [],
        [],
    ),
    "a figure more in the package": (
        registered(
            "experiment/figures/__init__.py",
            '"marginals": "nslimb.experiment.figures.marginals:draw",',
            '"new": "nslimb.experiment.figures.new:draw"',
            "experiment/figures/new.py",
        ),
        [],
        [],
    ),
    "a study more in the package": (
        registered(
            "experiment/studies/__init__.py",
            '"order": "nslimb.experiment.studies.order:STUDY",',
            '"new": "nslimb.experiment.studies.new:STUDY"',
            "experiment/studies/new.py",
        ),
        [],
        [],
    ),
    "the user's rule": (
        users("rules.py", RULES + "EDITED = True\n"),
        ["samples mine", "marginals mine", "train mine *", "adjust mine *"],
        [],
    ),
    "a comment in the user's rule": (users("rules.py", RULES + "# A comment.\n"), [], []),
    "what the user's rule imports": (
        users("helper.py", "def pick(labels): return max(labels)\n"),
        ["samples mine", "marginals mine", "train mine *", "adjust mine *"],
        [],
    ),
    "the user's network": (
        users("net.py", NETWORK + "EDITED = True\n"),
        ["train mine *", "adjust mine *"],
        [],
    ),
    "the user's method": (
        users("own.py", METHOD + "EDITED = True\n"),
        ["train mine Own", "adjust mine Own"],
        [],
    ),
    "what the user's method takes from nslimb": (
        code("learning/pseudolabels.py"),
        ["train mine Own", "train * ilp-*"],
        [*TRAINING, "timing max"],
    ),
    "the user's images": (
        another_picture,
        ["fetch mine", "samples mine", "train mine *", "adjust mine *"],
        [],
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_runs_again_what_it_affects_and_nothing_else(house: House, before: dict[str, str], name: str) -> None:
    edit, must, may = EDITS[name]
    edit(house)
    after = house.steps()
    changed = {step for step in before if before[step] != after[step]}
    for pattern in must:
        meant = set(fnmatch.filter(before, pattern))
        assert meant, f"no step is called {pattern}"
        assert meant <= changed, f"{', '.join(sorted(meant - changed))} would not run again"
    allowed = {step for pattern in (*must, *may) for step in fnmatch.filter(before, pattern)}
    assert changed <= allowed, f"{', '.join(sorted(changed - allowed))} would run again"


def test_nothing_changes_by_itself(house: House, before: dict[str, str]) -> None:
    assert house.steps() == before
