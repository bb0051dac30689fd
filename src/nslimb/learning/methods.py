"""Training methods: each a small object that turns a batch's logits and weak labels into one loss a sample."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from nslimb.checks import check_ratios
from nslimb.errors import InvalidInput
from nslimb.files import digest
from nslimb.learning.programs import Encoding
from nslimb.learning.pseudolabels import pseudolabels
from nslimb.learning.records import Records
from nslimb.learning.semantic import Form, semantic_loss
from nslimb.marginals.window import SlidingWindow
from nslimb.sigma.component import Sigma
from nslimb.sigma.diagram import DEAD


class Batch(NamedTuple):
    """What a method sees of a batch."""

    logits: Tensor  # [B, M, c]
    features: Tensor  # [B, M, d]
    weak: Tensor  # [B]
    rows: Tensor  # [B], which training samples these are
    head: nn.Module


class Method:
    """The base: no state, logits as they are."""

    oracle = False  # True for methods that see gold labels
    pre_epochs = 0  # epochs before the network starts anew
    lp_seconds = 0.0  # spent in the linear program so far

    def loss(self, batch: Batch) -> Tensor:
        """One loss a sample, [B]."""
        raise NotImplementedError

    def debias(self, logits: Tensor, head: nn.Module) -> Tensor:  # noqa: ARG002
        """The logits to predict with."""
        return logits

    def end_epoch(self, epoch: int, predict: Callable[[], Tensor]) -> bool:  # noqa: ARG002
        """Called after each epoch; ``predict`` gives the log-scores [m, M, c] of the training samples, if wanted.

        True: start the network anew.
        """
        return False

    @property
    def ratios(self) -> Tensor | None:
        """The label ratios in use."""
        return None

    def reset(self) -> None:
        """Forget what earlier runs have left."""

    def describe(self) -> dict[str, Any]:
        """The settings that a resumed run must share, as plain values."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        pass


class Semantic(Method):
    """SL: semantic loss over k proofs or, exactly, the whole pre-image."""

    def __init__(self, sigma: Sigma, proofs: int | None = None, form: Form = "nll") -> None:
        self.sigma, self.proofs, self.form = sigma, proofs, form

    def loss(self, batch: Batch) -> Tensor:
        return semantic_loss(batch.logits.log_softmax(-1), batch.weak, self.sigma, self.proofs, self.form)

    def describe(self) -> dict[str, Any]:
        return {"proofs": self.proofs, "form": self.form}


class Debiased(Method):
    """RECORDS around SL."""

    def __init__(self, semantic: Semantic, records: Records) -> None:
        self.semantic, self.records = semantic, records

    def loss(self, batch: Batch) -> Tensor:
        logits = self.records.train(batch.logits, batch.features, batch.head)
        return self.semantic.loss(batch._replace(logits=logits))

    def debias(self, logits: Tensor, head: nn.Module) -> Tensor:
        return self.records.predict(logits, head)

    def reset(self) -> None:
        self.records.mean = None

    def describe(self) -> dict[str, Any]:
        own = {"momentum": self.records.momentum, "debias_training": self.records.debias_training}
        return {**self.semantic.describe(), **own}

    def state_dict(self) -> dict[str, Any]:
        return self.records.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.records.load_state_dict(state)


