"""Faults, each injected: nothing wrong is published, the message names the file, and the next run repairs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from grids import tiny

from nslimb.data.samples import Gold, load_gold, save
from nslimb.errors import NslimbError, TrainingFailed
from nslimb.experiment import publish, recipes
from nslimb.experiment.cells import Cell
from nslimb.experiment.config import Config, read_file
from nslimb.experiment.jobs.adjust import adjust_run
from nslimb.experiment.jobs.marginals import make_marginals
from nslimb.experiment.jobs.recipe import Host
from nslimb.experiment.jobs.samples import make_samples
from nslimb.experiment.jobs.train import train_run
from nslimb.experiment.jobs_log import logged
from nslimb.files import held
from nslimb.learning.methods.sl import Semantic

pytestmark = pytest.mark.xdist_group("faults")  # they share a run
CELL, METHOD = Cell("max", "3", "0", "1"), "sl"
READY = "sources/mnist5k.ready"


def train(config: Config, into: Path, **changes: object) -> None:
    """The step `train` as the workflow calls it; ``changes`` are made to its recipe."""
    recipe = {**recipes.train_recipe(config, CELL, METHOD), **changes}
    described = {"cell": vars(CELL), "cell_path": CELL.path, "method": METHOD, "grid": config.name}
    train_run(recipe, host_of(config), described, READY, into)


def host_of(config: Config) -> Host:
    return Host.from_config(config.model_dump(mode="json"))


class Run:
    """One run of a small grid, made job by job, as the workflow does; a file that is there is not made again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config: Config = read_file(tiny(root))
        self.cell = self.config.results / CELL.path
        self.folder = self.cell / f"train={METHOD}"
        self.samples, self.gold = self.cell / "samples.npz", self.cell / "gold.npz"
        self.marginals, self.model = self.cell / "marginals.json", self.folder / "model.pt"
        self.metrics = self.folder / "metrics.json"
        self.log = root / "job.log"

    def steps(self) -> list[tuple[Path, Callable[[], None]]]:
        config, host = self.config, host_of(self.config)
        samples, marginals = recipes.samples_recipe(config, CELL), recipes.marginals_recipe(config, CELL)
        adjust = recipes.adjust_recipe(config, CELL, METHOD)
        return [
            (self.samples, lambda: make_samples(samples, host, READY, self.samples, self.gold)),
            (self.marginals, lambda: make_marginals(marginals, host, self.samples, self.marginals)),
            (self.model, lambda: train(config, self.folder)),
            (self.metrics, lambda: adjust_run(adjust, host, READY, self.folder)),
        ]

    def make(self) -> None:
        """Make what is missing, and what comes after it."""
        stale = False
        for output, job in self.steps():
            stale = stale or not output.exists()
            if stale:
                with logged(str(self.log)):
                    job()

    def accuracy(self) -> float:
        return float(json.loads(self.metrics.read_text())["adjustments"]["none"]["accuracy"])

    def table(self) -> str:
        publish.write_all(self.config)
        return (self.config.results / "tables" / "max.md").read_text()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    run = Run(tmp_path_factory.mktemp("finished"))
    run.make()
    return run


@pytest.fixture
def run(finished: Run, tmp_path: Path) -> Run:
    """A copy that a test may break."""
    copy = Run(tmp_path)
    shutil.copytree(finished.config.results, copy.config.results)
    shutil.copytree(finished.config.data, copy.config.data)
    return copy


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("harm", [truncate, flip_a_bit])
@pytest.mark.parametrize(("name", "reader"), [("samples", 1), ("gold", 3), ("marginals", 2), ("model", 3)])
def test_a_broken_input_is_named_set_aside_and_made_anew(
    run: Run, finished: Run, harm: Callable[[Path], None], name: str, reader: int
) -> None:
    broken = getattr(run, name)
    harm(broken)
    with pytest.raises(SystemExit), logged(str(run.log)):
        run.steps()[reader][1]()
    assert str(broken) in run.log.read_text()
    assert "the next run makes it anew" in run.log.read_text().splitlines()[-1]
    assert not broken.exists()
    assert broken.with_name(f"{broken.name}.broken").exists()
    if name == "gold":
        run.samples.unlink()  # the two are outputs of one job
    run.make()
    assert run.accuracy() == finished.accuracy()


