"""What methods and adjustments are, for the reader of a report: the first sentence of their own classes."""

from __future__ import annotations

from nslimb.adjustment.base import as_adjustment
from nslimb.experiment.config import Config
from nslimb.experiment.titles import printed_name
from nslimb.learning.methods import method_class


def explanations(config: Config) -> dict[str, str]:
    """What each method and adjustment of a grid is, by the name that tables print."""
    found: dict[str, str] = {}
    for name, block in config.benchmarks.items():
        for variant in block.methods:
            text = first_paragraph(method_class(variant.method, config.base))
            if variant.settings or variant.training:
                changes = ", ".join(
                    f"{key} = {value}" for key, value in {**variant.settings, **variant.training}.items()
                )
                text = f"{text} ({changes})"
            found.setdefault(printed_name(config, name, variant.name), text)
    for entry in config.adjustments:
        adjustment = as_adjustment(entry, config.base)
        found[f"+ {adjustment.printed}"] = first_paragraph(type(adjustment))
    return found


def first_paragraph(described: type) -> str:
    """The first paragraph of a class's docstring on one line, without its full stop."""
    paragraph = (described.__doc__ or "one of your own, without a description").strip().split("\n\n")[0]
    return " ".join(paragraph.replace("``", "").split()).rstrip(".")
