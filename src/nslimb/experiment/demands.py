"""What a job asks a cluster for: memory and minutes, from costs measured on one CPU core and scaled to the cell.

A limit is no forecast: it is a multiple of the measured cost, and doubles with each attempt. A training job that still
runs out of time has lost nothing, since its next attempt goes on from the checkpoint.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from nslimb.data.once import ONCE
from nslimb.experiment.cells import block_of, variant_of
from nslimb.experiment.config import Config
from nslimb.learning.methods import method_class


class Cost(NamedTuple):
    """A network's cost on one core: milliseconds an image, and the peak memory of a job that evaluates with it."""

    training: float
    evaluation: float
    peak_mb: int


# Measured with PyTorch 2.13, one thread of a two-core machine, by benchmarks/costs.py: the published runs of LeNet, of
# LeNet on 45 x 45 pixels and of the narrow ResNet, and batches of all five when idle (64 images to train, 1,024
# to evaluate), which agree. Memory peaks when images are evaluated.
COSTS = {
    "lenet": Cost(0.08, 0.04, 510),
    "lenet45": Cost(0.25, 0.2, 560),
    "symbolnet": Cost(5.4, 3.7, 2820),
    "resnet-narrow": Cost(1.7, 1.0, 750),
    "resnet18": Cost(37.0, 17.0, 2460),
}
_UNKNOWN = COSTS["resnet-narrow"]  # a network of the user's own
_TEST_IMAGES = 10_000  # at most, whenever the test set is looked at
_TRAINING_IMAGES = 60_000  # at most, where every image is used once
_GPU_SPEEDUP = 30  # of the network, against one core: assumed, not measured
_GPU_MB = 2500  # the CUDA libraries, in the host's memory: assumed, not measured
_MEMORY_MARGIN = 1.6
_TIME_MARGIN = 4  # slower cores, shared nodes, file systems
_START_MINUTES = 5  # imports from a network disk, reading and checking images
_DAY = 24 * 60  # partitions seldom allow more; the checkpoint carries a job over


class Demand(NamedTuple):
    """Memory in MB and time in minutes."""

    mem_mb: int
    runtime: int


def training_seconds(config: Config, benchmark: str, arity: str, method: str, gpu: bool) -> tuple[float, float]:
    """What training one method on one cell should take: in the network, and in pseudolabels (on a core)."""
    block, variant = block_of(config, benchmark), variant_of(config, benchmark, method)
    made, training = method_class(variant.method, config.base), config.training_of(benchmark, variant)
    cost = _cost(block.network)
    settings = made.Settings(**config.method_settings(benchmark, variant))
    epochs = (training.epochs + getattr(settings, "pre_epochs", 0)) * len(made.starts(settings))
    labels = _TRAINING_IMAGES if block.samples == ONCE else block.samples * int(arity)
    looked_at = _TEST_IMAGES / training.look_every + config.validation * int(arity)
    in_network = labels * cost.training + looked_at * cost.evaluation
    in_program = labels * made.beside_network(settings)
    return epochs * in_network / (_GPU_SPEEDUP if gpu else 1) / 1000, epochs * in_program / 1000


def train_demand(config: Config, benchmark: str, arity: str, method: str, attempt: int = 1) -> Demand:
    """For the training of one method on one cell."""
    with_gpu = config.training.device != "cpu"
    seconds = sum(training_seconds(config, benchmark, arity, method, with_gpu))
    peak = _cost(block_of(config, benchmark).network).peak_mb
    return _demand(max(peak, _GPU_MB if with_gpu else 0), 1000 * seconds, attempt)


def adjust_demand(config: Config, benchmark: str, arity: str, attempt: int = 1) -> Demand:
    """For the evaluation of a trained model, which is done on the CPU, and its adjustments (measured: 11 s)."""
    cost = _cost(block_of(config, benchmark).network)
    return _demand(cost.peak_mb, _evaluated(config, arity) * cost.evaluation + 11_000, attempt)


def _cost(network: str | dict[str, str]) -> Cost:
    """Of one network; of several, which all see every image, of as many as the costliest."""
    names = [network] if isinstance(network, str) else list(network.values())
    dearest = max((COSTS.get(name, _UNKNOWN) for name in names), key=lambda cost: cost.training)
    return dearest._replace(training=len(names) * dearest.training, evaluation=len(names) * dearest.evaluation)


def _evaluated(config: Config, arity: str) -> int:
    return _TEST_IMAGES + config.validation * int(arity)


def _demand(peak_mb: int, milliseconds: float, attempt: int) -> Demand:
    memory = 100 * math.ceil(peak_mb * _MEMORY_MARGIN / 100)
    minutes = _START_MINUTES + math.ceil(_TIME_MARGIN * milliseconds / 60_000)
    factor = 2 ** (attempt - 1)
    return Demand(memory * factor, min(minutes * factor, _DAY))
