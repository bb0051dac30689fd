"""One training loop for all methods: readable from top to bottom, resumable to the bit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from nslimb.arrays import IntArray
from nslimb.data.batches import Images, Streamed, on_device
from nslimb.data.pixels import normalise, prepare
from nslimb.data.samples import Samples
from nslimb.errors import InvalidInput, TrainingFailed
from nslimb.learning.checkpoint import load_weights, resume, run_digest, save, save_model, take_finished
from nslimb.learning.history import Epoch
from nslimb.learning.inputs import check_samples, check_settings, is_finished
from nslimb.learning.methods.base import Batch, Method
from nslimb.learning.progress import EpochLog
from nslimb.learning.settings import Settings
from nslimb.learning.stopping import EarlyStopping
from nslimb.metrics.confusion import confusion_matrix
from nslimb.networks import Classifier, Spaced, build, build_spaced
from nslimb.seeds import torch_generator, torch_seed
from nslimb.sigma.component import Sigma
from nslimb.sigma.spaces import own_labels
from nslimb.threads import threads_for, torch_threads

# What makes a network of so many classes, or what makes that of each space.
Factory = Callable[[int], nn.Module] | Mapping[str, Callable[[int], nn.Module]]

_EVALUATION_BATCH = 2048


class Probe(NamedTuple):
    """Test images and gold labels, looked at every few epochs for columns of the history and nothing else."""

    indices: IntArray
    labels: IntArray
    every: int = 1  # epochs between two looks; the last epoch is always looked at


class Trained(NamedTuple):
    """A trained network with its method, the history, one row an epoch, and how long this call's epochs took."""

    network: Classifier
    method: Method
    history: list[Epoch]
    seconds: float


