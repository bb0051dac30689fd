"""The ``nslimb`` command. Heavy imports wait until a command needs them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

import nslimb
from nslimb.errors import InvalidInput, NslimbError

if TYPE_CHECKING:
    from nslimb import Sigma

app = typer.Typer(
    help="Find, measure and cure learning imbalances in neurosymbolic learning.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


class Benchmark(str, Enum):
    """The built-in components."""

    max = "max"
    sum = "sum"
    hwf = "hwf"
    smallest_parent = "smallest-parent"
    counterexample = "counterexample"


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"nslimb {nslimb.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Find, measure and cure learning imbalances in neurosymbolic learning."""


data_app = typer.Typer(help="Fetch and list image sources.", no_args_is_help=True)
app.add_typer(data_app, name="data")

_FOLDER = typer.Option(help="The data folder.")


@data_app.command("fetch")
def data_fetch(
    names: Annotated[
        list[str], typer.Argument(help="Sources, for example: mnist cifar10 (nslimb data list shows all).")
    ],
    folder: Annotated[Path, _FOLDER] = Path("data"),
    path: Annotated[Path | None, typer.Option(help="Where the real HWF symbols are, for the source hwf.")] = None,
) -> None:
    """Get image sources into the data folder and verify them; what is there already is only verified."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from nslimb.data import SOURCES, fetch

    with _told_plainly():
        for name in names:
            if name not in SOURCES:
                raise InvalidInput("source", f"one of {', '.join(SOURCES)}", repr(name))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    lines = []
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("fetching", total=len(names))
        for name in names:
            progress.update(task, description=f"fetching {name}")
            with _told_plainly():
                source = fetch(name, folder, path)
            lines.append(
                f"{name}: {len(source.images):,} images from {source.origin}, sha256 {source.checksum()[:16]}..."
            )
            progress.advance(task)
    typer.echo("\n".join(lines))


@data_app.command("list")
def data_list(folder: Annotated[Path, _FOLDER] = Path("data")) -> None:
    """Show every image source and whether it can be used without a download."""
    from nslimb.data import SOURCES, available

    ready = available(folder)
    table = Table(title=f"image sources, data folder {folder}", title_justify="left")
    for column in ("source", "ready", "what it is"):
        table.add_column(column)
    for name, entry in SOURCES.items():
        table.add_row(name, "yes" if ready[name] else "no", entry.about)
    Console().print(table)


@contextmanager
def _told_plainly() -> Iterator[None]:
    """An error of nslimb's own as one message, without a traceback."""
    try:
        yield
    except (NslimbError, OSError) as error:
        typer.echo(f"nslimb: {error}", err=True)
        raise typer.Exit(2) from error


@app.command()
def diagnose(
    benchmark: Annotated[Benchmark, typer.Argument(help="Which built-in sigma to look at.")],
    arity: Annotated[
        int | None,
        typer.Option(
            "--arity", "-M", help="Number of hidden labels in a sample (2, 3 or 4, as sigma wants, if not given)."
        ),
    ] = None,
    samples: Annotated[
        int, typer.Option(min=1, help="Number of weak samples, to say how many of each to expect.")
    ] = 3000,
    left_to_right: Annotated[bool, typer.Option(help="HWF: evaluate without operator precedence.")] = False,
    rows: Annotated[int, typer.Option(min=1, help="Show at most this many weak labels.")] = 40,
) -> None:
    """Show what sigma hides: the size and probability of every weak label's pre-image, for uniform hidden labels."""
    with _told_plainly():
        sigma = _build(benchmark, arity, left_to_right)
    _print_preimages(sigma, samples, rows)


def _build(benchmark: Benchmark, arity: int | None, left_to_right: bool) -> Sigma:
    from nslimb import sigma

    if benchmark is Benchmark.counterexample:
        if arity not in (None, 4):
            raise InvalidInput("--arity", "4, the counterexample's own", arity)
        return sigma.counterexample()
    if benchmark is Benchmark.smallest_parent:
        return sigma.smallest_parent(arity=2 if arity is None else arity)
    arity = 3 if arity is None else arity
    if benchmark is Benchmark.hwf:
        return sigma.formula(arity, precedence=not left_to_right)
    return sigma.maximum(arity) if benchmark is Benchmark.max else sigma.total(arity)


def _print_preimages(sigma: Sigma, samples: int, rows: int) -> None:
    console = Console()
    sizes = sigma.preimage_sizes()
    valid = sum(sizes)
    table = Table(title=f"{sigma!r}", title_justify="left")
    table.add_column("weak label")
    for column in ("label vectors", "probability", f"expected in {samples}"):
        table.add_column(column, justify="right")
    for label, size in list(zip(sigma.weak_labels, sizes, strict=True))[:rows]:
        probability = size / valid
        table.add_row(str(label), _short(size), f"{probability:.3g}", f"{samples * probability:,.1f}")
    console.print(table)
    if len(sizes) > rows:
        console.print(f"{len(sizes) - rows} more weak labels; --rows shows more")
    console.print(f"{_short(valid)} valid label vectors, {sigma.num_states:,} states in the diagram")


def _short(count: int) -> str:
    """All digits of a number that has few, else its magnitude."""
    if count < 10**15:
        return f"{count:,}"
    exponent = math.log10(count)
    return f"{10 ** (exponent % 1):.2f}e{int(exponent)}"
