"""A trained classifier as values: what predictions need, and what it is good to know of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nslimb.arrays import FloatArray, WeakArray
from nslimb.data.batches import Images, on_device
from nslimb.errors import InvalidInput, TooLarge
from nslimb.learning.loop import predict
from nslimb.learning.methods.base import Method
from nslimb.networks import Classifier, Spaced
from nslimb.sigma.component import Sigma
from nslimb.theory.confusions import confusions


@dataclass(frozen=True, eq=False)
class Model:
    """A network with its sigma, its method (for the logits to predict with) and what the weak labels told."""

    sigma: Sigma
    network: Classifier
    method: Method
    network_name: str | dict[str, str]  # one for each space, where there are several
    own_network: bool
    method_name: str
    settings: dict[str, Any]  # of training and of the method, plain values
    image_shape: tuple[int, ...]  # [H, W] or [H, W, 3]
    normalisation: str
    ratios: FloatArray | None  # [c], or [M, c] where positions differ; None where they cannot be estimated
    groups: tuple[tuple[int, ...], ...]  # classes that the weak labels did not tell apart, the largest first
    validation_scores: Tensor  # [v, M, c], for choosing an adjustment
    validation_weak: WeakArray
    known_ratios: bool = False  # given by the user, not estimated
    figures: dict[str, float] = field(default_factory=dict)  # weak accuracy and likelihood on the validation samples

    def log_scores(self, images: Images, indices: Any = None, kinds: Any = None) -> Tensor:
        """Log-scores [n, c] of all images, or [..., c] of those at ``indices`` [...], on the CPU.

        Several networks give the scores of an image by its kind: ``kinds`` [n] are labels of the space that each of all
        images is of, or one label for all.
        """
        device = next(self.network.parameters()).device
        pixels = on_device(images, device)
        if tuple(pixels.shape[1:]) != self.image_shape:
            expected = f"images {list(self.image_shape)}, as the classifier was trained on"
            raise InvalidInput("images", expected, list(pixels.shape[1:]))
        wanted = np.arange(len(images)) if indices is None else indices
        scores = predict(self.network, self.method, pixels, wanted, self.normalisation)
        if kinds is not None and isinstance(self.network, Spaced):
            labels = torch.as_tensor(kinds, device=scores.device).expand(len(scores))
            scores = self.network.among_their_kind(scores, labels).log_softmax(-1)
        return scores.cpu()


def untold(sigma: Sigma, ratios: FloatArray | None, weak: WeakArray, noise: float = 0.0) -> tuple[tuple[int, ...], ...]:
    """Groups of classes that the weak labels of the training samples do not tell apart; none where that is unknown.

    A share ``noise`` of the weak labels is taken to be drawn at random.
    """
    if ratios is None or not sigma.lists_weak_labels or weak.dtype.kind != "i":  # what sets tell is not known
        return ()
    try:
        found = confusions(sigma, ratios, weak=torch.from_numpy(weak), noise=noise)
    except TooLarge:
        return ()
    return tuple(group for group in found.groups if len(group) > 1)