@pytest.mark.parametrize("harm", [truncate, flip_a_bit])
def test_broken_metrics_never_reach_a_table(run: Run, finished: Run, harm: Callable[[Path], None]) -> None:
    whole = run.table()
    assert "3 of 4 runs missing" in whole  # one run of four has been made
    harm(run.metrics)
    with pytest.raises(NslimbError, match=r"metrics\.json"):
        publish.write_table(run.config, "max")
    assert "4 of 4 runs missing" in run.table()
    run.make()
    assert run.table() == whole
    assert run.accuracy() == finished.accuracy()


@pytest.mark.parametrize("harm", [truncate, flip_a_bit])
def test_broken_images_are_set_aside_and_fetched_anew(run: Run, finished: Run, harm: Callable[[Path], None]) -> None:
    ready = run.config.results / READY
    ready.parent.mkdir()
    ready.touch()
    home = run.config.data / "mnist5k.source"
    harm(home / "images.npy")
    with pytest.raises(SystemExit), logged(str(run.log)):
        run.steps()[2][1]()
    assert str(home) in run.log.read_text()
    assert not home.exists()
    assert not ready.exists()  # so that the workflow fetches it
    run.model.unlink(missing_ok=True)
    run.make()
    assert run.accuracy() == finished.accuracy()


