"""What each job of the workflow does, as functions of a configuration, a cell and paths."""

from __future__ import annotations

import time
import warnings
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import yaml

from nslimb.adjustment.evaluation import evaluate_adjustments
from nslimb.data.catalogue import load
from nslimb.data.samples import Gold, Samples, draw_samples, load_gold, load_samples, save
from nslimb.data.source import ImageSource
from nslimb.errors import BrokenFile
from nslimb.experiment.cells import Cell, groups_of, method_options, settings_of, sigma_of, tail_of
from nslimb.experiment.config import Config
from nslimb.experiment.provenance import code_digest, git_commit, job_environment, versions
from nslimb.files import read_sealed, write_sealed, write_text
from nslimb.learning.checkpoint import load_weights
from nslimb.learning.loop import Record, Settings, predict, train
from nslimb.learning.methods import Method, make_method
from nslimb.marginals import NotIdentified, estimate_marginal
from nslimb.metrics import kullback_leibler, total_variation
from nslimb.networks import Classifier, build
from nslimb.sigma.component import Sigma


def _source(config: Config, benchmark: str) -> ImageSource:
    """A benchmark's images; if they are broken, the mark that they are ready goes, and the next run fetches them."""
    name = settings_of(config, benchmark).source
    try:
        return load(name, config.data, config.hwf_path)
    except BrokenFile:
        (config.results / "sources" / f"{name}.ready").unlink(missing_ok=True)
        raise


def make_samples(config: Config, cell: Cell, samples: Path, gold: Path) -> None:
    """Draw a cell's weak samples; gold labels go to a file of their own."""
    settings = settings_of(config, cell.benchmark)
    drawn, hidden = draw_samples(
        _source(config, cell.benchmark),
        sigma_of(config, cell.benchmark, cell.M),
        settings.samples,
        int(cell.seed),
        rho=float(cell.rho),
        validation=config.validation,
        **tail_of(cell.benchmark),
    )
    save(drawn, samples)
    save(hidden, gold)


def make_marginals(config: Config, cell: Cell, samples: Path, marginals: Path) -> None:
    """Algorithm 1 on a cell's weak labels."""
    began = time.perf_counter()
    sigma = sigma_of(config, cell.benchmark, cell.M)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotIdentified)  # it is in the file
        found = estimate_marginal(load_samples(samples).train_weak, sigma, groups_of(cell.benchmark, cell.M))
    content = {
        "ratios": found.ratios.tolist(),
        "log_likelihood": found.log_likelihood,
        "iterations": found.iterations,
        "converged": found.converged,
        "not_identified": list(found.flat_classes),
        "seconds": time.perf_counter() - began,
    }
    write_sealed(marginals, content)


def _method(config: Config, cell: Cell, name: str, folder: Path, ratios: Any) -> Method:
    """The method; gold labels are opened for oracles alone."""
    options = method_options(config, cell.benchmark)
    if name in ("ilp-gold", "supervised"):
        gold = load_gold(folder / "gold.npz")
        options |= {"gold_ratios": gold.ratios, "gold_labels": gold.train}
    return make_method(name, sigma_of(config, cell.benchmark, cell.M), estimated_ratios=ratios, **options)


def train_run(config: Config, cell: Cell, method: str, folder: Path) -> None:
    """Train one method on one cell: history.csv, model.pt and run.yaml in ``folder``/train=method."""
    began = time.perf_counter()
    torch.set_num_threads(config.training.threads)
    source, samples = _source(config, cell.benchmark), load_samples(folder / "samples.npz")
    gold = load_gold(folder / "gold.npz")  # test labels, for a column of the history
    estimated = read_sealed(folder / "marginals.json")
    settings = Settings(
        network=settings_of(config, cell.benchmark).network,
        epochs=config.training.epochs,
        batch_size=config.training.batch_size,
        learning_rate=config.training.learning_rate,
        seed=int(cell.seed),
        device=config.training.device,
    )
    into = folder / f"train={method}"
    begin = partial(
        train,
        source.images,
        samples,
        sigma_of(config, cell.benchmark, cell.M),
        _method(config, cell, method, folder, estimated["ratios"]),
        settings,
        into,
        test=Record(samples.test, gold.test),
        description=f"{cell.path}/train={method}",
    )
    try:
        trained = begin()
    except BrokenFile as error:  # the checkpoint: all else has been read
        print(f"{error}. Starting anew")
        error.path.unlink()
        trained = begin()
    described = {
        "cell": vars(cell),
        "method": method,
        "oracle": trained.method.oracle,
        "protocol": config.protocol,
        "grid": config.name,
        "source": {"name": source.name, "origin": source.origin, "checksum": source.checksum()},
        "settings": {**vars(settings), **method_options(config, cell.benchmark), "samples": len(samples.train)},
        "device": str(next(trained.network.parameters()).device),
        "versions": versions(),
        "environment": job_environment(),
        "code": code_digest("train"),
        "commit": git_commit(),
        "seconds": {
            "training": round(trained.seconds, 3),
            "estimation": round(estimated["seconds"], 3),
            "job": round(time.perf_counter() - began, 3),
        },
    }
    write_text(into / "run.yaml", yaml.safe_dump(described, sort_keys=False, allow_unicode=True))


