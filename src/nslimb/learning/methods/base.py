"""What every training method is: settings of its own, a loss, and perhaps a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn

from nslimb.checks import check_choice, check_count, check_share
from nslimb.data.samples import Samples
from nslimb.errors import InvalidInput
from nslimb.learning.noise import estimate_noise
from nslimb.learning.semantic import Form
from nslimb.learning.weights import check_gamma, weak_weights
from nslimb.sigma.component import Sigma
from nslimb.sigma.sets import refuse_sets

_FIRST_ESTIMATE = 3  # epochs: before, predictions say little about wrong labels
_LEAST_GAIN = 10.0  # nats by which wrong labels must explain the samples better than none do


class Batch(NamedTuple):
    """What a method sees of a batch."""

    logits: Tensor  # [B, M, c]
    features: Tensor  # [B, M, d]
    weak: Tensor  # [B], or sets or log-weights [B, S]
    rows: Tensor  # [B], which training samples these are
    head: nn.Module
    used: Tensor | None = None  # [B, M], which positions the samples have; None where all have all of them


@dataclass(frozen=True)
class NoSettings:
    """For methods without settings."""


class Method:
    """The base: no state, logits as they are. A method of one's own derives from it and has at least a ``loss``."""

    printed: ClassVar[str] = ""  # its name in tables and figures
    oracle: ClassVar[bool] = False  # True for methods that see gold labels
    needs: ClassVar[tuple[str, ...]] = ()  # of estimated_, given_, gold_ratios, gold_labels: given to the constructor
    milliseconds_per_label: ClassVar[float] = 0.0  # on a core, beside the network
    Settings: ClassVar[type[Any]] = NoSettings  # a frozen dataclass of its hyper-parameters
    pre_epochs = 0  # epochs before the network starts anew
    lp_seconds = 0.0  # spent in the linear program so far
    noise = 0.0  # the share of weak labels taken to be drawn at random

    def __init__(self, sigma: Sigma, settings: Any, **given: Any) -> None:
        self.sigma, self.settings, self.given = sigma, settings, given
        self.epochs_done = 0

    @classmethod
    def starts(cls, settings: Any) -> Sequence[tuple[Any, int]]:
        """Settings and the number of a restart for each training of which the grid keeps the best; usually one."""
        return [(settings, 0)]

    @classmethod
    def asks(cls, settings: Any, sigma: Sigma, samples: Samples) -> Sequence[str]:  # noqa: ARG003
        """Those of its ``needs`` that the grid gives it for these training samples; usually all."""
        return cls.needs

    @classmethod
    def beside_network(cls, settings: Any) -> float:  # noqa: ARG003
        """Milliseconds a label on a core beside the network, as a job's time limit has them."""
        return cls.milliseconds_per_label

    def begin(self, samples: Samples) -> None:  # noqa: ARG002
        """Called with the training samples before the first epoch, and before a checkpoint is taken up."""
        self.epochs_done = 0

    def begin_network(self, network: nn.Module) -> None:
        """Called with each fresh network before its first epoch."""

    def pace(self, done: float) -> float:  # noqa: ARG002
        """The share of the learning rate to go on with when this share of the epochs is ``done``; usually all of it."""
        return 1.0

    def loss(self, batch: Batch) -> Tensor:
        """One loss a sample, [B]."""
        raise NotImplementedError

    def debias(self, logits: Tensor, head: nn.Module) -> Tensor:  # noqa: ARG002
        """The logits to predict with."""
        return logits

    def end_epoch(self, epoch: int, predict: Callable[[Any], Tensor]) -> bool:  # noqa: ARG002
        """Called after each epoch; ``predict`` gives the log-scores [..., c] of images by index [...], if wanted.

        True: start the network anew.
        """
        self.epochs_done = epoch + 1
        return False

    @property
    def ratios(self) -> Tensor | None:
        """The label ratios in use."""
        return None

    def describe(self) -> dict[str, Any]:
        """What a resumed run must share, as plain values."""
        return asdict(self.settings)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint must hold."""
        return {"epochs_done": self.epochs_done}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on where ``state_dict`` was taken."""
        self.epochs_done = int(state["epochs_done"])


