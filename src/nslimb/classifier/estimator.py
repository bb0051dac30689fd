"""``WeakClassifier``: in the manner of scikit-learn, a classifier of images that is learned from weak labels."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from nslimb.adjustment.selection import adjust as apply_adjustment
from nslimb.adjustment.selection import select
from nslimb.arrays import FloatArray, IntArray
from nslimb.checks import check_count
from nslimb.classifier.fitting import Wish, fit_model
from nslimb.classifier.inputs import as_images, as_labels, as_samples, as_weak
from nslimb.classifier.model import Model
from nslimb.classifier.networks import plan_network
from nslimb.classifier.stored import load_model, save_classifier
from nslimb.classifier.tracking import check_mlflow, log_fit
from nslimb.data.batches import Images, on_device
from nslimb.errors import InvalidInput
from nslimb.learning.history import Epoch
from nslimb.learning.inputs import check_tuples
from nslimb.learning.methods import METHODS, method_class
from nslimb.learning.settings import Settings
from nslimb.networks import Spaced
from nslimb.sigma.component import Sigma
from nslimb.theory.spaced import told_apart


class WeakClassifier:
    """A classifier of images, learned from tuples of them of which only s = sigma(y_1, ..., y_M) is known.

    Parameters
    ----------
    sigma
        The symbolic component; its ``class_names`` are what predictions are called.
    network
        "auto", a small convolutional network for any images from 16 x 16 on; a built-in name (``lenet``, ...); one's
        own as ``file.py:factory``; a torch module with one logit a class, or a function of the number of classes that
        makes one. Or a mapping {space: one of these}, a network for each of sigma's spaces: where these share labels,
        classes are those of all spaces, one after another (``sigma.by_space()``).
    method
        "auto", which is ``recipe``, or another method by name; ``method_settings`` are its own. Oracles, which need
        gold labels, are refused.
    epochs, batch_size, learning_rate, seed, augment, normalisation, device, threads
        How to train, see ``nslimb.learning.Settings``. Nothing is augmented unless asked for, in colour neither.
    patience
        Stop so many epochs after the one with the highest weak likelihood on the validation samples, and take that one.
    restarts
        Train so many times more from other weights, and take what has the highest weak likelihood there.
    ratios
        Of the classes, [c], or [M, c] by position, where you know them and the method is ``transport``, which trains
        towards them from three starts, and takes what has the highest weak likelihood on the validation samples. A
        method that takes no known ratios is refused.
    size
        Stretch pictures that are given by their file names to size x size.

    Attributes
    ----------
    classes_ : tuple
        What predictions are: names, or the numbers 0, 1, ... where sigma's classes have no names.
    ratios_ : array [c] or [M, c], or None
        The ratios of the classes: those that were given, else estimated ones.
    untold_ : list of tuples
        Groups of classes that the weak labels do not tell apart. Whatever is in one is predicted as its first. None
        where ratios were given: what weak labels tell of single classes rests on labels that are independent.
    weak_accuracy_ : float
        The share of validation samples whose weak label is predicted.
    history_ : list
        What is known of each epoch (``nslimb.learning.history.Epoch``); empty for a loaded classifier.

    Examples
    --------
    >>> import numpy as np, nslimb
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(2, size=200)  # what nobody sees: whether a square is dark or bright
    >>> images = (60 * rng.random((200, 16, 16)) + 150 * labels[:, None, None]).astype(np.uint8)
    >>> sigma = nslimb.Sigma.from_function(max, num_classes=2, arity=2, class_names=["dark", "bright"])
    >>> tuples = np.arange(200).reshape(100, 2)
    >>> weak = labels[tuples].max(axis=1)  # what is seen of two of them: whether one is bright
    >>> classifier = nslimb.WeakClassifier(sigma, epochs=3).fit(images, tuples, weak)
    >>> classifier.predict(images[:2]).tolist() == [["dark", "bright"][label] for label in labels[:2]]
    True
    """

    def __init__(
        self,
        sigma: Sigma,
        network: Any = "auto",
        method: str = "auto",
        *,
        method_settings: Mapping[str, Any] | None = None,
        epochs: int = 30,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        seed: int = 1,
        augment: str = "none",
        normalisation: str = "auto",
        patience: int | None = None,
        restarts: int = 0,
        ratios: Any = None,
        size: int | None = None,
        device: str = "auto",
        threads: int | None = None,
    ) -> None:
        self.sigma = Sigma.check(sigma)
        if isinstance(network, Mapping):
            self.sigma, ratios = told_apart(self.sigma, ratios)
        self.network, self.method, self.method_settings = network, method, dict(method_settings or {})
        if ratios is not None:
            self._check_takes_ratios()
            self.method_settings["given_ratios"] = ratios
        self.restarts = check_count("restarts", restarts, least=0)
        self.size = size if size is None else check_count("size", size)
        self.settings = Settings(
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            seed=seed,
            augment=augment,
            normalisation=normalisation,
            patience=patience,
            device=device,
            threads=threads,
        )
        self.history_: list[Epoch] = []
        self._model: Model | None = None

    def __repr__(self) -> str:
        state = "not fitted" if self._model is None else f"weak accuracy {self.weak_accuracy_:.3f}"
        return f"WeakClassifier({self.sigma!r}, network={self.network!r}, method={self.method!r}, {state})"

    def fit(
        self,
        images: Any,
        tuples: Any,
        weak: Any = None,
        *,
        validation: tuple[Any, Any] | None = None,
        folder: str | Path | None = None,
        experiment: str | None = None,
    ) -> WeakClassifier:
        """Learn from weak labels alone.

        Parameters
        ----------
        images
            uint8, or floats from 0 to 1, as an array or a tensor [N, H, W], [N, H, W, 3] or [N, 3, H, W]; or a torch
            Dataset of such images, each alone or first in a tuple, which is read batch by batch; or a list of picture
            files.
        tuples
            Which images make up each sample: integers [n, M]. Or ``nslimb.data.Samples``, as
            ``Samples.from_csv`` reads them, without ``weak`` and ``validation``.
        weak
            The weak label of each sample, by value.
        validation
            Tuples and weak labels of samples for watching, stopping and choosing. Without, a tenth is set aside, so
            that no image is in both; samples that have images of both parts are left out.
        folder
            Where training keeps a checkpoint, from which the same call goes on if it is cut.
        experiment
            Log the fit into this experiment of MLflow: settings, epochs, and the classifier itself. Where to is
            MLflow's own setting (``MLFLOW_TRACKING_URI``).

        Returns
        -------
        WeakClassifier
            Itself, fitted.
        """
        if experiment is not None:
            check_mlflow()
        pixels = as_images(images, self.settings.normalisation, self.size)
        samples = as_samples(pixels, tuples, weak, validation, self.sigma, self.settings.seed)
        shape = tuple(on_device(pixels, torch.device("cpu")).shape[1:])
        plan = plan_network(self.network, shape)
        method = self._method_name
        settings = Settings(**{**vars(self.settings), "network": plan.name})
        wish = Wish(self.sigma, plan, method, self.method_settings, settings, self.restarts, self.size)
        with tempfile.TemporaryDirectory() if folder is None else nullcontext(folder) as place:
            self._model, self.history_ = fit_model(pixels, samples, wish, Path(place))
        if experiment is not None:
            given = {"sigma": self.sigma.name, "network": plan.name, "method": method, **self.method_settings}
            given |= {**vars(settings), "restarts": self.restarts, "samples": len(samples.train)}
            log_fit(experiment, given, self.history_, {"weak_accuracy": self.weak_accuracy_}, self.save)
        return self

    def predict(
        self, images: Any, *, adjust: str | None = None, space: str | Sequence[str] | None = None
    ) -> NDArray[Any]:
        """The class of each image, [n]: names where sigma's classes have any, else numbers."""
        predicted = self.predict_proba(images, adjust=adjust, space=space).argmax(axis=1)
        return np.asarray(np.array(self.classes_)[predicted])

    def predict_proba(
        self, images: Any, *, adjust: str | None = None, space: str | Sequence[str] | None = None
    ) -> FloatArray:
        """The probability of each class, [n, c].

        ``adjust`` is "la" or "carot": moved towards the ratios, all images together, with settings that the
        weak validation samples choose, if they favour any. With several networks ``space`` names the kind of the
        images, or that of each: classes of other spaces have probability 0.
        """
        pixels = self._pixels(images)
        scores = self._fitted().log_scores(pixels, kinds=self._kinds(space, len(pixels)))
        if adjust is not None:
            scores = self._adjusted(scores, adjust)
        probabilities: FloatArray = scores.double().exp().numpy()
        return probabilities

    def score(self, images: Any, labels: Any) -> float:
        """The share of images whose class is ``labels`` [n], names or numbers as predictions are.

        With several networks each image is known to be of its class's space.
        """
        pixels = self._pixels(images)
        numbers = as_labels(labels, self.classes_, len(pixels))
        scores = self._fitted().log_scores(pixels, kinds=numbers)  # an image is known to be of its kind
        return float((scores.argmax(dim=1).numpy() == numbers).mean())

    def weak_score(self, images: Any, tuples: Any, weak: Any) -> float:
        """The share of samples whose weak label is that of the predicted classes; needs no gold label."""
        model, pixels = self._fitted(), self._pixels(images)
        checked = check_tuples("tuples", tuples, self.sigma.arity, len(pixels))
        observed = torch.from_numpy(as_weak(weak, self.sigma, len(checked)))
        labels = model.log_scores(pixels, checked).argmax(-1)
        return float(self.sigma.explains(labels, observed).double().mean())

    def save(self, path: str | Path) -> Path:
        """Write the classifier to ``path / classifier.pt``, or to ``path`` if that ends in .pt; returns the file.

        The file stands alone: the compiled sigma, the network's weights, class names, ratios and settings are in it. Of
        a network of one's own it has the weights and the name of the factory, not the code.
        """
        return save_classifier(self._fitted(), Path(path))

    @classmethod
    def load(cls, path: str | Path, network: Any = None, device: str = "auto") -> WeakClassifier:
        """Read what ``save`` wrote; nothing in it is executed. A network of one's own is to be given as ``network``."""
        model = load_model(Path(path), network, device)
        known = model.network_name if network is None else network
        made = cls(model.sigma, known, model.method_name, size=model.settings["size"], device=device)
        made._model = model
        return made

    @property
    def classes_(self) -> tuple[Any, ...]:
        names = self.sigma.class_names
        return tuple(range(len(names))) if list(names) == [str(k) for k in range(len(names))] else names

    @property
    def ratios_(self) -> FloatArray | None:
        return self._fitted().ratios

    @property
    def untold_(self) -> list[tuple[Any, ...]]:
        return [tuple(self.classes_[label] for label in group) for group in self._fitted().groups]

    @property
    def weak_accuracy_(self) -> float:
        return self._fitted().figures["validation_weak_accuracy"]

    @property
    def model_(self) -> Model:
        """The trained network with all that belongs to it."""
        return self._fitted()

    @property
    def _method_name(self) -> str:
        return "recipe" if self.method == "auto" else self.method

    def _check_takes_ratios(self) -> None:
        """Refuse known ratios that the method would not look at."""
        taken = "given_ratios" in method_class(self._method_name).needs
        if not taken or self.method_settings.get("ratios") == "estimated":
            able = [name for name in METHODS if "given_ratios" in METHODS.get(name).needs]
            given = self._method_name if not taken else f"{self._method_name} with ratios='estimated'"
            raise InvalidInput("method", f"one that takes known ratios ({', '.join(able)}), as ratios are given", given)

    def _fitted(self) -> Model:
        if self._model is None:
            raise InvalidInput("WeakClassifier", "fit() or load() before it is asked", "neither so far")
        return self._model

    def _kinds(self, space: str | Sequence[str] | None, number: int) -> IntArray | None:
        """A label of the space of each of ``number`` images; None where one network knows all classes."""
        first = {known.name: known.labels[0] for known in self.sigma.spaces}
        if not isinstance(self._fitted().network, Spaced):
            if space is not None:
                raise InvalidInput("space", "none, as one network knows all classes", repr(space))
            return None
        named = [space] * number if isinstance(space, str) else list(space or [])
        expected = f"the kind of all images, or that of each ({', '.join(first)}): each has a network of its own"
        if len(named) != number:
            raise InvalidInput("space", expected, "none" if space is None else f"{len(named)} for {number} images")
        for name in named:
            if name not in first:
                raise InvalidInput("space", expected, repr(name))
        return np.array([first[name] for name in named], dtype=np.int64)

    def _pixels(self, images: Any) -> Images:
        model = self._fitted()
        return as_images(images, model.normalisation, self.size, model.image_shape)

    def _adjusted(self, scores: Tensor, adjustment: str) -> Tensor:
        model = self._fitted()
        if model.ratios is None or model.ratios.ndim == 2:
            given = "a sigma without such ratios" if model.ratios is None else "ratios that differ by position"
            raise InvalidInput("adjust", "none, unless one ratio a class was estimated", given)
        choice = select(model.validation_scores, model.validation_weak, model.sigma, model.ratios, adjustment)
        return apply_adjustment(scores, model.ratios, choice)
