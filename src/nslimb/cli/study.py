"""``nslimb study``: the studies of the workflow, one at a time."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from nslimb.cli.messages import told_plainly
from nslimb.errors import MissingEngine
from nslimb.experiment.names import STUDIES

Name = Enum("Name", {name: name for name in STUDIES}, type=str)  # type: ignore[misc]


def command(
    name: Annotated[Name, typer.Argument(help="Which study.")],
    out: Annotated[Path, typer.Option(help="The folder that gets NAME.csv, NAME.png and NAME.svg.")] = Path("studies"),
    config: Annotated[
        Path | None,
        typer.Option(help="carot_robustness and order: the configuration of a grid that has been run."),
    ] = None,
) -> None:
    """Make one study of the theory or the algorithms: its numbers and its figure.

    risk_bounds, counterexample and sensitivity need nothing else; carot_robustness and order look at trained models.
    """
    with told_plainly():
        try:
            from nslimb.experiment import studies
            from nslimb.experiment.config import read_file
            from nslimb.plotting import save
        except ImportError as error:
            told = f"a study needs the packages of the workflow: pip install 'nslimb[workflow]' ({error})"
            raise MissingEngine(told) from error
        from nslimb.files import write_text

        study = studies.STUDIES[name.value]
        frame = study.compute(None if config is None else read_file(config))
        write_text(out / f"{name.value}.csv", frame.to_csv(index=False))
        save(study.draw(frame), out / f"{name.value}.png", out / f"{name.value}.svg")
    typer.echo(f"{out / name.value}.csv, .png and .svg: {len(frame)} rows")
