"""``nslimb train``: from a CSV file of weak labels and a folder of pictures to a classifier."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nslimb.cli.messages import told_plainly
from nslimb.cli.names import complete_method, complete_network, read_network
from nslimb.cli.sigmas import ClassesOption, LeftToRightOption, SigmaArgument, build_sigma, read_classes

if TYPE_CHECKING:
    from nslimb import WeakClassifier
    from nslimb.data.samples import OwnSamples


def command(
    sigma: SigmaArgument,
    samples: Annotated[
        Path, typer.Argument(help="A CSV file: a sample in each row, its first line names the columns.")
    ],
    columns: Annotated[str, typer.Option(help="The columns that name the pictures, with commas: left,middle,right.")],
    weak: Annotated[str, typer.Option(help="The column that holds the weak labels.")] = "weak",
    images: Annotated[
        Path | None, typer.Option(help="The folder of the pictures; that of the CSV file if not given.")
    ] = None,
    classes: ClassesOption = None,
    validation: Annotated[
        Path | None,
        typer.Option(help="A CSV file of validation samples; if not given, 10 % of the rows are set aside."),
    ] = None,
    method: Annotated[
        str, typer.Option(help="A training method by name; auto is the recipe.", autocompletion=complete_method)
    ] = "auto",
    ratios: Annotated[
        Path | None,
        typer.Option(
            help="Known ratios of the classes, in a .csv or .json file, for --method transport or transport-named."
        ),
    ] = None,
    network: Annotated[
        str,
        typer.Option(
            help="auto (small, for any pictures from 16 x 16), lenet, ..., or your own as file.py:factory; "
            "one for each space of labels as digit=auto,operator=auto.",
            autocompletion=complete_network,
        ),
    ] = "auto",
    size: Annotated[int | None, typer.Option(min=1, help="Stretch every picture to this many pixels a side.")] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over the samples.")] = 30,
    patience: Annotated[
        int | None,
        typer.Option(min=1, help="Stop so many epochs after the best weak likelihood on the validation samples."),
    ] = None,
    restarts: Annotated[
        int, typer.Option(min=0, help="Train so many times more from other weights, and keep the best.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 1,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads on the CPU; few, as the network is small, if not given.")
    ] = None,
    left_to_right: LeftToRightOption = False,
    out: Annotated[Path, typer.Option(help="The folder that gets the classifier.")] = Path("model"),
) -> None:
    """Train a classifier of pictures on weak labels alone; no picture needs a label of its own.

    Ctrl-C keeps the last whole epoch, and the same command goes on from there.
    """
    with told_plainly():
        from nslimb import WeakClassifier
        from nslimb.cli.formats.ratios import read_ratios
        from nslimb.data import Samples
        from nslimb.learning.history import write_history
        from nslimb.memory import keep_freed_memory

        _check_out(out)
        keep_freed_memory()
        named = [column.strip() for column in columns.split(",")]
        built = build_sigma(sigma, len(named), read_classes(classes), left_to_right)
        classifier = WeakClassifier(
            built,
            read_network(network),
            method,
            epochs=epochs,
            patience=patience,
            restarts=restarts,
            ratios=None if ratios is None else read_ratios(ratios),
            seed=seed,
            size=size,
            device=device,
            threads=threads,
        )
        own = Samples.from_csv(samples, built, named, weak, images=images, validation=validation, size=size, seed=seed)
        typer.echo(_told(own))
        with _kept_on_interrupt(out):
            classifier.fit(own.images, own.samples, folder=out / "training")
            write_history(out / "history.csv", classifier.history_)
            file = classifier.save(out)
        shutil.rmtree(out / "training")
    _print(classifier)
    typer.echo(f"classifier: {file}; try: nslimb predict {out} PICTURES")


def _check_out(out: Path) -> None:
    from nslimb.classifier.stored import classifier_file
    from nslimb.errors import InvalidInput

    if classifier_file(out).exists():
        given = f"{out}, which has a trained classifier: remove it, or train into another folder"
        raise InvalidInput("--out", "a folder to train into", given)


@contextmanager
def _kept_on_interrupt(out: Path) -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"\nstopped; {out} keeps the last whole epoch, and the same command goes on from there", err=True)
        raise typer.Exit(130) from None


def _told(own: OwnSamples) -> str:
    """What was read, in a sentence."""
    height, width = own.images.shape[1:3]
    kind = "grey" if own.images.ndim == 3 else "in colour"
    train, held = len(own.samples.train), len(own.samples.validation)
    lost = f"; {own.left_out:,} rows have pictures of both and are left out (--validation spares them)"
    return (
        f"{train:,} samples to learn from and {held:,} for validation, "
        f"{len(own.files):,} pictures of {width} x {height}, {kind}{lost if own.left_out else ''}"
    )


def _print(classifier: WeakClassifier) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console, model = Console(highlight=False), classifier.model_
    names, ratios = model.sigma.class_names, model.ratios
    if ratios is not None:
        table = Table(
            title=f"{'known' if model.known_ratios else 'estimated'} ratios of the classes", title_justify="left"
        )
        table.add_column("class")
        positions = [ratios] if ratios.ndim == 1 else list(ratios)
        for place in range(len(positions)):
            table.add_column("ratio" if len(positions) == 1 else f"position {place + 1}", justify="right")
        for label, name in enumerate(names):
            table.add_row(escape(name), *(f"{part[label]:.4f}" for part in positions))
        console.print(table)
    for group in classifier.untold_:
        first, *others = map(str, group)
        told = f"the weak labels do not tell {', '.join(others)} from {first}: predicted as {first}, they may be either"
        console.print(told, markup=False)
    held = int(model.figures["validation_samples"])
    console.print(f"weak accuracy: {classifier.weak_accuracy_:.1%} of {held:,} validation samples", markup=False)