def train(
    images: Images,
    samples: Samples,
    sigma: Sigma,
    method: Method,
    settings: Settings,
    folder: Path,
    *,
    test: Probe | None = None,
    start_from: Path | None = None,
    base: Path | None = None,
    factory: Factory | None = None,
    take_up: bool = False,
    description: str = "training",
) -> Trained:
    """Train on weak samples; ``folder`` gets history.csv and a checkpoint as it goes, model.pt at the end.

    A checkpoint in ``folder`` is resumed, and ends in the same weights to the bit as a run without interruption; one of
    another configuration is refused, and so is a folder that holds a trained model; with ``take_up``, the model of this
    very configuration is taken as it is. ``start_from`` is a model.pt whose weights to begin with. A network of one's
    own, ``file.py:factory``, is looked up from the folder ``base``; or ``factory`` makes it. Images are uint8 or floats
    in [0, 1], [N, H, W] or [N, H, W, 3], or a torch Dataset of such, which is read batch by batch.

    Parameters
    ----------
    images
        uint8 or floats, [N, H, W] or [N, H, W, 3], or a torch Dataset.
    samples
        Indices of images and weak labels, from ``draw_samples`` or of one's own.
    sigma
        The symbolic component.
    method
        From ``make_method``.
    settings
        How to train.
    folder
        Where history, checkpoint and model go.
    test
        Test images and labels for columns of the history; nothing that is learned depends on them.
    start_from
        A model.pt to begin with.
    base, factory
        Where a network of one's own is looked up, or what makes it (by space, where there are several).
    take_up
        Take a finished model of this very configuration as it is.
    description
        Of the run, in its progress.

    Returns
    -------
    Trained
        ``network``, ``method``, ``history`` and ``seconds``.

    Raises
    ------
    TrainingFailed
        If a loss is no number; with the epoch and the batch.
    BrokenFile
        If the checkpoint cannot be read or is of another configuration.
    """
    check_settings(settings)
    check_samples(samples, sigma, len(images), settings.patience)
    finished = is_finished(folder, take_up)
    device = find_device(settings.device)
    pixels = on_device(images, device)
    tuples, weak = (torch.from_numpy(part).to(device) for part in (samples.train, samples.train_weak))
    start = None if start_from is None else load_weights(start_from)
    method.begin(samples)
    fresh = partial(_fresh, settings, sigma, device, pixels, start, base, factory)
    network = fresh("final" if method.pre_epochs == 0 else "pre")
    method.begin_network(network)
    optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
    features = _features(network, settings)
    digest = run_digest(settings.learned(), samples, sigma, method, images, start_from)
    if finished:
        return Trained(network.eval(), method, take_finished(folder, digest, network, method), 0.0)
    history = resume(folder, digest, network, optimizer, method)
    total = method.pre_epochs + settings.epochs
    stopping = EarlyStopping(settings.patience, folder)
    threads = settings.threads or threads_for(network)
    first = time.perf_counter()
    with (
        EpochLog(description, total, done=len(history)) as log,
        torch.random.fork_rng(devices=[]),
        torch_threads(threads),
    ):
        log.say(f"on {device}, with {threads} thread{'s' * (threads > 1)}")
        for epoch in range(len(history), total):
            if stopping.over(history):
                log.say(f"stopped: the weak likelihood has not risen for {settings.patience} epochs")
                break
            began, in_lp = time.perf_counter(), method.lp_seconds
            for group in optimizer.param_groups:
                group["lr"] = settings.learning_rate * method.pace(epoch / total)
            with _memory_told(epoch):
                loss, right = _run_epoch(
                    network, features, optimizer, method, sigma, pixels, tuples, weak, settings, epoch
                )
            seconds = time.perf_counter() - began
            looked = test is not None and ((epoch + 1) % test.every == 0 or epoch + 1 == total)
            row = Epoch(
                epoch=epoch + 1,
                phase="pre-estimation" if epoch < method.pre_epochs else "training",
                loss=loss,
                train_weak_accuracy=right / len(tuples),
                **_look(network, method, sigma, pixels, samples, test if looked else None, settings.normalisation),
                ratios=None if method.ratios is None else np.round(method.ratios.tolist(), 6).tolist(),
                seconds=round(seconds, 4),
                lp_seconds=round(method.lp_seconds - in_lp, 4),
                batches=-(-len(tuples) // settings.batch_size),
            )
            history.append(row)
            stopping.keep(network, method, history)
            if method.end_epoch(epoch, partial(predict, network, method, pixels, normalisation=settings.normalisation)):
                network = fresh("final")
                method.begin_network(network)
                features = _features(network, settings)
                optimizer = torch.optim.Adam(network.parameters(), lr=settings.learning_rate)
            save(folder, digest, network, optimizer, method, history)
            log.epoch(row)
    taken = time.perf_counter() - first
    stopping.finish(network, method)
    save_model(folder / "model.pt", network, method, digest)
    for part in ("checkpoint.pt", "best.pt"):
        (folder / part).unlink(missing_ok=True)
    return Trained(network.eval(), method, history, taken)


def _run_epoch(
    network: Classifier,
    run: Callable[[Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    method: Method,
    sigma: Sigma,
    pixels: Tensor | Streamed,
    tuples: Tensor,
    weak: Tensor,
    settings: Settings,
    epoch: int,
) -> tuple[float, float]:
    """One pass over the samples; the mean loss and the number of samples whose weak label was predicted."""
    torch.manual_seed(torch_seed(settings.seed, "epoch", epoch))  # dropout
    augmentation = torch_generator(settings.seed, "augmentation", epoch)
    order = torch.randperm(len(tuples), generator=torch_generator(settings.seed, "shuffle", epoch)).to(pixels.device)
    network.train()
    losses: list[Tensor] = []
    right = torch.zeros((), dtype=torch.int64, device=pixels.device)
    for rows in order.split(settings.batch_size):
        chosen = tuples[rows]
        used = None if sigma.used(weak[rows]) is None else chosen >= 0
        indices = chosen.flatten() if used is None else chosen[used]
        taken = prepare(pixels[indices], settings.augment, augmentation, settings.normalisation)
        with torch.autocast(pixels.device.type) if settings.mixed_precision else nullcontext():
            features = run(taken)
            logits = network.head(features)
        batch = Batch(
            logits=_at_positions(network, _placed(logits.float(), chosen, used)),
            features=_placed(features.float(), chosen, used),
            weak=weak[rows],
            rows=rows,
            head=network.head,
            used=used,
        )
        try:
            loss = method.loss(batch).mean()
        except InvalidInput as error:
            if error.argument != "log_scores":
                raise
            raise TrainingFailed(_not_finite("the scores are", epoch, len(losses) + 1)) from error
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach() * len(rows))
        right += sigma.explains(batch.logits.detach().argmax(-1), batch.weak).sum()
    per_batch = torch.stack(losses).tolist()  # the one wait for the device
    _refuse_nan(per_batch, network, epoch)
    return sum(per_batch) / len(tuples), float(right)


def _spaced(network: nn.Module, values: Tensor) -> bool:
    """Whether these are logits or scores [n, M, c] of several networks, one for each space."""
    return isinstance(network, Spaced) and values.dim() == 3


def _at_positions(network: nn.Module, logits: Tensor) -> Tensor:
    """Logits [B, M, c], with those of other spaces than a position's own left out."""
    return network.at_positions(logits) if isinstance(network, Spaced) else logits


def _placed(values: Tensor, chosen: Tensor, used: Tensor | None) -> Tensor:
    """What a network gives for the images of tuples [B, M], as [B, M, ...]; 0 at positions that a sample lacks."""
    if used is None:
        return values.view(*chosen.shape, *values.shape[1:])
    placed = values.new_zeros((*chosen.shape, *values.shape[1:]))
    placed[used] = values
    return placed


@contextmanager
def _memory_told(epoch: int) -> Iterator[None]:
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "memory" not in str(error):
            raise
        raise TrainingFailed(
            f"training: out of memory in epoch {epoch + 1}; the last whole epoch is kept. "
            "Lower the batch size, or train where there is more memory"
        ) from error


def _refuse_nan(per_batch: list[float], network: nn.Module, epoch: int) -> None:
    for number, value in enumerate(per_batch, start=1):
        if not np.isfinite(value):
            raise TrainingFailed(_not_finite(f"the loss is {value},", epoch, number))
    for name, weights in network.named_parameters():
        if not bool(torch.isfinite(weights).all()):
            raise TrainingFailed(_not_finite(f"the weights {name} are", epoch, len(per_batch)))


def _not_finite(what: str, epoch: int, batch: int) -> str:
    return (
        f"training: {what} not finite in epoch {epoch + 1}, batch {batch}; the last whole epoch is kept. "
        "Lower the learning rate, or look at the scores of that batch"
    )


@torch.no_grad()
def predict(
    network: Classifier, method: Method, pixels: Tensor | Streamed, indices: Any, normalisation: str = "auto"
) -> Tensor:
    """Log-scores [..., c] of images given by index [...], each distinct image computed once, in evaluation mode.

    Uniform ones for index -1, which stands for no image.

    Parameters
    ----------
    network, method
        What was trained, and how it reads logits.
    pixels
        Images on the network's device.
    indices
        Which of them, integers [...].
    normalisation
        Of the pixels, as in training.

    Returns
    -------
    Tensor
        Log-scores [..., c].
    """
    wanted = torch.as_tensor(indices, device=pixels.device)
    there = wanted >= 0
    distinct, place = wanted[there].unique(return_inverse=True)
    network.eval()
    logits = [network(normalise(pixels[part], normalisation)) for part in distinct.split(_EVALUATION_BATCH)]
    scores = method.debias(torch.cat(logits), network.head).log_softmax(-1)
    if bool(there.all()):
        placed = scores[place].view(*wanted.shape, scores.shape[-1])
        # Tuples: a position's label is of its own space.
        return _at_positions(network, placed).log_softmax(-1) if _spaced(network, placed) else placed
    placed = scores.new_full((*wanted.shape, scores.shape[-1]), -np.log(scores.shape[-1]))
    placed[there] = scores[place]
    return placed


def _look(
    network: Classifier,
    method: Method,
    sigma: Sigma,
    pixels: Tensor | Streamed,
    samples: Samples,
    test: Probe | None,
    normalisation: str,
) -> dict[str, Any]:
    """Weak accuracy and log-likelihood on the validation samples, and accuracy on the test images for the record."""
    looked: dict[str, Any] = {"validation_weak_accuracy": None, "validation_log_likelihood": None}
    if len(samples.validation):
        scores = predict(network, method, pixels, samples.validation, normalisation)
        weak = torch.as_tensor(samples.validation_weak, device=scores.device)
        looked["validation_weak_accuracy"] = float(sigma.explains(scores.argmax(-1), weak).double().mean())
        looked["validation_log_likelihood"] = float(sigma.log_likelihood(scores, weak).mean())
    if test is not None:
        found = predict(network, method, pixels, test.indices, normalisation)
        if isinstance(network, Spaced):
            found = network.among_their_kind(found, torch.as_tensor(test.labels, device=found.device))
        predicted = found.argmax(-1).cpu().numpy()
        matrix = confusion_matrix(test.labels, predicted, sigma.num_classes)
        recall = np.diag(matrix) / np.maximum(matrix.sum(axis=1), 1)
        looked["test_accuracy"] = float(np.mean(predicted == test.labels))
        looked["test_class_accuracy"] = np.round(recall, 4).tolist()
    return looked


def _fresh(
    settings: Settings,
    sigma: Sigma,
    device: torch.device,
    pixels: Tensor | Streamed,
    start: dict[str, Any] | None,
    base: Path | None,
    factory: Factory | None,
    phase: str,
) -> Classifier:
    """A new network, checked to take these images and to give a logit for each class; weights as in ``start``."""
    network = network_of(settings.network, sigma, settings.seed, phase, base=base, factory=factory).to(device)
    try:
        with torch.no_grad():
            logits = network.eval()(normalise(pixels[torch.zeros(1, dtype=torch.int64)], settings.normalisation))
    except RuntimeError as error:
        expected = f"a network for images {list(pixels.shape[1:])}"
        raise InvalidInput("network", expected, f"{settings.network}, which fails on them ({error})") from error
    if logits.shape != (1, sigma.num_classes):
        given = f"{settings.network} with {logits.shape[-1] if logits.dim() == 2 else list(logits.shape[1:])}"
        raise InvalidInput("network", f"one output for each of {sigma.num_classes} classes", given)
    if start is not None:
        try:
            network.load_state_dict(start["network"])
        except (KeyError, RuntimeError) as error:
            reason = str(error).splitlines()[0]
            raise InvalidInput("start_from", f"weights of {settings.network} for these classes", reason) from error
    return network


def network_of(
    name: str | Mapping[str, str],
    sigma: Sigma,
    seed: int,
    *purpose: str,
    base: Path | None = None,
    factory: Factory | None = None,
) -> Classifier:
    """A fresh network for sigma's classes, or one for each of its spaces."""
    if isinstance(name, str):
        make = None if isinstance(factory, Mapping) else factory
        return build(name, sigma.num_classes, seed, *purpose, base=base, factory=make)
    if sigma.spaces_share_labels:
        expected = "a sigma whose classes are those of its spaces, one after another (sigma.by_space())"
        raise InvalidInput("sigma", expected, repr(sigma))
    sizes = {space.name: len(space.labels) for space in sigma.spaces}
    own = torch.from_numpy(own_labels(sigma.spaces, sigma.arity))
    factories = factory if isinstance(factory, Mapping) else None
    return build_spaced(name, sizes, own, seed, *purpose, base=base, factories=factories)


def find_device(name: str) -> torch.device:
    """The device of this name, if it is there; ``auto`` is the GPU where there is one."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InvalidInput("device", "'auto', 'cpu', 'cuda' or another device that is there", repr(name)) from error
    return device


def _features(network: Classifier, settings: Settings) -> Callable[[Tensor], Tensor]:
    """The features' forward pass, compiled where asked for; the network itself stays as it is."""
    return torch.compile(network.features) if settings.compile else network.features
