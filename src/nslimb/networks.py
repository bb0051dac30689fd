"""The paper's classifiers, each split into ``features`` and ``head``."""

from __future__ import annotations

from torch import Tensor, nn


class Classifier(nn.Module):
    """A network that exposes its features and its linear head: logits = head(features(images))."""

    def __init__(self, features: nn.Module, head: nn.Linear) -> None:
        super().__init__()
        self.features = features
        self.head = head

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.head(self.features(images))
        return logits


def lenet(num_classes: int = 10) -> Classifier:
    """LeNet for 1 x 28 x 28 images: two 5 x 5 convolutions, then 256-120-84-c."""
    features = nn.Sequential(
        nn.Conv2d(1, 6, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(6, 16, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(256, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
    )
    return Classifier(features, nn.Linear(84, num_classes))