class Pseudolabelling(Method):
    """ILP: cross-entropy to pseudolabels of eq. (6), with ratios that are fixed or follow SoLar's window.

    In the first ``warm_up`` epochs (of the final network) the loss is ``semantic``.
    """

    def __init__(
        self,
        semantic: Semantic,
        ratios: Any,
        window: SlidingWindow | None = None,
        encoding: Encoding = "hull",
        epsilon: float = 0.99,
        warm_up: int = 0,
    ) -> None:
        sigma = semantic.sigma
        self.semantic, self.window = semantic, window
        self.encoding, self.epsilon, self.warm_up = encoding, epsilon, warm_up
        self.pre_epochs = 0 if window is None else window.pre_epochs
        self.epochs_done = 0
        if window is None:
            self.fixed = torch.from_numpy(check_ratios(ratios, sigma.arity, sigma.num_classes))

    @property
    def ratios(self) -> Tensor:
        return self.fixed if self.window is None else self.window.ratios

    def loss(self, batch: Batch) -> Tensor:
        if self.pre_epochs <= self.epochs_done < self.pre_epochs + self.warm_up:
            return self.semantic.loss(batch)
        log_scores = batch.logits.log_softmax(-1)
        began = time.perf_counter()
        solved = pseudolabels(
            log_scores.detach(),
            batch.weak,
            self.semantic.sigma,
            self.ratios,
            epsilon=self.epsilon,
            encoding=self.encoding,
            proofs=self.semantic.proofs,
        )
        self.lp_seconds += time.perf_counter() - began
        return -(solved.q * log_scores).sum(dim=-1).mean(dim=-1)

    def end_epoch(self, epoch: int, predict: Callable[[], Tensor]) -> bool:
        self.epochs_done = epoch + 1
        if self.window is None:
            return False
        self.window.update(predict().argmax(-1))
        return self.window.phase_ended

    def reset(self) -> None:
        self.epochs_done = 0
        if self.window is not None:
            self.window.reset()

    def describe(self) -> dict[str, Any]:
        ratios = self.fixed.tolist() if self.window is None else self.window.settings
        own = {"encoding": self.encoding, "epsilon": self.epsilon, "warm_up": self.warm_up, "ratios": ratios}
        return {**self.semantic.describe(), **own}

    def state_dict(self) -> dict[str, Any]:
        window = {} if self.window is None else self.window.state_dict()
        return {"epochs_done": self.epochs_done, **window}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.epochs_done = int(state["epochs_done"])
        if self.window is not None:
            self.window.load_state_dict(state)


class Supervised(Method):
    """The ceiling: cross-entropy to gold labels [m, M]. An oracle."""

    oracle = True

    def __init__(self, labels: Any) -> None:
        self.labels = torch.as_tensor(labels)

    def loss(self, batch: Batch) -> Tensor:
        gold = self.labels.to(batch.logits.device)[batch.rows]
        losses = nn.functional.cross_entropy(batch.logits.flatten(0, 1), gold.flatten(), reduction="none")
        return losses.view(gold.shape).mean(dim=-1)

    def describe(self) -> dict[str, Any]:
        return {"labels": digest(self.labels.numpy().tobytes())}


METHODS = ("sl", "records", "ilp-emp", "ilp-alg1", "ilp-gold", "supervised")


def make_method(
    name: str,
    sigma: Sigma,
    *,
    proofs: int | None = None,
    form: Form = "nll",
    encoding: Encoding = "hull",
    epsilon: float = 0.99,
    warm_up: int = 0,
    pre_epochs: int = 20,
    debias_training: bool = True,
    estimated_ratios: Any = None,
    gold_ratios: Any = None,
    gold_labels: Any = None,
) -> Method:
    """The method by its name in the tables; what it needs and was not given is an error.

    ``estimated_ratios`` are Algorithm 1's, for ``ilp-alg1``; ``gold_ratios`` and ``gold_labels`` serve the oracles
    ``ilp-gold`` and ``supervised`` alone.
    """
    semantic = Semantic(sigma, proofs, form)
    if name == "sl":
        return semantic
    if name == "records":
        return Debiased(semantic, Records(debias_training=debias_training))
    if name == "ilp-emp":
        apart = any((targets == DEAD).any() for targets in sigma.diagram.targets)
        window = SlidingWindow(sigma.num_classes, sigma.arity if apart else None, pre_epochs)
        return Pseudolabelling(semantic, None, window, encoding, epsilon, warm_up)
    if name in ("ilp-alg1", "ilp-gold"):
        ratios = estimated_ratios if name == "ilp-alg1" else gold_ratios
        if ratios is None:
            raise InvalidInput("estimated_ratios" if name == "ilp-alg1" else "gold_ratios", f"ratios for {name}", None)
        method = Pseudolabelling(semantic, ratios, None, encoding, epsilon, warm_up)
        method.oracle = name == "ilp-gold"
        return method
    if name == "supervised":
        if gold_labels is None:
            raise InvalidInput("gold_labels", "the gold labels of the training samples for supervised", None)
        return Supervised(gold_labels)
    raise InvalidInput("method", f"one of {', '.join(METHODS)}", repr(name))
