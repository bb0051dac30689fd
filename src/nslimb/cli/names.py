"""Names for a shell that completes commands; nothing heavy is imported for them."""

from __future__ import annotations

from nslimb.experiment.places import CONFIGURATIONS

METHOD_NAMES = (
    "auto",
    "recipe",
    "sl",
    "sl-decay",
    "sl-balanced",
    "sl-prior",
    "records",
    "ilp-emp",
    "ilp-alg1",
    "sot-emp",
    "sot-alg1",
    "transport",
    "transport-named",
)
NETWORK_NAMES = ("auto", "lenet", "lenet45", "symbolnet", "resnet18", "resnet-narrow")
SOURCE_NAMES = ("mnist5k", "mnist", "cifar10", "hwf", "hwf-embedded")


def complete_method(incomplete: str) -> list[str]:
    """Methods that need no gold label."""
    return _beginning(METHOD_NAMES, incomplete)


def complete_network(incomplete: str) -> list[str]:
    """Built-in networks."""
    return _beginning(NETWORK_NAMES, incomplete)


def read_network(text: str | None) -> str | dict[str, str] | None:
    """``lenet``, or one for each space of labels: ``digit=lenet45,operator=lenet45``."""
    if text is None or "=" not in text:
        return text
    pairs = (part.partition("=") for part in text.split(","))
    return {space.strip(): name.strip() for space, _, name in pairs}


def complete_source(incomplete: str) -> list[str]:
    """Built-in image sources."""
    return _beginning(SOURCE_NAMES, incomplete)


def complete_configuration(incomplete: str) -> list[str]:
    """Configurations that come with the package."""
    return _beginning(sorted(path.stem for path in CONFIGURATIONS.glob("*.yaml")), incomplete)


def _beginning(names: tuple[str, ...] | list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]
