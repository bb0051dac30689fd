"""nslimb grid and doctor, python -m nslimb, shell completion, threads: what is around the other commands."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import nslimb
from nslimb.cli import app, grid, threads
from nslimb.cli.names import METHOD_NAMES, NETWORK_NAMES
from nslimb.errors import InvalidInput
from nslimb.experiment import places


def run(*arguments: object) -> Any:
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "200"})


def test_the_package_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "nslimb", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"nslimb {nslimb.__version__}\n"


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("nslimb tr", ["train"]),
        ("nslimb diagnose smal", ["smallest-parent"]),
        ("nslimb train max s.csv --method s", [name for name in METHOD_NAMES if name.startswith("s")]),
        ("nslimb train max s.csv --network ", list(NETWORK_NAMES)),
        ("nslimb data fetch mn", ["mnist", "mnist5k"]),
        ("nslimb grid qu", ["quick"]),
        ("nslimb predict --ad", ["--adjust"]),
    ],
)
def test_a_shell_is_told_what_may_follow(typed: str, offered: list[str]) -> None:
    words = typed.split(" ")
    surroundings = {"_NSLIMB_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(len(words) - 1)}
    program = "import sys; sys.argv[0] = 'nslimb'; from nslimb.cli import app; app(prog_name='nslimb')"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **surroundings}, capture_output=True, text=True, check=False
    )
    assert sorted(done.stdout.split()) == sorted(offered), done.stderr


def test_completion_can_be_installed() -> None:
    assert "--install-completion" in run("--help").output


def test_the_doctor_tells_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    done = run("doctor", "--data", tmp_path, "--results", tmp_path)
    assert done.exit_code == 0, done.output
    said = done.output
    for told in ("python", "torch", "device", "threads", "not there yet; the first grid makes it", str(places.ROOT)):
        assert told in said
    lines = dict(line.split("  ", 1) for line in said.splitlines())
    assert lines["source mnist5k"].strip() == "ready"
    assert lines["source mnist"].strip() == f"nslimb data fetch mnist --folder {tmp_path}"


def test_the_doctor_asks_the_store_or_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    with sqlite3.connect(tmp_path / "mlflow.db") as store:
        store.execute("create table runs (id int)")
        store.execute("insert into runs values (1)")
    store.close()
    assert "mlflow.db: answers, 1 runs" in run("doctor", "--results", tmp_path).output
    (tmp_path / "mlflow.db").write_bytes(b"no database" * 100)
    assert "does not answer (file is not a database)" in run("doctor", "--results", tmp_path).output
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://someone:secret@{address}")
        said = run("doctor").output
        assert f"http://{address}: answers" in said
        assert "secret" not in said
    assert f"http://{address}: does not answer" in run("doctor").output


def test_a_grid_is_snakemake_on_the_packages_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[str]] = []

    class Done:
        returncode = 3

    def called(command: list[str], **_: Any) -> Done:
        calls.append(command)
        return Done()

    pytest.importorskip("snakemake", reason="Snakemake needs Python 3.11")
    monkeypatch.setattr(grid.subprocess, "run", called)
    mine = tmp_path / "mine.yaml"
    mine.write_text("name: mine\n")
    done = run("grid", mine, "--cores", 4, "-n", "--config", "results=here")
    assert done.exit_code == 3  # Snakemake's own
    run("grid", mine, "-n", "a_target")
    beginning = [sys.executable, "-m", "snakemake", "--snakefile", str(places.ROOT / "Snakefile")]
    given = ["--configfile", str(mine)]  # last: Snakemake takes all that follows for configurations
    assert calls[0] == [*beginning, "--cores", "4", "-n", "--config", "results=here", *given]
    assert calls[1] == [*beginning, "-n", "a_target", *given]
    assert grid.find_configuration("quick") == places.CONFIGURATIONS / "quick.yaml"
    with pytest.raises(
        InvalidInput, match=r"CONFIG: expected a configuration file, or one of .*quick.*, got 'nothing'"
    ):
        grid.find_configuration("nothing")


def test_a_grid_without_snakemake_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grid.importlib.util, "find_spec", lambda name: None)
    done = run("grid", "quick")
    assert done.exit_code == 2
    assert "a grid needs the packages of the workflow: pip install 'nslimb[workflow]'" in done.output


@pytest.mark.parametrize(("cores", "chosen", "said"), [(8, None, True), (8, "2", False), (1, None, False)])
def test_commands_take_one_thread_and_say_so(cores: int, chosen: str | None, said: bool) -> None:
    """In a process of its own, as the environment is read when torch is imported."""
    program = (
        "from nslimb.cli import threads\n"
        f"threads.available_cores = lambda: {cores}\n"
        "threads.compute_with_few_threads()\n"
        "import torch\n"
        "print(torch.get_num_threads())"
    )
    clean = {key: value for key, value in os.environ.items() if key not in threads._VARIABLES}
    surroundings = clean if chosen is None else {**clean, "OMP_NUM_THREADS": chosen}
    done = subprocess.run([sys.executable, "-c", program], env=surroundings, capture_output=True, text=True, check=True)
    if said:
        assert done.stdout == "1\n"
    if chosen is not None:
        assert done.stdout == f"{chosen}\n"
    told = f"computing with 1 thread of {cores}, as its operations are small (OMP_NUM_THREADS changes it)"
    assert (told in done.stderr) == said
