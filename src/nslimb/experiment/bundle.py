"""``python -m nslimb.experiment.bundle pack|restore CONFIG FILE``: the small files of finished runs in one archive.

A run that is done is data. The archive holds no models: what it restores counts as finished, and is not made again.
"""

from __future__ import annotations

import argparse
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from nslimb.errors import DataError, NslimbError
from nslimb.experiment import names, places
from nslimb.experiment.cells import Run, run_path, runs
from nslimb.experiment.config import Config, read_file
from nslimb.experiment.finished import finished_metrics, mark_restored
from nslimb.experiment.folder import claim_results
from nslimb.files import written_aside

_OF_RUN = (names.METRICS, names.HISTORY, names.RUN_FILE)
_MOST_BYTES = 20_000_000  # of one file


def pack(config: Config, archive: Path) -> int:
    """Write the files of all finished runs of a grid; equal runs give equal bytes. The number of runs.

    Runs that are in the archive already and not in the results folder stay in it, so that nothing is ever lost.
    """
    with _unpacked(config, archive) as before:
        chosen = (_finished(before) if before is not None else {}) | _finished(config)
        found: dict[str, Path] = {}
        for (cell, method), folder in chosen.items():
            found |= {f"{run_path(cell, method)}/{name}": folder / name for name in _OF_RUN}
            found[f"{cell.path}/{names.MARGINALS}"] = folder.parent / names.MARGINALS
        with written_aside(archive) as aside, tarfile.open(aside, "w:xz", format=tarfile.PAX_FORMAT) as tar:
            for name in sorted(name for name, path in found.items() if path.is_file()):
                content = found[name].read_bytes()
                entry = tarfile.TarInfo(name)
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
    return len(chosen)


def restore(config: Config, archive: Path) -> list[Run]:
    """Put the runs of an archive back as finished runs, less those that are there or are of other settings."""
    claim_results(config)
    with _unpacked(config, archive) as kept:
        if kept is None:
            raise DataError(f"{archive}: there is no such archive")
        back = [run for run in _finished(kept) if not (config.results / run_path(*run) / names.METRICS).exists()]
        before = time.time() - 60  # the mark is newer than what it marks
        for cell, method in back:
            source, target = (grid.results / run_path(cell, method) for grid in (kept, config))
            for name in _OF_RUN:
                _copy(source / name, target / name, before)
            if not (target.parent / names.MARGINALS).exists() and (source.parent / names.MARGINALS).exists():
                _copy(source.parent / names.MARGINALS, target.parent / names.MARGINALS, before)
            mark_restored(target)
    return back


def _copy(source: Path, target: Path, date: float) -> None:
    with written_aside(target) as aside:
        aside.write_bytes(source.read_bytes())
        os.utime(aside, (date, date))


def _finished(config: Config) -> dict[Run, Path]:
    """The folders of the runs that are whole and of today's settings, whatever their code."""
    found = {}
    for run in runs(config):
        folder = config.results / run_path(*run)
        whole = all((folder / name).is_file() for name in _OF_RUN)
        if whole and finished_metrics(config, *run, any_code=True) is not None:
            found[run] = folder
    return found


@contextmanager
def _unpacked(config: Config, archive: Path) -> Iterator[Config | None]:
    """The same grid with the content of an archive as its results folder; None where there is no archive."""
    if not archive.exists():
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            with tarfile.open(archive, "r:xz") as tar:
                for entry in tar:
                    _unpack(archive, tar, entry, Path(folder))
        except (OSError, tarfile.TarError, EOFError) as error:
            raise DataError(f"{archive}: cannot be read ({error})") from error
        yield config.model_copy(update={"results": Path(folder)})


def _unpack(archive: Path, tar: tarfile.TarFile, entry: tarfile.TarInfo, folder: Path) -> None:
    path, known = PurePosixPath(entry.name), (*_OF_RUN, names.MARGINALS)
    stream = tar.extractfile(entry) if entry.isfile() else None
    strange = path.is_absolute() or ".." in path.parts or path.name not in known or entry.size > _MOST_BYTES
    if stream is None or strange:
        raise DataError(f"{archive}: expected small files of runs below a results folder, got {entry.name!r}")
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(stream.read())


def forget(config_file: Path, config: Config, back: list[Run]) -> None:
    """Let Snakemake forget what it noted of runs that stood here before."""
    if not back or not Path(".snakemake", "metadata").is_dir():
        return
    files = [str(config.results / run_path(*run) / name) for run in back for name in (*_OF_RUN, names.MODEL)]
    grid = ["--snakefile", str(places.ROOT / "Snakefile"), "--configfile", str(config_file)]
    command = [sys.executable, "-m", "snakemake", *grid, "--config", f"results={config.results}"]
    done = subprocess.run([*command, "--cleanup-metadata", *files], capture_output=True, text=True, check=False)
    if done.returncode != 0 and "metadata was not present" not in done.stderr:  # of some of them
        raise DataError(f"the old notes of Snakemake could not be removed: {done.stderr.strip()[-500:]}")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m nslimb.experiment.bundle", description="Keep finished runs.")
    parser.add_argument("what", choices=("pack", "restore"))
    parser.add_argument("config", type=Path, help="the configuration of the grid")
    parser.add_argument("archive", type=Path, help="the archive (.tar.xz)")
    parser.add_argument("--results", type=Path, help="another results folder than the configuration's")
    given = parser.parse_args(arguments)
    try:
        config = read_file(given.config)
        if given.results is not None:
            config = config.model_copy(update={"results": given.results})
        number = len(list(runs(config)))
        if given.what == "pack":
            print(f"{given.archive}: {pack(config, given.archive)} of {number} runs")
        else:
            back = restore(config, given.archive)
            forget(given.config, config, back)
            print(f"{config.results}: {len(back)} of {number} runs restored from {given.archive}")
    except (NslimbError, OSError) as error:
        sys.exit(f"nslimb: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
