"""Beside its peers: the committed numbers and their page, and what happens where a peer is not installed."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import torch

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "benchmarks" / "peers"
Load = Callable[[str], ModuleType]


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """The scripts by name, with no peer installed and few repeats."""
    monkeypatch.syspath_prepend(str(PEERS))

    def find(name: str) -> ModuleType:
        script = importlib.import_module(name)
        if hasattr(script, "is_there"):
            monkeypatch.setattr(script, "is_there", lambda _: False)
            monkeypatch.setattr(sys.modules["common"], "REPEATS", 3)
        return script

    yield find
    for path in PEERS.glob("*.py"):
        sys.modules.pop(path.stem, None)


def told(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_committed_page_is_that_of_the_committed_file(load: Load) -> None:
    text = (ROOT / "docs" / "peers.md").read_text()
    assert load("run").page(pd.read_csv(ROOT / "docs" / "peers.csv"), text[text.index("Machine: ") :]) == text


def test_the_goals_hold_in_the_committed_file(load: Load) -> None:
    found = load("run").outcomes(pd.read_csv(ROOT / "docs" / "peers.csv"))
    assert [goal.least for goal in found] == [1.5, 2, 2, 10, 1]
    assert all(goal.found >= goal.least for goal in found), found


def test_goals_are_told_as_they_come_out(load: Load) -> None:
    run = load("run")
    rows = [("MAX-5", run.ON_OURS, 1.4), ("SUM-5", run.ON_OURS, 2.5), ("MAX-3", run.ON_OURS, 0.9)]
    frame = pd.DataFrame(
        [{"task": task, "system": system, "measure": run.LOSS, "times ours": ratio} for task, system, ratio in rows]
    )
    verdicts = [goal.verdict for goal in run.outcomes(frame)]
    assert verdicts == ["1.40, missed", "2.50, reached", "not measured", "not measured", "0.90, missed"]
    assert run.outcomes(frame.iloc[:0])[-1].verdict == "not measured"


def test_our_loss_is_measured_without_klay(load: Load, capsys: pytest.CaptureFixture[str]) -> None:
    load("losses").measure("MNIST-Add, N = 1")
    ours, *theirs = [row for row in told(capsys) if row["measure"] == "loss of a batch, ms"]
    assert ours["system"] == "nslimb"
    assert ours["value"] > 0
    assert [(row["system"], row["value"], row["remark"]) for row in theirs] == [
        ("KLay on our diagram", None, "not installed here"),
        ("KLay on PySDD's circuit", None, "not installed here"),
    ]


def test_ablkit_and_deepproblog_may_be_missing(
    load: Load, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load("training").main("ablkit", Path("nowhere"))
    prolog = load("prolog")
    size = 64 * (prolog.STEPS + 2)
    drawn = torch.randint(10, (size, 2))
    data = sys.modules["common"].Data(torch.rand(20, 1, 28, 28), drawn, drawn.sum(1), drawn, drawn)
    monkeypatch.setattr(prolog, "pairs", lambda _: data)
    prolog.main(Path("nowhere"))
    rows = told(capsys)
    assert [(row["system"], row["remark"]) for row in rows] == [
        ("ABLkit", "not installed here"),
        ("DeepProbLog, exact", "not installed here"),
        ("nslimb", "network and all"),
    ]
    assert rows[2]["value"] > 0


def test_versions_say_what_is_not_installed(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    run = load("run")
    monkeypatch.setattr(run, "PACKAGES", ("torch", "no-such-peer"))
    assert "; torch " in run.surroundings()
    assert ", no-such-peer not installed here.\n" in run.surroundings()


def test_a_peer_that_cannot_be_installed_is_missing_alone(tmp_path: Path) -> None:
    """With a Python whose pip refuses ABLkit."""
    (tmp_path / "benchmarks" / "peers").mkdir(parents=True)
    shutil.copy(ROOT / "Makefile", tmp_path)
    shutil.copy(PEERS / "requirements.txt", tmp_path / "benchmarks" / "peers")
    pip = '#!/bin/sh\necho "$@" >> installed\ncase "$*" in *ablkit*) exit 1;; esac\n'
    python = f"#!/bin/sh\nmkdir -p .venv-peers/bin && cat > .venv-peers/bin/python <<'end'\n{pip}end\n"
    (tmp_path / "python").write_text(f"{python}chmod +x .venv-peers/bin/python\n")
    (tmp_path / "python").chmod(0o755)
    make = ["make", "--no-print-directory", "PYTHON=./python", ".venv-peers/.ready"]
    done = subprocess.run(make, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "==> ablkit==1.0.0 cannot be installed: its rows will say so" in done.stdout
    assert done.stdout.count("cannot be installed") == 1
    installed = (tmp_path / "installed").read_text()
    assert "klaycircuits==0.1.2\n" in installed
    assert "deepproblog==2.1.0\n" in installed
    assert "--editable . matplotlib pandas" in installed


def test_scallop_is_beside_our_loss_of_the_same_kind(
    load: Load, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scallop, run = load("scallop"), load("run")
    monkeypatch.setattr(scallop, "is_there", lambda _: True)
    monkeypatch.setattr(scallop, "in_turns", lambda runs: dict(zip(runs, (2.0, 300.0), strict=True)))
    scallop.main()
    exact = {"task": "MAX-3", "system": "nslimb", "measure": run.LOSS, "value": 0.5, "times ours": 1.0}
    frame = run.with_ratios([exact, *told(capsys)]).set_index(["task", "system"])["times ours"]
    for proofs in (1, 3):
        assert frame["MAX-3", f"Scallop, top-{proofs}"] == 150
        assert frame["MAX-3", f"nslimb, top-{proofs}"] == 1


def test_every_system_has_a_colour_of_its_own(load: Load, tmp_path: Path) -> None:
    run = load("run")
    scallops = [f"{name}, top-{k}" for name in (run.OURS, "Scallop") for k in (1, 3)]
    systems = [run.OURS, run.ON_OURS, run.ON_SDD, *scallops]
    rows = [{"task": "MAX-3", "system": system, "measure": run.LOSS, "value": 1.0} for system in systems]
    run.draw(pd.DataFrame(rows), tmp_path / "peers.png")
    colours = {bars.patches[0].get_facecolor() for bars in plt.gca().containers}
    plt.close("all")
    assert len(colours) == len(systems)
