"""``nslimb estimate``: the ratios of the hidden labels from weak labels in a CSV file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nslimb.cli.messages import told_plainly
from nslimb.cli.sigmas import ArityOption, ClassesOption, LeftToRightOption, SigmaArgument, build_sigma, read_classes
from nslimb.cli.threads import compute_with_few_threads

if TYPE_CHECKING:
    from nslimb import Sigma
    from nslimb.marginals import Bootstrap


def command(
    sigma: SigmaArgument,
    labels: Annotated[Path, typer.Argument(help="A CSV file with a weak label in each row.")],
    column: Annotated[str, typer.Option(help="The column that holds the weak labels.")] = "weak",
    arity: ArityOption = None,
    classes: ClassesOption = None,
    left_to_right: LeftToRightOption = False,
    out: Annotated[Path | None, typer.Option(help="Write the ratios to this .csv or .json file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the ratios into this .png, .svg or .pdf file.")] = None,
    bootstrap: Annotated[int, typer.Option(min=10, help="Number of bootstrap samples behind the intervals.")] = 200,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the bootstrap.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Estimate the ratios of the hidden labels from weak labels alone (Algorithm 1), with bootstrap intervals.

    Of all ratios that fit nearly as well as the most likely ones, the most even are shown.
    """
    import json

    compute_with_few_threads()
    from nslimb.plotting import check_plot, save

    with told_plainly():
        check_plot(plot)
        built = build_sigma(sigma, arity, read_classes(classes), left_to_right)
        from nslimb.cli.formats.ratios import describe, write_ratios
        from nslimb.data.columns import encode_texts, read_column
        from nslimb.errors import InvalidInput
        from nslimb.marginals import bootstrap_marginal
        from nslimb.marginals.figure import draw_ratios

        if out is not None and out.suffix not in (".csv", ".json"):
            raise InvalidInput("--out", "a file that ends in .csv or .json", repr(str(out)))
        weak = encode_texts(read_column(labels, column), built, labels)
        with _bar(bootstrap) as progress:
            found = bootstrap_marginal(
                weak,
                built,
                built.groups,
                resamples=bootstrap,
                level=level,
                seed=seed,
                progress=progress,
                regularise="entropy",
            )
        if out is not None:
            write_ratios(out, found, built, len(weak))
        if plot is not None:
            save(draw_ratios(found, built, len(weak)), plot)
    if as_json:
        typer.echo(json.dumps(describe(found, built, len(weak)), indent=1))
    else:
        _print(found, built, len(weak))


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("bootstrap", total=total)
        yield lambda done: progress.update(task, completed=done)


def _print(found: Bootstrap, sigma: Sigma, samples: int) -> None:
    import numpy as np
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    from nslimb.marginals.figure import named_groups

    console = Console()
    console.print(f"hidden ratios from {samples:,} weak labels of {sigma!r}", highlight=False, markup=False)
    ratios, lower, upper = (np.atleast_2d(part) for part in (found.estimate.ratios, found.lower, found.upper))
    for title, position in named_groups(sigma):
        table = Table(title=title or None, title_justify="left")
        table.add_column("class")
        for column in ("ratio", f"{100 * found.level:.4g}% interval"):
            table.add_column(column, justify="right")
        table.add_column("")
        table.add_column("")
        for label, name in enumerate(sigma.class_names):
            if sigma.accepted[position, label]:
                ratio = ratios[position, label]
                interval = f"{lower[position, label]:.4f} to {upper[position, label]:.4f}"
                mark = "" if found.identified[label] else "open"
                table.add_row(escape(name), f"{ratio:.4f}", interval, mark, "█" * round(30 * ratio))
        console.print(table)
    if not found.identified.all():
        console.print(
            "open: the weak labels do not tell these classes apart; of the ratios that fit nearly as well, the most "
            "even are shown"
        )
    if not found.estimate.converged:
        console.print("The solver has not converged: the ratios may not be the most even ones that fit.")
