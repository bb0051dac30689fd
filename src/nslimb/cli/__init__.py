"""The ``nslimb`` command: a module for each of its commands. Heavy imports wait until a command needs them."""

from __future__ import annotations

from typing import Annotated

import typer

import nslimb
from nslimb.cli import adjust, data, diagnose, doctor, estimate, evaluate, grid, predict, study, train

app = typer.Typer(
    help="Find, measure and cure learning imbalances in neurosymbolic learning.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(data.app, name="data")
app.command("diagnose")(diagnose.command)
app.command("estimate")(estimate.command)
app.command("adjust")(adjust.command)
app.command("train")(train.command)
app.command("predict")(predict.command)
app.command("evaluate")(evaluate.command)
app.command("grid", context_settings=grid.CONTEXT)(grid.command)
app.command("study")(study.command)
app.command("doctor")(doctor.command)


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
