"""``nslimb predict``: the classes of pictures, by a trained classifier."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nslimb.cli.adjust import Method
from nslimb.cli.messages import told_plainly
from nslimb.cli.names import read_network
from nslimb.cli.threads import compute_with_few_threads

if TYPE_CHECKING:
    from nslimb import WeakClassifier
    from nslimb.arrays import FloatArray

OwnNetworkOption = Annotated[
    str | None,
    typer.Option(
        "--network",
        help="The network's code as file.py:factory, where it is your own: only weights are saved. Of several "
        "networks: digit=file.py:factory,operator=auto.",
    ),
]
DeviceOption = Annotated[str, typer.Option("--device", help="auto, cpu or cuda.")]


def command(
    model: Annotated[Path, typer.Argument(help="A folder that nslimb train wrote.")],
    images: Annotated[list[Path], typer.Argument(help="Pictures, or folders of them.")],
    out: Annotated[Path | None, typer.Option(help="Write a CSV file; without, it is printed.")] = None,
    adjust: Annotated[
        Method | None,
        typer.Option(
            help="Move all predictions together towards the ratios of the classes, if weak samples favour it."
        ),
    ] = None,
    space: Annotated[
        str | None,
        typer.Option(help="The kind of the pictures, where each space of labels has a network of its own: digit."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="A column with the probability of each class.")] = False,
    network: OwnNetworkOption = None,
    device: DeviceOption = "auto",
) -> None:
    """Predict the class of each picture: columns image, label, probability and may_be.

    may_be names the classes that the weak labels of the training samples did not tell from the predicted one.
    """
    compute_with_few_threads()
    with told_plainly():
        from nslimb import WeakClassifier
        from nslimb.files import check_output, write_text

        if out is not None:
            check_output("--out", out, [*images, model])
        files = _pictures(images)
        classifier = WeakClassifier.load(model, network=read_network(network), device=device)
        chosen = None if adjust is None else adjust.value
        probabilities = classifier.predict_proba(files, adjust=chosen, space=space)
        text = _table(classifier, files, probabilities, every)
        if out is not None:
            write_text(out, text)
    if out is None:
        typer.echo(text, nl=False)
    else:
        typer.echo(f"predictions of {len(files):,} pictures: {out}")


def _pictures(given: list[Path]) -> list[Path]:
    """The files themselves, and the pictures that are in folders or below."""
    from nslimb.data.pictures import files_below
    from nslimb.errors import DataError

    found: list[Path] = []
    for path in given:
        inside = list(files_below(path)) if path.is_dir() else [path]
        if not inside:
            raise DataError(f"{path}: expected a folder with pictures, got none in it")
        found += inside
    return found


def _table(classifier: WeakClassifier, files: list[Path], probabilities: FloatArray, every: bool) -> str:
    """The predictions as CSV."""
    names = classifier.sigma.class_names
    also = {label: [*group] for group in classifier.model_.groups for label in group}
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["image", "label", "probability", "may_be", *(f"p({name})" for name in names if every)])
    for file, row in zip(files, probabilities, strict=True):
        label = int(row.argmax())
        others = "|".join(names[other] for other in also.get(label, []) if other != label)
        numbers = [f"{value:.6g}" for value in row] if every else []
        table.writerow([file, names[label], f"{row[label]:.6g}", others, *numbers])
    return text.getvalue()
