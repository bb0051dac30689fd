"""A sigma from the command line: a built-in one by name, or the user's own as ``module:function``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from nslimb import Sigma

BUILT_IN = ("max", "sum", "hwf", "smallest-parent", "counterexample")


def complete_sigma(incomplete: str) -> list[str]:
    """The built-in sigmas, for a shell."""
    return [name for name in BUILT_IN if name.startswith(incomplete)]


SigmaArgument = Annotated[
    str,
    typer.Argument(
        metavar="SIGMA",
        autocompletion=complete_sigma,
        help=f"A built-in sigma ({', '.join(BUILT_IN)}), or your own function of a tuple of labels, as module:function "
        "or path/to/file.py:function (then with --arity and --classes), or a logic program rules.lp, or rule.cnf.",
    ),
]
ArityOption = Annotated[
    int | None,
    typer.Option(
        "--arity", "-M", help="Number of hidden labels in a sample (built-in: 2, 3 or 4, as sigma wants, if not given)."
    ),
]
ClassesOption = Annotated[
    str | None,
    typer.Option(
        "--classes",
        "-c",
        help="Number of classes, or their names with commas between them, class 0 first (max, sum: 10 if not given).",
    ),
]
LeftToRightOption = Annotated[bool, typer.Option(help="HWF: evaluate without operator precedence.")]


def read_classes(text: str | None) -> int | tuple[str, ...] | None:
    """``6``, or ``cat,dog,fish``."""
    if text is None or text.strip().isdigit():
        return None if text is None else int(text)
    return tuple(name.strip() for name in text.split(","))


def build_sigma(
    name: str, arity: int | None, classes: int | Sequence[str] | None, left_to_right: bool = False
) -> Sigma:
    """The sigma that these arguments of a command name, compiled."""
    from nslimb.sigma.resolve import resolve_sigma

    return resolve_sigma(name, arity, classes, {"precedence": not left_to_right} if name == "hwf" else None)
