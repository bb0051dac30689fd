"""``nslimb evaluate``: how well a classifier does, where gold labels exist."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nslimb.cli.messages import told_plainly
from nslimb.cli.names import read_network
from nslimb.cli.predict import DeviceOption, OwnNetworkOption
from nslimb.cli.threads import compute_with_few_threads

if TYPE_CHECKING:
    from nslimb.arrays import IntArray
    from nslimb.sigma import Sigma


def command(
    model: Annotated[Path, typer.Argument(help="A folder that nslimb train wrote.")],
    test: Annotated[Path, typer.Argument(help="A CSV file with a picture and its class in each row.")],
    images: Annotated[
        Path | None, typer.Option(help="The folder of the pictures; that of the CSV file if not given.")
    ] = None,
    image: Annotated[str, typer.Option(help="The column that names the pictures.")] = "image",
    label: Annotated[str, typer.Option(help="The column of their classes.")] = "label",
    network: OwnNetworkOption = None,
    device: DeviceOption = "auto",
    as_json: Annotated[bool, typer.Option("--json", help="Print all metrics as JSON.")] = False,
) -> None:
    """Measure a classifier on pictures whose classes are known."""
    import json

    compute_with_few_threads()
    with told_plainly():
        from nslimb import WeakClassifier
        from nslimb.data.columns import read_rows
        from nslimb.data.weak_csv import read_files
        from nslimb.metrics import evaluate
        from nslimb.metrics.by_space import accuracy_by_space
        from nslimb.networks import Spaced
        from nslimb.sigma.spaces import space_of

        classifier = WeakClassifier.load(model, network=read_network(network), device=device)
        names = classifier.sigma.class_names
        rows, wrong = read_rows(test, [image, label])
        labels = _labels([row[1] for row in rows], names, test, wrong)
        folder = test.parent if images is None else images
        files = [folder / row[0] for row in rows]
        places = [f"{test}, row {number}" for number in range(1, len(rows) + 1)]
        if wrong:
            read_files(files, classifier.size, wrong, places)
        several = isinstance(classifier.model_.network, Spaced)
        kinds = [space_of(classifier.sigma, number) for number in labels.tolist()] if several else None
        probabilities = classifier.predict_proba(files, space=kinds)
        measured = evaluate(probabilities, labels)
        by_space = accuracy_by_space(probabilities, labels, classifier.sigma.spaces)
        shortcut = _shortcut(classifier.sigma, labels, probabilities.argmax(axis=1))
    if as_json:
        told = {"samples": len(labels), "classes": list(names), **measured, "shortcut": shortcut, "spaces": by_space}
        typer.echo(json.dumps(told, indent=1))
    else:
        _print(measured, names, labels)
        for space, share in (by_space or {}).items():
            typer.echo(f"{space}: {share:.1%}")
        if shortcut is not None:
            changed = ", ".join(f"{name} as {other}" for name, other in shortcut.items() if name != other)
            typer.echo(f"a reasoning shortcut: it reads {changed}, and every weak label stays right that way")


def _shortcut(sigma: Sigma, labels: IntArray, predictions: IntArray) -> dict[str, str] | None:
    """What most pictures of each class are taken for, where that is wrong and no weak label can tell."""
    from nslimb.errors import TooLarge
    from nslimb.metrics import confusion_matrix
    from nslimb.theory.majority import learned_shortcut

    try:
        found = learned_shortcut(sigma, confusion_matrix(labels, predictions, sigma.num_classes))
    except TooLarge:
        return None
    names = sigma.class_names
    return None if found is None else {names[i]: names[j] for i, j in enumerate(found.tolist()) if j >= 0}


def _labels(texts: list[str], names: tuple[str, ...], path: Path, wrong: list[str]) -> IntArray:
    import numpy as np

    index = {name: number for number, name in enumerate(names)}
    for number, text in enumerate(texts, start=1):
        if text and text not in index:
            wrong.append(f"{path}, row {number}: {text!r} is no class ({', '.join(names[:20])})")
    return np.array([index.get(text, -1) for text in texts], dtype=np.int64)


def _print(measured: dict[str, Any], names: tuple[str, ...], labels: IntArray) -> None:
    import numpy as np
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=f"{len(labels):,} pictures", title_justify="left")
    table.add_column("class")
    for column in ("pictures", "accuracy"):
        table.add_column(column, justify="right")
    counts = np.bincount(labels, minlength=len(names))
    for name, count, right in zip(names, counts.tolist(), measured["class_accuracy"], strict=True):
        table.add_row(escape(name), f"{count:,}", "" if right is None else f"{right:.1%}")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"accuracy: {measured['accuracy']:.1%}; mean over classes: {measured['macro_recall']:.1%}")
