"""``nslimb doctor``: what is installed and what answers, to be looked at before asking for help."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Annotated
from urllib.parse import urlparse

import typer

from nslimb.cli.messages import told_plainly


def command(
    folder: Annotated[Path, typer.Option("--data", help="The data folder.")] = Path("data"),
    results: Annotated[Path, typer.Option(help="The results folder, for its tracking store.")] = Path("results"),
) -> None:
    """Show versions, the device, threads, image sources, and whether the tracking store or server answers."""
    with told_plainly():
        found = [*_versions(), *_machine(), *_workflow(), *_sources(folder), _tracking(results)]
    wide = max(len(name) for name, _ in found)
    for name, value in found:  # plain lines, to be pasted into a question
        typer.echo(f"{name:{wide}}  {value}")


def _versions() -> list[tuple[str, str]]:
    from nslimb.experiment.provenance import versions

    return list(versions().items())


def _machine() -> list[tuple[str, str]]:
    import torch

    from nslimb.cli.threads import available_cores

    devices = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    chosen = os.environ.get("OMP_NUM_THREADS")
    taken = f"OMP_NUM_THREADS={chosen}" if chosen else "1 for small operations, up to 4 for large networks"
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    return [
        ("device", f"cuda: {', '.join(devices)}" if devices else "cpu"),
        ("threads", f"{taken}; {available_cores()} cores{load}"),
    ]


def _workflow() -> list[tuple[str, str]]:
    from nslimb.experiment import places

    wanted = (places.ROOT / "Snakefile", places.SCRIPTS, places.REFERENCE, places.CONFIGURATIONS)
    missing = [path.name for path in wanted if not path.exists()]
    return [("workflow", f"{places.ROOT}" if not missing else f"without {', '.join(missing)} in {places.ROOT}")]


def _sources(folder: Path) -> list[tuple[str, str]]:
    from nslimb.data import SOURCES, available

    ready = available(folder)
    told = {True: "ready", False: f"nslimb data fetch NAME --folder {folder}"}
    return [(f"source {name}", told[ready[name]].replace("NAME", name)) for name in SOURCES if name != "hwf"]


def _tracking(results: Path) -> tuple[str, str]:
    """Whether MLflow's store can be opened, or its server be reached."""
    uri = os.environ.get("MLFLOW_TRACKING_URI", "")
    if uri.startswith(("http://", "https://")):
        return "tracking", f"{_shown(uri)}: {_server(uri)}"
    store = Path(uri.removeprefix("sqlite:///")) if uri else results / "mlflow.db"
    return "tracking", f"{store}: {_store(store)}"


def _server(uri: str) -> str:
    parts = urlparse(uri)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        with socket.create_connection((parts.hostname or "", port), timeout=3):
            return "answers"
    except OSError as error:
        return f"does not answer ({error})"


def _shown(uri: str) -> str:
    """The address without a name and password that may be in it."""
    parts = urlparse(uri)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _store(path: Path) -> str:
    import sqlite3

    if not path.exists():
        return "not there yet; the first grid makes it"
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=3) as connection:
            number = connection.execute("select count(*) from runs").fetchone()[0]
        return f"answers, {number:,} runs"
    except sqlite3.Error as error:
        return f"does not answer ({error})"