@dataclass(frozen=True)
class WeakSettings:
    """What all losses on weak samples share.

    ``proofs`` k counts the k most probable label vectors of a sample, None its whole pre-image. A sample whose weak
    label has frequency p weighs p^-``gamma``, normalised and capped. ``noise`` e is the share of weak labels taken to
    be wrong: the likelihood is then (1 - e) P(s) + e / S. ``"auto"`` estimates it after every epoch from the third on,
    by what the network made of each training sample when it came (0 for sequences and families, which list no S).
    """

    proofs: int | None = None
    form: Form = "nll"
    gamma: float = 0.0
    noise: float | Literal["auto"] = 0.0

    def __post_init__(self) -> None:
        if self.proofs is not None:
            check_count("proofs", self.proofs)
        check_choice("form", self.form, get_args(Form))
        check_gamma(self.gamma)
        if not (isinstance(self.noise, str) and self.noise == "auto"):
            check_share("noise", self.noise, "a share from 0 to below 1, or 'auto'")
        if self.noise and self.form != "nll":
            raise InvalidInput("noise", "0 with form 'bce', which has no noise rate", self.noise)


def finds_noise(settings: WeakSettings, sigma: Sigma, samples: Samples) -> bool:
    """Whether the share of wrong labels is to be estimated, and can be: single weak labels out of one list."""
    return settings.noise == "auto" and sigma.lists_weak_labels and samples.train_weak.dtype.kind == "i"


class WeakMethod(Method):
    """A method whose loss on a weak sample may be weighed by its weak label, and may allow for wrong ones."""

    settings: WeakSettings
    samples: Samples
    weights: Tensor | None = None  # [m], of the training samples
    likelihoods: Tensor | None = None  # log P(s) [m] of each sample when it was last trained on, for ``noise: auto``

    def begin(self, samples: Samples) -> None:
        super().begin(samples)
        self.samples = samples
        if self.settings.noise not in ("auto", 0) and samples.train_weak.dtype.kind != "i":
            refuse_sets(samples.train_weak, len(self.sigma.weak_labels), "a noise rate")
        finds = finds_noise(self.settings, self.sigma, samples)
        self.likelihoods = torch.zeros(len(samples.train)) if finds else None
        self._expect(0.0 if self.settings.noise == "auto" else self.settings.noise)

    def _expect(self, noise: float) -> None:
        """Allow for this share of wrong labels from now on."""
        self.noise = noise
        if self.settings.gamma:
            number = len(self.sigma.weak_labels) if noise else None
            weights = weak_weights(self.samples.train_weak, self.settings.gamma, noise, number)
            self.weights = torch.from_numpy(weights).float()

    def end_epoch(self, epoch: int, predict: Callable[[Any], Tensor]) -> bool:
        if self.likelihoods is not None and epoch + 1 >= _FIRST_ESTIMATE:
            found = estimate_noise(self.likelihoods, len(self.sigma.weak_labels))
            self._expect(found.rate if found.gain > _LEAST_GAIN else 0.0)
        return super().end_epoch(epoch, predict)

    def loss(self, batch: Batch) -> Tensor:
        if self.likelihoods is not None and self.likelihoods.device != batch.logits.device:
            self.likelihoods = self.likelihoods.to(batch.logits.device)
        if self.weights is not None and self.weights.device != batch.logits.device:
            self.weights = self.weights.to(batch.logits.device)
        losses, weights = self.sample_losses(batch), self.weights_in_use
        return losses if weights is None else losses * weights[batch.rows]

    @property
    def weights_in_use(self) -> Tensor | None:
        """Of the training samples, [m], in this epoch; None: all weigh the same."""
        return self.weights

    def sample_losses(self, batch: Batch) -> Tensor:
        """One loss a sample before it is weighed, [B]."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "noise": self.noise}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        if hasattr(self, "samples"):  # a model that is opened to predict has none
            self._expect(float(state["noise"]))
