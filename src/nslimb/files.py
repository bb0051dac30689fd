"""Files that are either whole or not there: written aside, then renamed."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from nslimb.errors import BrokenFile, DataError, InvalidInput


@contextlib.contextmanager
def written_aside(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends, and is removed if it fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        aside.chmod(0o644)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


@contextlib.contextmanager
def folder_aside(path: Path) -> Iterator[Path]:
    """The same for a folder. If another process has put one there meanwhile, that one stays."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        yield aside
        aside.chmod(0o755)
        try:
            aside.rename(path)
        except OSError:
            if not path.is_dir():
                raise
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def take_lock(path: Path) -> IO[str] | None:
    """An open file that holds the lock until it is closed or its process ends; None if another process has it."""
    stream = path.open("w")
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        return None
    except OSError:
        stream.close()
        raise
    return stream


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold a lock file; if another process has it, wait for that to end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = take_lock(path)
    if stream is None:
        print(f"{path.parent}: another process is at work here; waiting for it to end", flush=True)
        stream = path.open("w")
        fcntl.flock(stream, fcntl.LOCK_EX)
    with stream:
        yield


def digest(*parts: bytes | memoryview) -> str:
    """sha256 of the parts one after another."""
    state = hashlib.sha256()
    for part in parts:
        state.update(part)
    return state.hexdigest()


def check_output(argument: str, path: Path, inputs: Iterable[Path] = ()) -> None:
    """Refuse a file to write that is one of the inputs, or in a folder that does not exist."""
    if not path.parent.is_dir():
        raise InvalidInput(argument, "a file in a folder that is there", f"{path}, whose folder is not")
    for given in inputs:
        if path.exists() and given.exists() and path.samefile(given):
            raise InvalidInput(argument, "a file other than those that are read", f"{path}, which is one of them")


def write_text(path: Path, text: str) -> None:
    """Text, whole or not at all."""
    with written_aside(path) as aside:
        aside.write_text(text, encoding="utf-8")


def write_json(path: Path, content: Any) -> None:
    """JSON, whole or not at all."""
    write_text(path, json.dumps(content, indent=1) + "\n")


def write_sealed(path: Path, content: dict[str, Any]) -> None:
    """JSON with a digest of its own, so that a flipped bit does not pass for a result."""
    write_json(path, {**content, "sha256": _seal(content)})


def read_sealed(path: Path) -> dict[str, Any]:
    """What ``write_sealed`` wrote, or an error if it is not that any more."""
    content = read_json(path)
    if not isinstance(content, dict) or content.pop("sha256", None) != _seal(content):
        raise BrokenFile(path, "its content does not match its digest")
    return content


def _seal(content: dict[str, Any]) -> str:
    return digest(json.dumps(content, sort_keys=True).encode())


def set_aside(path: Path) -> Path:
    """Move a broken file or folder out of the way, under a name that nothing reads."""
    aside = path.with_name(f"{path.name}.broken")
    if aside.is_dir():
        shutil.rmtree(aside)
    return path.replace(aside)


def read_json(path: Path) -> Any:
    """JSON, or an error that names the file and the remedy."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BrokenFile(path, f"cannot be read ({error})") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error})") from error
