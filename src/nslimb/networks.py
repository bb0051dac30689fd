"""The paper's classifiers and smaller ones for CPUs, each split into ``features`` and a ``head`` as RECORDS does.

What RECORDS averages is the output of the convolutions; the head is all that follows: the whole MLP of LeNet and
SymbolNet, the last layer of a ResNet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor, nn

from nslimb.errors import InvalidInput
from nslimb.registry import Registry
from nslimb.seeds import torch_seed


class Classifier(nn.Module):
    """A network that exposes its features and its head: logits = head(features(images))."""

    def __init__(self, features: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.features = features
        self.head = head

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.head(self.features(images))
        return logits

    @property
    def last_layer(self) -> nn.Linear | Offset:
        """The layer that gives the logits, and has a bias for each class."""
        if isinstance(self.head, Offset):
            return self.head
        linear = [module for module in self.modules() if isinstance(module, nn.Linear)]
        if not linear:
            raise InvalidInput("network", "a last layer that is linear", "a network without one")
        return linear[-1]


class Offset(nn.Module):
    """Logits plus a bias for each class: the head of a network whose own last layer is not known."""

    def __init__(self, num_classes: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(num_classes))

    def forward(self, logits: Tensor) -> Tensor:
        if logits.shape[1:] != self.bias.shape:
            given = f"a network with {list(logits.shape[1:])}"
            raise InvalidInput("network", f"one output for each of {len(self.bias)} classes", given)
        return logits + self.bias


def small(num_classes: int, channels: int, size: int) -> Classifier:
    """A small network for images of any size from 16 x 16, ``size`` the smaller side: under 0.3 million weights.

    Two or more blocks of convolution and pooling bring the image to at most 8 x 8; then 4 x 4 x 64 features, 128, c.
    """
    if size < 16:
        raise InvalidInput("images", "at least 16 x 16 pixels for the network 'auto'", f"a side of {size}")
    layers: list[nn.Module] = []
    width = channels
    for wider in (16, 32, *(64 for _ in range(math.ceil(math.log2(size / 8)) - 2))):
        layers += [nn.Conv2d(width, wider, 3, padding=1), nn.BatchNorm2d(wider), nn.ReLU(), nn.MaxPool2d(2)]
        width = wider
    layers += [nn.Conv2d(width, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten()]
    head = nn.Sequential(nn.Linear(1024, 128), nn.ReLU(), nn.Linear(128, num_classes))
    return Classifier(nn.Sequential(*layers), head)


def lenet(num_classes: int = 10) -> Classifier:
    """LeNet for 1 x 28 x 28 images: two 5 x 5 convolutions, then 256-120-84-c."""
    return _lenet(256, num_classes)


def lenet45(num_classes: int = 13) -> Classifier:
    """The same for 1 x 45 x 45 images, whose convolutions leave 16 x 8 x 8 values."""
    return _lenet(1024, num_classes)


def _lenet(flat: int, num_classes: int) -> Classifier:
    features = nn.Sequential(
        nn.Conv2d(1, 6, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(6, 16, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
    )
    head = nn.Sequential(
        nn.Linear(flat, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, num_classes),
    )
    return Classifier(features, head)


def symbolnet(num_classes: int = 13) -> Classifier:
    """SymbolNet for 1 x 45 x 45 images: two 3 x 3 convolutions, then 128 features, with dropout."""
    features = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
    )
    head = nn.Sequential(
        nn.Linear(64 * 22 * 22, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, num_classes),
    )
    return Classifier(features, head)


def resnet18(num_classes: int = 10) -> Classifier:
    """ResNet-18 for 3 x 32 x 32 images: torchvision's, with a 3 x 3 first convolution and no first max-pool."""
    return _resnet([2, 2, 2, 2], 64, num_classes)


def resnet_narrow(num_classes: int = 10) -> Classifier:
    """A ResNet of one block a stage and a quarter of the width, for CPUs."""
    return _resnet([1, 1, 1, 1], 16, num_classes)