class OpenRun(NamedTuple):
    """A trained run with all that it was made from."""

    source: ImageSource
    samples: Samples
    gold: Gold
    sigma: Sigma
    ratios: np.ndarray[Any, np.dtype[np.float64]]
    network: Classifier
    method: Method

    def scores(self, indices: Any) -> torch.Tensor:
        """Log-scores of images by index."""
        return predict(self.network, self.method, torch.from_numpy(self.source.images), indices)


def open_run(config: Config, cell: Cell, method: str, folder: Path) -> OpenRun:
    """Read a trained run in ``folder``/train=method."""
    sigma = sigma_of(config, cell.benchmark, cell.M)
    ratios = np.asarray(read_sealed(folder / "marginals.json")["ratios"])
    stored = load_weights(folder / f"train={method}" / "model.pt")
    network = build(settings_of(config, cell.benchmark).network, sigma.num_classes, int(cell.seed))
    network.load_state_dict(stored["network"])
    made = _method(config, cell, method, folder, ratios)
    made.load_state_dict(stored["method"])
    samples, gold = load_samples(folder / "samples.npz"), load_gold(folder / "gold.npz")
    return OpenRun(_source(config, cell.benchmark), samples, gold, sigma, ratios, network, made)


def adjust_run(config: Config, cell: Cell, method: str, folder: Path) -> None:
    """Metrics of a trained model before and after each adjustment: metrics.json."""
    began = time.perf_counter()
    torch.set_num_threads(config.training.threads)
    run = open_run(config, cell, method, folder)
    ratios, gold = run.ratios, run.gold
    metrics = evaluate_adjustments(
        run.scores(run.samples.test),
        gold.test,
        run.scores(run.samples.validation),
        run.samples.validation_weak,
        run.sigma,
        ratios,
    )
    distances = {
        "total_variation": total_variation(ratios, gold.ratios),
        "kullback_leibler": kullback_leibler(gold.ratios, ratios),
        "estimated": ratios.tolist(),
        "true": gold.ratios.tolist(),
    }
    content = {
        "source": run.source.name,
        "adjustments": metrics,
        "ratios": distances,
        "seconds": time.perf_counter() - began,
    }
    write_sealed(folder / f"train={method}" / "metrics.json", content)


def time_epoch(config: Config, benchmark: str, arity: str, batch: int, out: Path) -> None:
    """Minutes an epoch of SL and LP by the paper's protocol and by ours, extrapolated from a few batches."""
    torch.set_num_threads(config.training.threads)
    number = config.runtime.max_samples if benchmark == "max" else config.runtime.sum_samples
    settings = settings_of(config, benchmark)
    source, sigma = _source(config, benchmark), sigma_of(config, benchmark, arity)
    taken = min(number, batch * config.runtime.batches)
    samples, _ = draw_samples(source, sigma, taken, seed=1, validation=1, **tail_of(benchmark))
    chosen = Settings(network=settings.network, epochs=1, batch_size=batch, device=config.training.device)
    minutes: dict[str, dict[str, float]] = {}
    for protocol, (label, name) in product(("paper", "exact"), (("SL", "sl"), ("LP", "ilp-alg1"))):
        options = method_options(config.model_copy(update={"protocol": protocol}), benchmark)
        made = make_method(name, sigma, estimated_ratios=np.full(10, 0.1), **options)
        into = out.parent / f"{protocol}-{label}"
        trained = train(source.images, samples, sigma, made, chosen, into, description=f"{out.parent.name} {into.name}")
        minutes.setdefault(protocol, {})[label] = trained.history[0]["seconds"] * number / taken / 60
    write_sealed(out, {"minutes_per_epoch": minutes, "samples": number, "measured_on": taken})
