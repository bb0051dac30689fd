"""``nslimb data``: fetch and list image sources."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nslimb.cli.messages import told_plainly
from nslimb.cli.names import complete_source

app = typer.Typer(help="Fetch and list image sources.", no_args_is_help=True)

_FOLDER = typer.Option(help="The data folder.")


@app.command()
def fetch(
    names: Annotated[
        list[str],
        typer.Argument(
            help="Sources, for example: mnist cifar10 (nslimb data list shows all).", autocompletion=complete_source
        ),
    ],
    folder: Annotated[Path, _FOLDER] = Path("data"),
    path: Annotated[Path | None, typer.Option(help="Where the real HWF symbols are, for the source hwf.")] = None,
) -> None:
    """Get image sources into the data folder and verify them; what is there already is only verified."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from nslimb.data import fetch as fetch_source
    from nslimb.data.catalogue import check_name

    with told_plainly():
        for name in names:
            check_name(name)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    lines = []
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("fetching", total=len(names))
        for name in names:
            progress.update(task, description=f"fetching {name}")
            with told_plainly():
                source = fetch_source(name, folder, path)
            lines.append(
                f"{name}: {len(source.images):,} images from {source.origin}, sha256 {source.checksum()[:16]}..."
            )
            progress.advance(task)
    typer.echo("\n".join(lines))


@app.command("list")
def list_sources(folder: Annotated[Path, _FOLDER] = Path("data")) -> None:
    """Show every image source and whether it can be used without a download."""
    from rich.console import Console
    from rich.table import Table

    from nslimb.data import SOURCES, available
    from nslimb.data.catalogue import OWN

    ready = available(folder)
    table = Table(title=f"image sources, data folder {folder}", title_justify="left")
    for column in ("source", "ready", "what it is"):
        table.add_column(column)
    for name, entry in SOURCES.items():
        table.add_row(name, "yes" if ready[name] else "no", entry.about)
    Console().print(table)
    typer.echo(f"Images of your own: {OWN}.")
