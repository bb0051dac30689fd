"""``nslimb adjust``: a classifier's scores moved towards the ratios of the hidden labels."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nslimb.cli.messages import told_plainly
from nslimb.cli.threads import compute_with_few_threads

if TYPE_CHECKING:
    from torch import Tensor

    from nslimb.arrays import FloatArray


class Method(str, Enum):
    """How to adjust."""

    la = "la"
    carot = "carot"


def command(
    scores: Annotated[Path, typer.Argument(help="Scores in an .npz or .csv file: a row a sample, a column a class.")],
    ratios: Annotated[
        Path, typer.Option(help="Ratios of the classes in a .csv or .json file, as nslimb estimate writes them.")
    ],
    out: Annotated[Path, typer.Option(help="Write the adjusted scores to this .npz or .csv file.")],
    method: Annotated[Method, typer.Option(help="Logit adjustment or CAROT.")] = Method.carot,
    tau: Annotated[float, typer.Option(help="How strongly: the larger, the stronger (both methods).")] = 1.0,
    eta: Annotated[float, typer.Option(help="CAROT: weight of the entropy; the smaller, the harder the scores.")] = 1.0,
    array: Annotated[str | None, typer.Option(help="Name of the array in the .npz file, if it has several.")] = None,
    log: Annotated[bool, typer.Option("--log", help="The scores are logarithms, and so will be the result.")] = False,
) -> None:
    """Adjust scores to the ratios of the classes, by logit adjustment or CAROT, and say what it changes."""
    compute_with_few_threads()
    with told_plainly():
        from nslimb.cli.formats.ratios import of_any_position, read_ratios
        from nslimb.cli.formats.scores import check_suffix, read_scores, write_scores
        from nslimb.errors import InvalidInput
        from nslimb.files import check_output

        check_suffix(out)
        check_output("--out", out, [scores, ratios])
        wanted = of_any_position(read_ratios(ratios))
        given = read_scores(scores, array, log)
        if given.values.shape[1] != len(wanted):
            raise InvalidInput(str(scores), f"{len(wanted)} classes, as {ratios} has", given.values.shape[1])
        before = given.log_scores()
        after = _adjust(before, wanted, method, eta, tau)
        write_scores(out, given.adjusted(after))
    _print(before, after, wanted, given.header)
    typer.echo(f"adjusted scores: {out}")


def _adjust(log_scores: Tensor, ratios: FloatArray, method: Method, eta: float, tau: float) -> Tensor:
    from nslimb import carot, logit_adjustment
    from nslimb.errors import SolverFailed

    if method is Method.la:
        return logit_adjustment(log_scores, ratios, tau)
    found = carot(log_scores, ratios, eta, tau)
    if not bool(found.converged):
        raise SolverFailed(f"CAROT did not converge with eta={eta:g} and tau={tau:g}; try a larger eta or smaller tau")
    return found.scores.log()


def _print(before: Tensor, after: Tensor, ratios: FloatArray, names: tuple[str, ...] | None) -> None:
    import torch
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    plain, moved = before.argmax(dim=1), after.argmax(dim=1)
    shares = [torch.bincount(predicted, minlength=len(ratios)) / len(plain) for predicted in (plain, moved)]
    table = Table(title=f"predicted classes of {len(plain):,} samples", title_justify="left")
    table.add_column("class")
    for column in ("ratio", "share before", "share after"):
        table.add_column(column, justify="right")
    for label, ratio in enumerate(ratios):
        name = str(label) if names is None else names[label]
        table.add_row(escape(name), f"{ratio:.4f}", *(f"{share[label].item():.4f}" for share in shares))
    console = Console()
    console.print(table)
    console.print(f"{int((plain != moved).sum()):,} of {len(plain):,} predictions changed")
