"""The step `adjust`: metrics of a trained model before and after each adjustment."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from nslimb.adjustment.base import as_adjustment
from nslimb.adjustment.evaluation import AdjustmentProtocol, evaluate_adjustments
from nslimb.arrays import FloatArray, IntArray
from nslimb.data.samples import Gold, Samples, load_gold, load_samples
from nslimb.data.source import ImageSource
from nslimb.errors import TooLarge
from nslimb.experiment import names
from nslimb.experiment.jobs.recipe import Host, Recipe, digest_of, sigma_of, source_of
from nslimb.experiment.jobs.train import method_of
from nslimb.experiment.runs.base import read_schema, write_schema
from nslimb.experiment.runs.marginals import Marginals
from nslimb.experiment.runs.metrics import Ceiling, Metrics, RatioError
from nslimb.learning.checkpoint import load_weights
from nslimb.learning.loop import network_of, predict
from nslimb.learning.methods.base import Method
from nslimb.metrics.by_space import accuracy_by_space
from nslimb.metrics.confusion import confusion_matrix
from nslimb.metrics.distances import kullback_leibler, total_variation
from nslimb.metrics.registry import METRICS
from nslimb.networks import Classifier, Spaced
from nslimb.sigma.component import Sigma
from nslimb.theory.confusions import confusions
from nslimb.theory.majority import learned_shortcut


class OpenRun(NamedTuple):
    """A trained run with all that it was made from."""

    source: ImageSource
    samples: Samples
    gold: Gold
    sigma: Sigma
    ratios: FloatArray
    network: Classifier
    method: Method

    def scores(self, indices: Any) -> torch.Tensor:
        """Log-scores of images by index."""
        images = torch.from_numpy(self.source.images)
        return predict(self.network, self.method, images, indices, self.source.normalisation)


def open_run(recipe: Recipe, host: Host, ready: str, folder: Path) -> OpenRun:
    """Read a trained run from its folder."""
    cell = folder.parent
    sigma = sigma_of(recipe, host)
    stored = load_weights(folder / names.MODEL)
    network = network_of(recipe["network"], sigma, recipe["seed"], base=host.base)
    network.load_state_dict(stored["network"])
    samples = load_samples(cell / names.SAMPLES)
    method = method_of(recipe, host, sigma, samples, cell)
    method.load_state_dict(stored["method"])
    return OpenRun(
        source=source_of(recipe, host, sigma, ready),
        samples=samples,
        gold=load_gold(cell / names.GOLD),
        sigma=sigma,
        ratios=np.asarray(read_schema(cell / names.MARGINALS, Marginals).ratios),
        network=network,
        method=method,
    )


def test_scores(run: OpenRun) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores of the single test images [t, c], and of the same drawn as tuples [t', M, c]; each is computed once."""
    single, tuples = run.samples.test, run.samples.test_tuples
    scores = run.scores(np.concatenate([single, tuples.reshape(-1)]))
    return scores[: len(single)], scores[len(single) :].view(*tuples.shape, -1)


def ceiling_of(run: OpenRun) -> Ceiling | None:
    """The identifiable ceiling of a cell's drawn samples; None where sigma is too large for it, or lists nothing.

    It is that of single weak labels of one sigma, so that there is none for sets and families. Weak labels that are
    wrong tell nothing; which they are is known here, where nothing is learned from it.
    """
    weak = run.samples.train_weak
    if not run.sigma.lists_weak_labels or weak.dtype.kind != "i":
        return None
    right = weak[run.sigma.apply(run.gold.train) == weak]
    if not len(right):
        return None
    try:
        found = confusions(run.sigma, run.gold.ratios, weak=right)
    except TooLarge:
        return None
    shares = np.bincount(run.gold.test, minlength=run.sigma.num_classes) / len(run.gold.test)
    lost = np.flatnonzero(found.lost).tolist()
    return Ceiling(identifiable=float(shares[~found.lost].sum()), lost=lost, samples=len(right))


def shortcut_of(run: OpenRun, scores: torch.Tensor) -> list[int] | None:
    """The reading of the classes that a network has learned in place of the true one, and that explains all samples."""
    matrix = confusion_matrix(run.gold.test, scores.argmax(-1).cpu().numpy(), run.sigma.num_classes)
    found = learned_shortcut(run.sigma, matrix, run.gold.train, run.samples.train_weak)
    return None if found is None else found.tolist()


def weak_accuracy(sigma: Sigma, scores: torch.Tensor, labels: IntArray) -> float:
    """The share of tuples whose weak label the predicted labels have, from scores [u, M, c] and labels [u, M].

    Predicted is the likeliest label that can stand at the position: an operator never stands where a digit must. So one
    network for all positions is measured as one for each kind is.
    """
    possible = scores.masked_fill(~torch.from_numpy(sigma.accepted), float("-inf"))
    return float(np.mean(sigma.explains(possible.argmax(dim=-1).numpy(), sigma.apply(labels))))


def adjust_run(recipe: Recipe, host: Host, ready: str, folder: Path) -> None:
    """Metrics of a trained model before and after each adjustment: metrics.json."""
    began = time.perf_counter()
    torch.set_num_threads(host.threads)
    run = open_run(recipe, host, ready, folder)
    ratios, gold = run.ratios, run.gold
    scores, in_tuples = test_scores(run)
    if isinstance(run.network, Spaced):  # an image is known to be of its kind, and a position of its space
        scores = run.network.among_their_kind(scores, torch.from_numpy(gold.test)).log_softmax(-1)
        in_tuples = run.network.at_positions(in_tuples).log_softmax(-1)
    tried = [as_adjustment(entry, host.base) for entry in recipe["adjustments"]]
    adjusted = evaluate_adjustments(
        scores,
        gold.test,
        run.scores(run.samples.validation),
        run.samples.validation_weak,
        run.sigma,
        ratios,
        adjustments={made.name: made for made in tried},
        protocol=AdjustmentProtocol(**recipe["choice"], seed=recipe["seed"]),
        metrics=[(entry.rpartition(":")[2], METRICS.get(entry, host.base)) for entry in recipe["metrics"]],
        test_tuples=(in_tuples, gold.test_tuples) if ratios.ndim == 2 else None,
    )
    if not run.sigma.is_family:  # whose test tuples have no member
        adjusted["none"]["test_weak_accuracy"] = weak_accuracy(run.sigma, in_tuples, gold.test_tuples)
    content = Metrics(
        source=run.source.name,
        adjustments=adjusted,
        ratios=RatioError(
            total_variation=total_variation(ratios, gold.ratios),
            kullback_leibler=kullback_leibler(gold.ratios, ratios),
            estimated=ratios.tolist(),
            true=gold.ratios.tolist(),
        ),
        ceiling=None if "support" in recipe else ceiling_of(run),  # that of independent labels
        shortcut=shortcut_of(run, scores),
        spaces=accuracy_by_space(scores, gold.test, run.sigma.spaces),
        settings=digest_of({key: value for key, value in recipe.items() if key != "code"}),
        code=recipe["code"],
        seconds=time.perf_counter() - began,
    )
    write_schema(folder / names.METRICS, content)
