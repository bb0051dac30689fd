"""A trained classifier as one file that stands alone: tensors, and plain values as JSON. No code is in it."""

from __future__ import annotations

import importlib.metadata
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nslimb.classifier.model import Model
from nslimb.classifier.networks import plan_network
from nslimb.errors import BrokenFile, DataError, InvalidInput
from nslimb.files import written_aside
from nslimb.learning.checkpoint import load_weights
from nslimb.learning.loop import find_device, network_of
from nslimb.learning.methods import METHODS, make_method
from nslimb.learning.methods.base import Method, NoSettings
from nslimb.networks import Classifier
from nslimb.sigma.component import Sigma
from nslimb.sigma.storing import put_together, take_apart

FORMAT = 1
FILE = "classifier.pt"


def classifier_file(path: Path) -> Path:
    """The file of a classifier that is saved in a folder, or as a file that ends in .pt."""
    return path if path.suffix == ".pt" else path / FILE


def save_classifier(model: Model, path: Path) -> Path:
    """Write a model, whole or not at all; returns the file."""
    plain = type(model.method).debias is Method.debias
    if not plain and model.method_name not in METHODS:
        expected = "a method whose predictions are the network's own, to be saved"
        raise InvalidInput("method", expected, f"{model.method_name}, which changes them by code of its own")
    described, arrays = take_apart(model.sigma)
    description = {
        "nslimb": importlib.metadata.version("nslimb"),
        "sigma": described,
        "network": model.network_name,
        "own_network": model.own_network,
        "method": model.method_name,
        "debiased": not plain,
        "settings": model.settings,
        "image_shape": list(model.image_shape),
        "normalisation": model.normalisation,
        "ratios": None if model.ratios is None else model.ratios.tolist(),
        "known_ratios": model.known_ratios,
        "groups": [list(group) for group in model.groups],
        "figures": model.figures,
    }
    state = {
        "version": FORMAT,
        "classifier": json.dumps(description),
        "sigma": {name: torch.from_numpy(array) for name, array in arrays.items()},
        "network": {name: part.detach().cpu() for name, part in model.network.state_dict().items()},
        "method": model.method.state_dict(),
        "validation_scores": model.validation_scores,
        "validation_weak": torch.from_numpy(model.validation_weak),
    }
    file = classifier_file(path)
    with written_aside(file) as aside:
        torch.save(state, aside)
    return file


def load_model(path: Path, network: Any, device: str) -> Model:
    """Read a model; ``network`` is the user's own where the file has only its weights."""
    file = classifier_file(path)
    if not file.is_file():
        raise DataError(
            f"{path}: is no saved classifier (there is no {file}); nslimb train or WeakClassifier.save write one"
        )
    state = load_weights(file, FORMAT)
    if "classifier" not in state:
        raise DataError(f"{file}: holds the weights of a training run, not a classifier that WeakClassifier.save wrote")
    try:
        described = json.loads(state["classifier"])
        arrays = {name: part.numpy() for name, part in state["sigma"].items()}
        sigma = put_together(described["sigma"], arrays)
        shape = tuple(described["image_shape"])
        made = _network(file, described, sigma, shape, network)
        made.load_state_dict(state["network"])
        method = _method(described, sigma, state["method"])
        return Model(
            sigma=sigma,
            network=made.to(find_device(device)).eval(),
            method=method,
            network_name=described["network"],
            own_network=described["own_network"],
            method_name=described["method"],
            settings=described["settings"],
            image_shape=shape,
            normalisation=described["normalisation"],
            ratios=None if described["ratios"] is None else np.asarray(described["ratios"]),
            groups=tuple(tuple(group) for group in described["groups"]),
            validation_scores=state["validation_scores"],
            validation_weak=state["validation_weak"].numpy(),
            known_ratios=described.get("known_ratios", False),  # files of before do not tell
            figures=described["figures"],
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise BrokenFile(file, f"cannot be read as a classifier ({error!r})", "train again") from error
    except RuntimeError as error:
        reason = str(error).strip().splitlines()[0]
        raise InvalidInput("network", f"the network {described['network']} that was trained", reason) from error


def _network(file: Path, described: dict[str, Any], sigma: Sigma, shape: tuple[int, ...], given: Any) -> Classifier:
    name = described["network"]
    if described["own_network"] and given is None:
        expected = f"the network of {file}, {name}: its code is yours, and only its weights are saved"
        raise InvalidInput("network", expected, "none")
    plan = plan_network(given if described["own_network"] else name, shape)
    return network_of(plan.name, sigma, 0, factory=plan.factory)


def _method(described: dict[str, Any], sigma: Sigma, state: dict[str, Any]) -> Method:
    """The method for its debiased logits; where it has none, nothing of it is needed."""
    if not described["debiased"]:
        return Method(sigma, NoSettings())
    known = {part.name for part in fields(METHODS.get(described["method"]).Settings)}
    settings = {key: value for key, value in described["settings"]["method"].items() if key in known}
    method = make_method(described["method"], sigma, **settings)
    method.load_state_dict(state)
    return method