def _resnet(blocks: list[int], width: int, num_classes: int) -> Classifier:
    from nslimb.vision import torchvision

    class Narrow(torchvision.models.resnet.BasicBlock):  # type: ignore[misc]
        """torchvision's block at a fraction of its width (its ResNet always starts from 64)."""

        def __init__(self, inplanes: int, planes: int, *rest: object, **options: object) -> None:
            super().__init__(inplanes * width // 64, planes * width // 64, *rest, **options)

    network = torchvision.models.ResNet(torchvision.models.resnet.BasicBlock if width == 64 else Narrow, blocks)
    network.conv1 = _convolution(3, width, 3, padding=1)
    network.bn1 = nn.BatchNorm2d(width)
    network.maxpool = nn.Identity()
    network.fc = nn.Identity()
    if width != 64:
        for stage in (network.layer2, network.layer3, network.layer4):
            wide_in, wide_out = stage[0].downsample[0].in_channels, stage[0].downsample[0].out_channels
            stage[0].downsample = nn.Sequential(
                _convolution(wide_in * width // 64, wide_out * width // 64, 1, stride=2),
                nn.BatchNorm2d(wide_out * width // 64),
            )
    return Classifier(network, nn.Linear(8 * width, num_classes))


def _convolution(inside: int, outside: int, size: int, **options: int) -> nn.Conv2d:
    """A convolution as torchvision's ResNet starts its own."""
    convolution = nn.Conv2d(inside, outside, size, bias=False, **options)  # type: ignore[arg-type]
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return convolution


NETWORKS: Registry[Callable[[int], nn.Module]] = Registry(
    "network",
    {
        "lenet": "nslimb.networks:lenet",
        "lenet45": "nslimb.networks:lenet45",
        "symbolnet": "nslimb.networks:symbolnet",
        "resnet18": "nslimb.networks:resnet18",
        "resnet-narrow": "nslimb.networks:resnet_narrow",
    },
)


def build_spaced(
    names: Mapping[str, str],
    sizes: Mapping[str, int],
    own: Tensor,
    seed: int,
    *purpose: str | int,
    base: Path | None = None,
    factories: Mapping[str, Callable[[int], nn.Module]] | None = None,
) -> Spaced:
    """A fresh network for each space, by name; ``sizes`` are the numbers of labels, ``own`` [M, c] whose they are.

    ``factories`` of the spaces are taken in place of the names.
    """
    if set(names) != set(sizes):
        raise InvalidInput("network", f"a network for each of the spaces {', '.join(sizes)}", ", ".join(names))
    made = dict(factories or {})
    parts = [
        build(names[space], size, seed, *purpose, space, base=base, factory=made.get(space))
        for space, size in sizes.items()
    ]
    return Spaced(parts, list(sizes.values()), own)


def build(
    name: str,
    num_classes: int,
    seed: int,
    *purpose: str | int,
    base: Path | None = None,
    factory: Callable[[int], nn.Module] | None = None,
) -> Classifier:
    """A fresh network whose initial weights depend on the seed and the purpose alone.

    ``name`` is a built-in one, or one's own factory as ``file.py:factory`` (relative to ``base``): it takes the number
    of classes and returns a module that maps images [n, C, H, W] to logits [n, c]. ``factory`` is taken in its place.
    """
    factory = NETWORKS.get(name, base) if factory is None else factory
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(torch_seed(seed, "network", *purpose))
        made = factory(num_classes)
    if not isinstance(made, nn.Module):
        raise InvalidInput("network", "a factory of a torch module", f"{name}, which made a {type(made).__name__}")
    classifier = made if isinstance(made, Classifier) else Classifier(made, nn.Identity())
    # Convolutions are faster so: LeNet by a seventh. torch's types do not know this form of ``to``.
    return classifier.to(memory_format=torch.channels_last)  # type: ignore[call-overload,no-any-return]


class SideBySide(nn.Module):
    """The features of several networks for the same images, flat and one after another: [n, sum of d]."""

    def __init__(self, parts: Sequence[nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.shapes: list[torch.Size] = []  # of an image's features, as each head takes them

    def forward(self, images: Tensor) -> Tensor:
        found = [part(images) for part in self.parts]
        self.shapes = [features.shape[1:] for features in found]
        return torch.cat([features.flatten(1) for features in found], dim=1)


class Heads(Offset):
    """The heads of several networks: logits of all spaces, one after another."""

    def __init__(self, features: SideBySide, heads: Sequence[nn.Module], sizes: Sequence[int]) -> None:
        super().__init__(sum(sizes))
        self.heads = nn.ModuleList(heads)
        self.sizes = tuple(sizes)
        self._features = (features,)  # in a tuple: its weights are not this module's

    def forward(self, features: Tensor) -> Tensor:
        shapes = self._features[0].shapes
        parts = features.split([shape.numel() for shape in shapes], dim=-1)
        logits = []
        for head, part, shape, size in zip(self.heads, parts, shapes, self.sizes, strict=True):
            found = head(part.reshape(-1, *shape))
            if found.shape[1:] != (size,):
                given = f"one with {list(found.shape[1:])}"
                raise InvalidInput("network", f"a network with {size} logits for its space", given)
            logits.append(found)
        return super().forward(torch.cat(logits, dim=1)).reshape(*features.shape[:-1], -1)


class Spaced(Classifier):
    """A network for each space of labels. Each sees every image; at a position only its space's own logits count."""

    own: Tensor  # bool [M, c]: the labels of each position's space
    space_of: Tensor  # [c]: the space of each label

    def __init__(self, parts: Sequence[Classifier], sizes: Sequence[int], own: Tensor) -> None:
        features = SideBySide([part.features for part in parts])
        super().__init__(features, Heads(features, [part.head for part in parts], sizes))
        self.register_buffer("own", own, persistent=False)
        self.register_buffer("space_of", torch.repeat_interleave(torch.tensor(list(sizes))), persistent=False)

    def at_positions(self, logits: Tensor) -> Tensor:
        """Logits [..., M, c], -inf for labels of other spaces than the position's."""
        return logits.masked_fill(~self.own, float("-inf"))

    def among_their_kind(self, scores: Tensor, labels: Tensor) -> Tensor:
        """Scores [n, c] of single images whose kind is known to be that of ``labels`` [n]; -inf for other spaces."""
        return scores.masked_fill(self.space_of != self.space_of[labels].unsqueeze(-1), float("-inf"))
