"""A job's log: all that it prints, and the reason in its last lines where it fails."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

from nslimb.errors import BrokenFile, NslimbError
from nslimb.files import set_aside


@contextlib.contextmanager
def logged(path: str) -> Iterator[None]:
    """Send output to the log; an error of nslimb's own ends it as one message, any other with its traceback."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with Path(path).open("w", encoding="utf-8", buffering=1) as stream:
        try:
            with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
                yield
        except BrokenFile as error:
            with contextlib.suppress(OSError):  # another job was first
                set_aside(error.path)
            told = f"nslimb: {error}. It has been set aside (.broken), and the next run makes it anew"
            print(told, file=stream)
            sys.exit(told)
        except NslimbError as error:
            print(f"nslimb: {error}", file=stream)
            sys.exit(f"nslimb: {error}")
        except Exception:
            traceback.print_exc(file=stream)
            raise
