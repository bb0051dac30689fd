"""Training runs behind ``WeakClassifier.fit``: one, or several starts of which weak samples choose the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from nslimb.arrays import FloatArray
from nslimb.classifier.model import Model, untold
from nslimb.classifier.networks import Plan, drawn_anew
from nslimb.data.batches import Images, on_device
from nslimb.data.samples import Samples
from nslimb.learning.history import Epoch
from nslimb.learning.loop import Trained, predict, train
from nslimb.learning.methods import make_method
from nslimb.learning.settings import Settings
from nslimb.learning.stopping import best_likelihood
from nslimb.marginals.training import training_ratios
from nslimb.seeds import torch_seed
from nslimb.sigma.component import Sigma


@dataclass(frozen=True)
class Wish:
    """What to train, and how."""

    sigma: Sigma
    network: Plan
    method: str
    method_settings: dict[str, Any]
    settings: Settings
    restarts: int
    size: int | None  # of pictures that are given by name


def fit_model(images: Images, samples: Samples, wish: Wish, folder: Path) -> tuple[Model, list[Epoch]]:
    """The model of the start whose weights explain the weak validation samples best, and its history."""
    starts = _starts(wish)
    runs = [_run(images, samples, wish, folder, starts, number) for number in range(len(starts))]
    likelihoods = [best_likelihood(run.history, wish.settings.patience) for run in runs]
    chosen = runs[int(np.argmax(likelihoods))]
    return _model(images, samples, wish, chosen), chosen.history


class _Start(NamedTuple):
    method_settings: dict[str, Any]
    restart: int  # 0 for the weights of the seed itself


def _starts(wish: Wish) -> list[_Start]:
    """Those of the method (``transport`` has three), each with as many restarts as are wished for."""
    asked = make_method(wish.method, wish.sigma, **wish.method_settings)
    times = wish.restarts + 1
    return [
        _Start({**wish.method_settings, **asdict(settings)}, times * again + restart)
        for settings, again in asked.starts(asked.settings)
        for restart in range(times)
    ]


def _run(images: Images, samples: Samples, wish: Wish, folder: Path, starts: Sequence[_Start], number: int) -> Trained:
    """One start; where there are several, each has a folder of its own."""
    settings, factory, start = wish.settings, wish.network.factory, starts[number]
    if start.restart:
        settings = replace(settings, seed=torch_seed(settings.seed, "restart", start.restart))
        factory = drawn_anew(factory) if wish.network.own else factory
    several = len(starts) > 1
    return train(
        images,
        samples,
        wish.sigma,
        make_method(wish.method, wish.sigma, **start.method_settings),
        settings,
        folder / f"start={number}" if several else folder,
        factory=factory,
        take_up=True,
        description=f"start {number + 1} of {len(starts)}" if several else "training",
    )


def _model(images: Images, samples: Samples, wish: Wish, trained: Trained) -> Model:
    network, method, sigma = trained.network, trained.method, wish.sigma
    ratios, known = _ratios(trained, samples, sigma), wish.method_settings.get("given_ratios") is not None
    pixels = on_device(images, next(network.parameters()).device)
    scores = predict(network, method, pixels, samples.validation, wish.settings.normalisation).cpu()
    weak = torch.from_numpy(samples.validation_weak)
    # They rest on independent labels, which known ratios do not promise.
    groups = () if known else untold(sigma, ratios, samples.train_weak, method.noise)
    return Model(
        sigma=sigma,
        network=network,
        method=method,
        network_name=wish.network.name,
        own_network=wish.network.own,
        method_name=wish.method,
        settings={**wish.settings.learned(), "restarts": wish.restarts, "size": wish.size, "method": method.describe()},
        image_shape=tuple(pixels.shape[1:]),
        normalisation=wish.settings.normalisation,
        ratios=ratios,
        groups=groups,
        validation_scores=scores,
        validation_weak=samples.validation_weak,
        known_ratios=known,
        figures={
            "training_samples": len(samples.train),
            "validation_samples": len(samples.validation),
            "validation_weak_accuracy": float(sigma.explains(scores.argmax(-1), weak).double().mean()),
            "validation_log_likelihood": float(sigma.log_likelihood(scores, weak).mean()),
        },
    )


def _ratios(trained: Trained, samples: Samples, sigma: Sigma) -> FloatArray | None:
    """Those that the method had, or else Algorithm 1's; None where that would take too long."""
    found = trained.method.ratios
    if found is None:
        if not sigma.lists_weak_labels:
            return None
        found = training_ratios(samples.train_weak, sigma, trained.method.noise)
    ratios: FloatArray = found.detach().cpu().double().numpy()
    return ratios
