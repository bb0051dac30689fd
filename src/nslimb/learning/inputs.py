"""What the training loop refuses, so that nothing is learned from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import IntArray
from nslimb.checks import as_integers, check_count
from nslimb.data.samples import Samples
from nslimb.errors import InvalidInput
from nslimb.learning.settings import Settings
from nslimb.sigma.component import Sigma


def check_settings(settings: Settings) -> None:
    """Refuse numbers that cannot be trained with."""
    for name in ("epochs", "batch_size"):
        check_count(name, getattr(settings, name))
    for name in ("patience", "threads"):
        if getattr(settings, name) is not None:
            check_count(name, getattr(settings, name))
    if not 0 < settings.learning_rate < float("inf"):
        raise InvalidInput("learning_rate", "a number above 0", settings.learning_rate)
    check_count("seed", settings.seed, least=0)


def check_samples(samples: Samples, sigma: Sigma, images: int, patience: int | None = None) -> None:
    """Refuse tuples that are not sigma's, image indices that are not there, and weak labels that do not fit.

    A ``patience`` needs validation samples to stop by.
    """
    if len(samples.train) == 0:
        raise InvalidInput("samples", "at least one training sample", "none")
    if patience is not None and len(samples.validation) == 0:
        raise InvalidInput("patience", "None where there are no validation samples to stop by", patience)
    for part, tuples, weak in (
        ("train", samples.train, samples.train_weak),
        ("validation", samples.validation, samples.validation_weak),
    ):
        lacking = -1 if sigma.is_family else 0
        rows = check_tuples(f"samples.{part}", tuples, sigma.arity, images, lacking)
        try:
            observed = sigma.check_weak(weak, len(tuples), torch.device("cpu"))
        except InvalidInput as error:
            raise InvalidInput(f"samples.{part}_weak", error.expected, error.given) from None
        _check_positions(f"samples.{part}", rows, sigma.used(observed))


def _check_positions(argument: str, tuples: IntArray, used: Tensor | None) -> None:
    """Refuse samples of a family that lack an image at a position that they have, or have one where there is none."""
    wrong = np.argwhere((tuples >= 0) != (True if used is None else used.numpy()))
    if len(wrong):
        row, position = wrong[0].tolist()
        expected = "image indices, and -1 at the positions that a sample's member lacks and nowhere else"
        raise InvalidInput(argument, expected, f"{tuples[row, position]} in row {row}, position {position}")


def check_tuples(argument: str, tuples: object, arity: int, images: int, least: int = 0) -> IntArray:
    """Tuples of image indices as int64 [n, arity], each from 0 (or ``least``) to ``images - 1``."""
    expected = f"image indices [n, {arity}], as sigma has {arity} labels, each from 0 to {images - 1}"
    found = as_integers(argument, tuples, expected)
    if found.dim() != 2 or found.shape[1] != arity:
        raise InvalidInput(argument, expected, f"shape {list(found.shape)}")
    array: IntArray = found.cpu().numpy()
    outside = np.argwhere((array < least) | (array >= images))
    if len(outside):
        row, position = outside[0].tolist()
        raise InvalidInput(argument, expected, f"{array[row, position]} in row {row}")
    return array


def is_finished(folder: Path, welcome: bool) -> bool:
    """Whether a folder holds a trained model, and no checkpoint to go on from; refused unless that is welcome."""
    finished = (folder / "model.pt").exists() and not (folder / "checkpoint.pt").exists()
    if finished and not welcome:
        given = f"{folder}, which has a trained model (model.pt): remove it, or train into another folder"
        raise InvalidInput("folder", "a folder to train into", given)
    return finished
