"""``python -m nslimb.experiment.bundle pack|restore CONFIG FILE``: the small files of finished runs in one archive.

A run that is done is data. The archive holds no models: what it restores counts as finished, and is not made again.
"""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path, PurePosixPath

from nslimb.errors import DataError, InvalidInput, NslimbError
from nslimb.experiment import names
from nslimb.experiment.cells import run_path, runs
from nslimb.experiment.config import Config, read_file
from nslimb.experiment.runs.base import read_schema
from nslimb.experiment.runs.metrics import Metrics
from nslimb.files import written_aside

_OF_RUN = (names.METRICS, names.HISTORY, names.RUN_FILE)
_MOST_BYTES = 20_000_000  # of one file


def pack(config: Config, archive: Path) -> int:
    """Write the files of all finished runs of a grid; equal runs give equal bytes. The number of runs."""
    found: dict[str, Path] = {}
    number = 0
    for cell, method in runs(config):
        folder = config.results / run_path(cell, method)
        if not all((folder / name).is_file() for name in _OF_RUN):
            continue
        read_schema(folder / names.METRICS, Metrics)
        number += 1
        paths = [folder / name for name in _OF_RUN] + [folder.parent / names.MARGINALS]
        found |= {path.relative_to(config.results).as_posix(): path for path in paths if path.is_file()}
    with written_aside(archive) as aside, tarfile.open(aside, "w:xz", format=tarfile.PAX_FORMAT) as tar:
        for name in sorted(found):
            content = found[name].read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return number


def restore(config: Config, archive: Path) -> int:
    """Put the files of an archive where the grid has them; what is there already stays. The number of files written."""
    written = 0
    try:
        with tarfile.open(archive, "r:xz") as tar:
            for entry in tar:
                path = PurePosixPath(entry.name)
                if not entry.isfile() or path.is_absolute() or ".." in path.parts or entry.size > _MOST_BYTES:
                    raise DataError(f"{archive}: expected small files below a results folder, got {entry.name!r}")
                target, stream = config.results / path, tar.extractfile(entry)
                if target.exists() or stream is None:
                    continue
                with written_aside(target) as aside:
                    aside.write_bytes(stream.read())
                written += 1
    except (OSError, tarfile.TarError, EOFError) as error:
        raise DataError(f"{archive}: cannot be read ({error})") from error
    return written


def main(arguments: list[str]) -> None:
    try:
        if len(arguments) != 3 or arguments[0] not in ("pack", "restore"):
            raise InvalidInput("arguments", "pack or restore, a configuration and an archive", " ".join(arguments))
        config, archive = read_file(Path(arguments[1])), Path(arguments[2])
        if arguments[0] == "pack":
            print(f"{archive}: {pack(config, archive)} runs of {len(list(runs(config)))}")
        else:
            print(f"{config.results}: {restore(config, archive)} files restored from {archive}")
    except (NslimbError, OSError) as error:
        sys.exit(f"nslimb: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
