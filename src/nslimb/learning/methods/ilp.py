"""ILP: pseudolabels of the linear program, with ratios of three origins."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import get_args

from torch import Tensor

from nslimb.checks import check_bool, check_choice, check_count, check_number
from nslimb.learning.methods.pseudolabelling import Pseudolabelling, PseudolabelSettings
from nslimb.learning.methods.ratios import Alg1Ratios, GoldRatios, WindowRatios
from nslimb.learning.programs import Encoding
from nslimb.learning.pseudolabels import pseudolabels


@dataclass(frozen=True)
class IlpSettings(PseudolabelSettings):
    """``encoding`` of the program, its tolerance ``epsilon`` in counts of a batch, and whether q must be integer."""

    encoding: Encoding = "hull"
    epsilon: float = 0.99
    integer: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("encoding", self.encoding, get_args(Encoding))
        check_number("epsilon", self.epsilon)
        check_bool("integer", self.integer)


@dataclass(frozen=True)
class IlpEmpSettings(IlpSettings):
    """``pre_epochs`` find the ratios before the network starts anew."""

    pre_epochs: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("pre_epochs", self.pre_epochs, least=0)


class Ilp(Pseudolabelling):
    """The linear program."""

    milliseconds_per_label = 0.1  # 0.05 to 0.18 in most published runs by their own clock (`lp_seconds`)
    Settings = IlpSettings
    settings: IlpSettings

    @classmethod
    def beside_network(cls, settings: IlpSettings) -> float:
        """One proof a sample leaves nothing to solve."""
        return 0.0 if settings.proofs == 1 else super().beside_network(settings)

    def targets(self, log_scores: Tensor, weak: Tensor) -> Tensor:
        began = time.perf_counter()
        solved = pseudolabels(
            log_scores,
            weak,
            self.sigma,
            self.ratios,
            epsilon=self.settings.epsilon,
            encoding=self.settings.encoding,
            proofs=self.settings.proofs,
            integer=self.settings.integer,
        )
        self.lp_seconds += time.perf_counter() - began
        return solved.q


class IlpEmp(WindowRatios, Ilp):
    """Trains towards pseudolabels from a linear program that respects label ratios, here those of SoLar's moving window
    over the network's own predictions.
    """

    printed = "ILP(EMP)"
    Settings = IlpEmpSettings


class IlpAlg1(Alg1Ratios, Ilp):
    """The linear program with the label ratios that Algorithm 1 estimates from weak labels."""

    printed = "ILP(ALG1)"


class IlpGold(GoldRatios, Ilp):
    """The linear program with the true label ratios: an oracle, which no method could know."""

    printed = "ILP(GOLD)"
