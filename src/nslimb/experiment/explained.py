"""What methods and adjustments are, in a sentence for the reader of a report."""

from __future__ import annotations

from nslimb.experiment.config import Config
from nslimb.experiment.titles import printed_adjustments, printed_name
from nslimb.learning.methods import method_class

METHODS = {
    "sl": "semantic loss: the negative logarithm of the probability that the network gives to the observed weak label. "
    "In the protocol paper over the most probable label vector alone, in exact over all of them",
    "sl-decay": "semantic loss, with steps that shrink in the second half of the epochs",
    "sl-balanced": "semantic loss in which samples with rare weak labels weigh more",
    "sl-prior": "semantic loss from a last bias at the logarithm of the estimated label ratios, with a mean prediction "
    "that has to explain the observed weak labels",
    "recipe": "our advice where nothing else is known: semantic loss from a bias at the estimated ratios; later, rare "
    "weak labels weigh more and wrong ones less",
    "records": "semantic loss on logits from which a running estimate of the network's own bias is subtracted",
    "ilp-emp": "trains towards pseudolabels from a linear program that respects label ratios, here those of SoLar's "
    "moving window over the network's predictions",
    "ilp-alg1": "the linear program with the ratios that Algorithm 1 estimates from weak labels",
    "ilp-gold": "the linear program with the true ratios: an oracle, which no method could know",
    "sot-emp": "soft pseudolabels by entropic transport over all label vectors, with the ratios of the moving window",
    "sot-alg1": "soft pseudolabels by entropic transport, with the ratios of Algorithm 1",
    "sot-gold": "soft pseudolabels by entropic transport with the true ratios: an oracle",
    "transport": "soft pseudolabels by entropic transport with ratios that are known of the world; of several starts "
    "the one that explains the weak validation samples best",
    "supervised": "the same network trained on the hidden labels: an oracle, which shows what the network can do",
}
ADJUSTMENTS = {
    "la": "logit adjustment at test time: subtracts tau times the logarithm of the estimated ratios from the scores",
    "carot": "robust optimal transport at test time: moves the scores of many test images together towards the ratios",
}


def explanations(config: Config) -> dict[str, str]:
    """What each method and adjustment of a grid is, by the name that tables print; one's own by its docstring."""
    found: dict[str, str] = {}
    for name, block in config.benchmarks.items():
        for variant in block.methods:
            text = METHODS.get(variant.method) or _first_line(method_class(variant.method, config.base).__doc__)
            if variant.settings or variant.training:
                changes = ", ".join(
                    f"{key} = {value}" for key, value in {**variant.settings, **variant.training}.items()
                )
                text = f"{text} ({changes})"
            found.setdefault(printed_name(config, name, variant.name), text)
    for name, printed in printed_adjustments(config).items():
        if name in ADJUSTMENTS:
            found[f"+ {printed}"] = ADJUSTMENTS[name]
    return found


def _first_line(text: str | None) -> str:
    return (text or "a method of your own").strip().splitlines()[0].rstrip(".")
