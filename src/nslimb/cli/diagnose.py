"""``nslimb diagnose``: what sigma hides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from nslimb.cli.messages import short, told_plainly
from nslimb.cli.sigmas import ArityOption, ClassesOption, LeftToRightOption, SigmaArgument, build_sigma

if TYPE_CHECKING:
    from nslimb import Sigma


def command(
    sigma: SigmaArgument,
    arity: ArityOption = None,
    classes: ClassesOption = None,
    samples: Annotated[
        int, typer.Option(min=1, help="Number of weak samples, to say how many of each to expect.")
    ] = 3000,
    left_to_right: LeftToRightOption = False,
    rows: Annotated[int, typer.Option(min=1, help="Show at most this many weak labels.")] = 40,
) -> None:
    """Show what sigma hides: the size and probability of every weak label's pre-image, for uniform hidden labels."""
    with told_plainly():
        built = build_sigma(sigma, arity, classes, left_to_right)
    _print_preimages(built, samples, rows)


def _print_preimages(sigma: Sigma, samples: int, rows: int) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    sizes = sigma.preimage_sizes()
    valid = sum(sizes)
    table = Table(title=f"{sigma!r}", title_justify="left")
    table.add_column("weak label")
    for column in ("label vectors", "probability", f"expected in {samples}"):
        table.add_column(column, justify="right")
    for label, size in list(zip(sigma.weak_labels, sizes, strict=True))[:rows]:
        probability = size / valid
        table.add_row(str(label), short(size), f"{probability:.3g}", f"{samples * probability:,.1f}")
    console.print(table)
    if len(sizes) > rows:
        console.print(f"{len(sizes) - rows} more weak labels; --rows shows more")
    console.print(f"{short(valid)} valid label vectors, {sigma.num_states:,} states in the diagram")
