"""How commands speak: errors in plain words, numbers that fit a table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from nslimb.errors import NslimbError


@contextmanager
def told_plainly() -> Iterator[None]:
    """An error of nslimb's own, or of the file system, as one message without a traceback."""
    try:
        yield
    except (NslimbError, OSError) as error:
        typer.echo(f"nslimb: {error}", err=True)
        raise typer.Exit(2) from error


def short(count: int) -> str:
    """All digits of a number that has few, else its magnitude.

    >>> short(1234), short(10**5000)
    ('1,234', '1.00e5000')
    """
    if count < 10**15:
        return f"{count:,}"
    exponent = math.log10(count)
    return f"{10 ** (exponent % 1):.2f}e{int(exponent)}"