@pytest.mark.parametrize("harm", [truncate, flip_a_bit])
def test_a_broken_checkpoint_costs_its_epochs_and_no_more(
    run: Run, finished: Run, harm: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Semantic.loss

    def fails_late(method: Semantic, batch: object) -> torch.Tensor:
        calls.append(1)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return original(method, batch)  # type: ignore[arg-type]

    calls: list[int] = []
    run.model.unlink()
    with monkeypatch.context() as patched:
        patched.setattr(Semantic, "loss", fails_late)
        with pytest.raises(KeyboardInterrupt):
            train(run.config, run.folder)
    harm(run.folder / "checkpoint.pt")
    run.make()
    assert run.accuracy() == finished.accuracy()
    assert not (run.folder / "checkpoint.pt").exists()


def test_out_of_memory_is_said_in_plain_words(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(*_: object) -> torch.Tensor:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")

    run.model.unlink()
    monkeypatch.setattr(Semantic, "loss", too_much)
    with pytest.raises(TrainingFailed, match=r"out of memory in epoch 1; .* Lower the batch size"):
        train(run.config, run.folder)
    assert not run.model.exists()


WORKER = """
import json, resource, sys
from pathlib import Path
sys.path[:0] = json.loads(sys.argv[3])
import test_faults
from nslimb.experiment.config import read_file
from nslimb.learning.methods.sl import Semantic
original, calls = Semantic.loss, []
def limited(method, batch):
    calls.append(batch)
    if len(calls) == 3:  # in epoch 2; the limit holds for this one tensor of 77 MB, and for no import
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (1, hard))
        try:
            batch = batch._replace(logits=batch.logits.repeat(10_000, 1, 1))
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    return original(method, batch)
Semantic.loss = limited
test_faults.train(read_file(Path(sys.argv[1])), Path(sys.argv[2]))
"""


def test_a_worker_without_memory_leaves_no_model(run: Run, finished: Run) -> None:
    """A real limit on the address space, in a process of its own, which one tensor of epoch 2 alone runs into."""
    run.model.unlink()
    paths = json.dumps([str(Path(__file__).parent), str(Path(__file__).parent.parent)])
    arguments = [sys.executable, "-c", WORKER, str(run.root / "tiny.yaml"), str(run.folder), paths]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=3600)
    assert done.returncode != 0
    assert "out of memory in epoch 2; the last whole epoch is kept" in done.stderr
    assert not run.model.exists()
    assert (run.folder / "checkpoint.pt").exists()
    run.make()
    assert run.accuracy() == finished.accuracy()


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"may not mount a small file system here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(folder: Path, left: int) -> None:
    free = os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    (folder / "filler").write_bytes(b"\0" * max(0, free - left))


def test_a_full_disk_leaves_whole_files_or_none(run: Run, finished: Run, full_disk: Path) -> None:
    config = run.config.model_copy(update={"results": full_disk})
    cell = full_disk / CELL.path
    cell.mkdir(parents=True)
    fill(full_disk, 4096)
    recipe = recipes.samples_recipe(config, CELL)
    with pytest.raises(OSError, match="No space left"):  # the samples
        make_samples(recipe, host_of(config), READY, cell / "samples.npz", cell / "gold.npz")
    assert not list(cell.glob("*samples*"))
    (full_disk / "filler").unlink()
    for path in (run.samples, run.gold, run.marginals):
        shutil.copy(path, cell)
    fill(full_disk, 8192)
    with pytest.raises((OSError, RuntimeError)):  # the checkpoint
        train(config, cell / "train=sl")
    assert not list(cell.glob("train=sl/*.pt*"))
    (full_disk / "filler").unlink()
    (cell / "train=sl").mkdir(exist_ok=True)
    shutil.copy(run.metrics, cell / "train=sl")
    shutil.copy(finished.folder / "history.csv", cell / "train=sl")
    publish.write_table(config, "max")
    before = (full_disk / "tables" / "max.csv").read_bytes()
    fill(full_disk, 0)
    with pytest.raises(OSError, match="No space left"):  # a table
        publish.write_table(config, "max")
    assert (full_disk / "tables" / "max.csv").read_bytes() == before
    assert not list((full_disk / "tables").glob(".*"))


def test_a_job_waits_for_one_that_outlived_its_scheduler(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = (
        "import sys, time; from pathlib import Path; from nslimb.files import held\n"
        "with held(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)\n"
    )
    lock = tmp_path / "run" / ".lock"
    with subprocess.Popen([sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        began = time.monotonic()
        killer = threading.Timer(1, other.kill)
        killer.start()
        with held(lock):  # freed by the kernel when the other is killed
            assert time.monotonic() - began > 0.5
    assert "another process is at work here; waiting" in capsys.readouterr().out


def test_training_again_gives_the_same_weights(run: Run, finished: Run) -> None:
    run.model.unlink()
    run.make()
    first, again = (torch.load(path, weights_only=True)["network"] for path in (finished.model, run.model))
    assert all(np.array_equal(first[key], again[key]) for key in first)


def test_a_stale_model_is_no_obstacle_for_the_job(run: Run) -> None:
    """A user's own call of the loop is refused there; the workflow knows what it wants anew."""
    before = run.model.read_bytes()
    train(run.config, run.folder, seed=2)
    assert run.model.read_bytes() != before


def test_gold_labels_of_every_kind_change_no_weights(run: Run, finished: Run) -> None:
    """The job reads gold labels for the history alone; whatever they are, the weights are the same."""
    gold, rng = load_gold(run.gold), np.random.default_rng(1)
    permuted = {name: rng.permutation(array.ravel()).reshape(array.shape) for name, array in vars(gold).items()}
    permuted["ratios"] = np.arange(1, 11) / 55  # the true ones are all equal here
    assert all((permuted[name] != array).any() for name, array in vars(gold).items())
    save(Gold(**permuted), run.gold)
    run.model.unlink()
    train(run.config, run.folder)
    first, again = (torch.load(path, weights_only=True)["network"] for path in (finished.model, run.model))
    assert all(np.array_equal(first[key], again[key]) for key in first)
