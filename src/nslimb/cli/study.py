"""``nslimb study``: the studies of the workflow, one at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nslimb.cli.messages import told_plainly
from nslimb.cli.threads import compute_with_few_threads
from nslimb.errors import MissingEngine
from nslimb.experiment.studies import STUDIES

_HELP = f"Which study: {', '.join(STUDIES)}, or your own as path/to/file.py:object."


def command(
    name: Annotated[str, typer.Argument(help=_HELP)],
    out: Annotated[Path, typer.Option(help="The folder that gets NAME.csv, NAME.png and NAME.svg.")] = Path("studies"),
    config: Annotated[
        Path | None,
        typer.Option(help="carot_robustness and order: the configuration of a grid that has been run."),
    ] = None,
) -> None:
    """Make one study of the theory or the algorithms: its numbers and its figure.

    risk_bounds, counterexample and sensitivity need nothing else; carot_robustness and order look at trained models.
    """
    compute_with_few_threads()
    with told_plainly():
        try:
            from nslimb.experiment.config import read_file
            from nslimb.plotting import save
        except ImportError as error:
            told = f"a study needs the packages of the workflow: pip install 'nslimb[workflow]' ({error})"
            raise MissingEngine(told) from error
        from nslimb.files import write_text

        study, short = STUDIES.get(name), name.rpartition(":")[2]
        frame = study.compute(None if config is None else read_file(config))
        write_text(out / f"{short}.csv", frame.to_csv(index=False))
        save(study.draw(frame), out / f"{short}.png", out / f"{short}.svg")
    typer.echo(f"{out / short}.csv, .png and .svg: {len(frame)} rows")
