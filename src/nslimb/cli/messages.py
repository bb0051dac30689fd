"""How commands speak of errors: in plain words."""

from __future__ import annotations

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
