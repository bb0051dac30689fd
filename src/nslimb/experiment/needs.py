"""What a grid needs from outside and cannot fetch itself, looked for before any job starts."""

from __future__ import annotations

from nslimb.data import SOURCES, ImageSource, open_source
from nslimb.errors import DataError, InvalidInput, NslimbError
from nslimb.experiment.cells import runs, source_name, tables_of
from nslimb.experiment.config import BenchmarkBlock, Config
from nslimb.experiment.finished import is_settled
from nslimb.experiment.paths import source_file
from nslimb.networks import NETWORKS

# Images of the built-in sources, known before they are fetched: channels, height, width.
SHAPES: dict[str, tuple[int, ...]] = {
    "mnist5k": (1, 28, 28),
    "mnist": (1, 28, 28),
    "cifar10": (3, 32, 32),
    "hwf": (1, 45, 45),
    "hwf-embedded": (1, 45, 45),
}


def missing_needs(config: Config) -> dict[str, str]:
    """The benchmarks that cannot run here, and why; one whose runs were all restored needs nothing."""
    return {
        name: _no_symbols(config)
        for name, block in config.benchmarks.items()
        if block.source == "hwf"
        and (config.hwf_path is None or not config.hwf_path.exists())
        and not all(is_settled(config, *run) for run in runs(config) if run[0].benchmark == name)
    }


def _no_symbols(config: Config) -> str:
    found = "hwf_path is not set" if config.hwf_path is None else f"hwf_path, {config.hwf_path}, does not exist"
    return f"needs the real HWF symbols, and {found}; the source hwf-embedded needs none"


def what_can_run(config: Config) -> tuple[Config, list[str]]:
    """The grid without the benchmarks whose needs are not met, and a line on each; a refusal if so configured."""
    missing = missing_needs(config)
    if not missing:
        return config, []
    reasons = [f"benchmarks.{name}: {reason}" for name, reason in missing.items()]
    kept = {name: block for name, block in config.benchmarks.items() if name not in missing}
    if config.missing_data == "refuse":
        raise DataError("; ".join(reasons) + " (missing_data: leave-out runs the rest)")
    if not kept:
        raise DataError("; ".join(reasons) + ", and nothing else is in this grid")
    rest = config.model_copy(update={"benchmarks": kept})
    if config.tables is not None:
        shown = tuple(name for name in config.tables if name == "runtime" or name in tables_of(rest))
        rest = rest.model_copy(update={"tables": shown})
    return rest, [f"{reason}. It is left out" for reason in reasons]


def check_images(config: Config) -> None:
    """Open the user's own images, whose classes must be sigma's, and let each network see images of its source.

    Own sources are not opened again once the step `fetch` has left its mark.
    """
    for name, block in config.benchmarks.items():
        ready = config.results / source_file(source_name(config, name))
        sigma = block.problem(name).build(int(block.M[0]), config.base)
        shape = SHAPES.get(block.source)
        if block.source not in SOURCES and not ready.exists():
            try:
                source = open_source(block.source, config.data, base=config.base, class_names=sigma.class_names)
            except NslimbError as error:
                raise NslimbError(f"benchmarks.{name}.source: {error}") from error
            shape = _shape(source)
        if shape is not None:
            networks = {"": block.network} if isinstance(block.network, str) else block.network
            sizes = {"": sigma.num_classes, **{space.name: len(space.labels) for space in sigma.spaces}}
            for space, network in networks.items():
                _check_network(config, name, block, network, sizes[space], shape)


def _shape(source: ImageSource) -> tuple[int, ...]:
    height, width, *colours = source.images.shape[1:]
    return (*(colours or (1,)), height, width)


def _check_network(
    config: Config, name: str, block: BenchmarkBlock, chosen: str, classes: int, shape: tuple[int, ...]
) -> None:
    """Let a fresh network see two black images: what does not fit says so here, not hours later."""
    import torch

    network = NETWORKS.get(chosen, config.base)(classes).eval()
    what = f"images of {' x '.join(map(str, shape))} (channels, height, width), as {block.source} has"
    try:
        with torch.no_grad():
            logits = network(torch.zeros(2, *shape))
    except (RuntimeError, ValueError) as error:
        given = f"{chosen}, which says: {str(error).splitlines()[0]}"
        raise InvalidInput(f"benchmarks.{name}.network", f"one for {what}", given) from error
    if tuple(logits.shape) != (2, classes):
        given = f"{chosen}, which answers two images with {list(logits.shape)}"
        raise InvalidInput(f"benchmarks.{name}.network", f"logits [2, {classes}] for two {what}", given)
