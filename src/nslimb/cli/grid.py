"""``nslimb grid``: the workflow, from wherever the package is installed."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from nslimb.cli.messages import told_plainly
from nslimb.cli.names import complete_configuration
from nslimb.experiment import places

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": ["--help"]}


def command(
    context: typer.Context,
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG",
            help="A configuration file, or the name of one that comes with nslimb, such as quick.",
            autocompletion=complete_configuration,
        ),
    ],
) -> None:
    """Run a grid of experiments in the current folder: tables, figures, a report and tracked runs.

    All further options are Snakemake's: nslimb grid quick --cores 4 --dry-run.
    """
    with told_plainly():
        file = find_configuration(config)
        _check_installed()
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(places.ROOT / "Snakefile")]
    # Last: Snakemake takes all that follows --configfile for configurations, targets too.
    done = subprocess.run([*command, *context.args, "--configfile", str(file)], check=False)
    raise typer.Exit(done.returncode)


def find_configuration(name: str) -> Path:
    """A file of one's own, or one of the package by its name."""
    from nslimb.errors import InvalidInput

    for path in (Path(name), places.CONFIGURATIONS / f"{name}.yaml"):
        if path.is_file():
            return path
    known = ", ".join(sorted(path.stem for path in places.CONFIGURATIONS.glob("*.yaml")))
    raise InvalidInput("CONFIG", f"a configuration file, or one of {known}", repr(name))


def _check_installed() -> None:
    from nslimb.errors import MissingEngine

    missing = [name for name in ("snakemake", "pydantic", "yaml", "pandas") if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingEngine(
            f"a grid needs the packages of the workflow: pip install 'nslimb[workflow]' (no {', '.join(missing)})"
        )
