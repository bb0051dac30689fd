"""How CAROT fares with wrong ratios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from nslimb.adjustment.carot import carot
from nslimb.adjustment.inputs import check_instance_scores
from nslimb.arrays import FloatArray
from nslimb.checks import as_integers, check_count, check_range, check_ratios
from nslimb.errors import DataError, InvalidInput
from nslimb.experiment.cells import Run, run_path, runs
from nslimb.experiment.config import Config
from nslimb.experiment.gather import gather
from nslimb.experiment.recipes import train_recipe
from nslimb.experiment.studies.base import Study
from nslimb.plotting import COLOURS, legend_above, styled, subplots
from nslimb.seeds import numpy_generator

# From ratios that are all but right to ratios that have little to do with the truth.
_LEAST, _MOST = 0.01, 2.0


@dataclass(frozen=True, eq=False)
class CarotRobustness:
    """Test accuracy of CAROT for each of n random ratio vectors."""

    ratios: FloatArray  # [n, c]
    divergence: FloatArray  # [n], KL(r || r_hat)
    accuracy: FloatArray  # [n], NaN where CAROT did not converge
    converged: NDArray[np.bool_]  # [n]
    unadjusted: float  # accuracy of the scores as they are
    with_truth: float  # accuracy of CAROT with r itself


def carot_robustness(
    log_scores: Tensor, labels: Any, ratios: Any, eta: float, tau: float, *, number: int = 500, seed: int = 1
) -> CarotRobustness:
    """CAROT's accuracy on scores [n, c] with gold ``labels`` [n], given wrong ratios instead of the true ``ratios`` r.

    A wrong vector is r_hat_j proportional to r_j exp(s z_j), z standard normal, with s from 0.01 to 2, evenly in
    logarithm: from all but right to far off.

    Examples
    --------
    >>> import torch
    >>> scores = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.8, 0.2], [0.2, 0.8]]).log()
    >>> found = carot_robustness(scores, [0, 1, 0, 1], [0.5, 0.5], eta=0.1, tau=10.0, number=3)
    >>> found.unadjusted, found.with_truth, found.accuracy.shape
    (0.75, 1.0, (3,))
    """
    scores = check_instance_scores(log_scores)
    expected = f"{len(scores)} labels 0 to {scores.shape[1] - 1}"
    gold = as_integers("labels", labels, expected)
    if gold.shape != (len(scores),):
        raise InvalidInput("labels", expected, f"shape {list(gold.shape)}")
    check_range("labels", gold, scores.shape[1], expected)
    truth = check_ratios(ratios, None, scores.shape[1])
    rng = numpy_generator(seed, "carot robustness")
    strength = np.geomspace(_LEAST, _MOST, check_count("number", number))
    shift = strength[:, None] * rng.standard_normal((number, len(truth)))
    wrong = truth * np.exp(shift - shift.max(axis=1, keepdims=True))
    wrong /= wrong.sum(axis=1, keepdims=True)
    found = [_accuracy(scores, gold, row, eta, tau) for row in (truth, *wrong)]
    accuracy = np.array(found)
    occurring = truth > 0
    return CarotRobustness(
        ratios=wrong,
        divergence=(truth[occurring] * np.log(truth[occurring] / wrong[:, occurring])).sum(axis=1),
        accuracy=accuracy[1:],
        converged=~np.isnan(accuracy[1:]),
        unadjusted=float((scores.argmax(dim=1) == gold).double().mean()),
        with_truth=float(accuracy[0]),
    )


def _accuracy(scores: Tensor, gold: Tensor, ratios: FloatArray, eta: float, tau: float) -> float:
    solved = carot(scores, ratios, eta, tau)
    if not bool(solved.converged):
        return float("nan")
    return float((solved.scores.argmax(dim=1) == gold).double().mean())


def needs(config: Config) -> list[Run]:
    """SL on MAX-3, the first of the grid."""
    return [run for run in runs(config) if run[1] == "sl" and (run[0].benchmark, run[0].M) == ("max", "3")][:1]


def compute(config: Config | None) -> pd.DataFrame:
    """CAROT's accuracy on a trained MAX-3 model against KL(r, r-hat) for 500 random ratios."""
    from nslimb.experiment.jobs.adjust import open_run
    from nslimb.experiment.jobs.recipe import Host

    chosen_runs = [] if config is None else needs(config)
    if config is None or not chosen_runs:
        raise DataError("carot_robustness: needs a grid with SL on MAX-3; see config/quick.yaml")
    (run,) = chosen_runs
    host = Host.from_config(config.model_dump(mode="json"))
    opened = open_run(train_recipe(config, *run), host, "", config.results / run_path(*run))
    (entry,) = gather(config, [run])
    chosen = {} if entry.metrics is None else entry.metrics.adjustments["carot"]["setting"]
    # Where the validation samples chose no adjustment, a setting of middling strength shows what CAROT would do.
    eta, tau = chosen.get("eta", 1.0), chosen.get("tau", 1.0)
    found = carot_robustness(
        opened.scores(opened.samples.test), opened.gold.test, np.asarray(opened.gold.ratios), eta, tau
    )
    constant = {"unadjusted": found.unadjusted, "with_truth": found.with_truth, "eta": eta, "tau": tau}
    columns = {"divergence": found.divergence, "accuracy": found.accuracy, **constant, "run": run_path(*run)}
    frame: pd.DataFrame = pd.DataFrame(columns)
    return frame


@styled
def draw(frame: pd.DataFrame) -> Any:
    figure, ((axis,),) = subplots(size=(4.2, 3.0))
    percent = 100 * frame["accuracy"]
    axis.plot(frame["divergence"], percent, ".", color=COLOURS[0], markersize=3, label="CAROT, random ratios")
    for column, style, label in (("unadjusted", "--", "unadjusted"), ("with_truth", ":", "CAROT, true ratios")):
        axis.axhline(100 * frame[column].iloc[0], color="black", linewidth=0.9, linestyle=style, label=label)
    axis.set(xscale="log", xlabel=r"KL(r || $\hat{r}$)", ylabel="test accuracy (%)")
    axis.set_title(f"SL on MAX-3, eta {frame['eta'].iloc[0]:.3g}, tau {frame['tau'].iloc[0]:.3g}")
    legend_above(figure)
    return figure


STUDY = Study(compute, draw, needs)
