"""A job's log: all that it prints, and the reason in its last lines where it fails."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from nslimb.errors import NslimbError


@contextlib.contextmanager
def logged(path: str) -> Iterator[None]:
    """Send output to the log; an error of nslimb's own ends it as one message, any other with its traceback."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with Path(path).open("w", encoding="utf-8", buffering=1) as stream:
        try:
            with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
                yield
        except NslimbError as error:
            print(f"nslimb: {error}", file=stream)
            sys.exit(f"nslimb: {error}")
        except Exception:
            traceback.print_exc(file=stream)
            raise
