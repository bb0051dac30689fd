"""Every peer beside nslimb: docs/peers.csv, docs/peers.md and docs/peers.png. ``python run.py DATA``, by make peers.

Each measurement is a process of its own with a time limit; a peer that fails or takes too long is a row that says so.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from rich.progress import track

HERE = Path(__file__).parent
DOCS = HERE.parent.parent / "docs"
LIMIT = 600  # seconds for each measurement
LOSSES = ["MAX-3", "MAX-5", "SUM-5", "SUM-7", *(f"MNIST-Add, N = {n}" for n in (1, 2, 3))]
LOSS, COMPILATION = "loss of a batch, ms", "compilation, s"
COLUMNS = ["task", "system", "version", "measure", "value", "times ours", "remark"]


def jobs(data: str) -> dict[str, tuple[str, list[str]]]:
    """What is measured: the task and system that a failure is told of, and the script with its arguments."""
    measured = {task: (task, "KLay", ["losses.py", task]) for task in LOSSES}
    measured["training, nslimb"] = ("MNIST-Add, N = 1", "nslimb", ["training.py", "nslimb", data])
    measured["training, ABLkit"] = ("MNIST-Add, N = 1", "ABLkit", ["training.py", "ablkit", data])
    measured["DeepProbLog"] = ("MNIST-Add, N = 1", "DeepProbLog, exact", ["prolog.py", data])
    measured["Scallop"] = ("MAX-3", "Scallop", ["scallop.py"])
    return {name: (f"{task}|{system}", arguments) for name, (task, system, arguments) in measured.items()}


def measure(about: str, arguments: list[str]) -> list[dict[str, Any]]:
    task, system = about.split("|")
    command = [sys.executable, str(HERE / arguments[0]), *arguments[1:]]
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    failed = {"task": task, "system": system, "version": "", "measure": "", "value": None}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT, env={**os.environ, **threads}, check=False
        )
    except subprocess.TimeoutExpired as error:
        told = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        return [*_rows(told), {**failed, "remark": f"what is missing was not done after {LIMIT} s"}]
    rows = _rows(done.stdout)
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        rows.append({**failed, "remark": f"failed: {reason}"})
    return rows


def _rows(told: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told.splitlines() if line.startswith('{"task"')]


def with_ratios(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Times as multiples of ours at the same task and measure, where they were not measured in turns."""
    ours = {(row["task"], row["measure"]): row["value"] for row in rows if row["system"] == "nslimb"}
    for row in rows:
        one = ours.get((row["task"], row["measure"]))
        if row.get("times ours") is None and one and row["value"] is not None and "%" not in row["measure"]:
            row["times ours"] = row["value"] / one
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def draw(frame: pd.DataFrame, path: Path) -> None:
    """Milliseconds of the loss of a batch by task, a bar for each system."""
    losses = frame[(frame["measure"] == LOSS) & frame["value"].notna()]
    wide = losses.pivot(index="task", columns="system", values="value")
    systems = ["nslimb", *(name for name in wide if name != "nslimb")]
    wide = wide.loc[[task for task in LOSSES if task in wide.index], systems]
    wide.index = [task.replace("MNIST-Add, ", "MNIST-Add\n") for task in wide.index]
    axis = wide.plot.bar(logy=True, figsize=(8, 3.4), width=0.8, rot=0, color=["#0072b2", "#e69f00", "#999999"])
    axis.set(xlabel="", ylabel="ms (log scale)", title="Exact loss of a batch of 64, forward and backward, one core")
    axis.legend(title=None, frameon=False)
    axis.tick_params(axis="x", labelsize=8)
    plt.tight_layout()
    plt.savefig(path, dpi=150)


def page(frame: pd.DataFrame) -> str:
    """docs/peers.md."""
    packages = ("torch", "klaycircuits", "PySDD", "ablkit", "deepproblog", "problog")
    versions = ", ".join(f"{name} {version(name)}" for name in packages)
    load = os.getloadavg()[0]
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    for row in frame.to_dict("records"):
        cells = [_text(row[column]) for column in COLUMNS]
        lines.append("| " + " | ".join(cells) + " |")
    return TEXT.format(
        table="\n".join(lines), versions=versions, python=platform.python_version(), load=load, **_machine()
    )


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return str(value or "")


def _machine() -> dict[str, str]:
    try:
        models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    except OSError:
        models = []
    return {"machine": models[0].partition(":")[2].strip() if models else platform.processor() or platform.machine()}


TEXT = """# Beside its peers

`make peers` measures this, in an environment of its own, `.venv-peers`: the same data (real MNIST, each image once),
LeNet from the same first weights, batches of 64, one thread. Times are CPU time of one process. A loss of KLay's and
ours are measured in turns, 60 each, and the fastest tenth counts; all give the same values to 1e-5. A "times ours"
above 1 says that nslimb is faster.

![Milliseconds of the exact loss of a batch by task and system, on a logarithmic scale](peers.png)

{table}

- *KLay on our diagram*: our decision diagram, node by node, as one circuit with a root for each weak label: its best
  case. Its module takes whole batches and is not compiled by torch. Sums of N-digit numbers have their weak labels
  listed for it, since a circuit has no sequences.
- *KLay on PySDD's circuit*: for each weak label a sentential decision diagram over one variable for each label of a
  position, folded position by position, on a balanced vtree; all of them in one circuit.
- *ABLkit*: abduction of the most confident labels from its knowledge base, a segment of 64 sums a step.
- *DeepProbLog*: its exact engine, with the circuits of all sums kept after the first time.
- *Scallop* has no package to install. Where `scallopy` is missing, the times are those of one build of its sources
  (version 0.2.5, commit 668bfb6, one core, batches of 64, both engines in one run): 40 to 640 times ours over 18
  combinations of task and proofs.

Machine: {machine}; Python {python}; {versions}.
The load was {load:.1f} at the end of the run: on a busy machine times are longer, and ratios less so.
"""


def main(data: str) -> None:
    rows: list[dict[str, Any]] = []
    for _, (about, arguments) in track(jobs(data).items(), "peers"):
        rows += measure(about, arguments)
    frame = with_ratios(rows)
    frame.to_csv(DOCS / "peers.csv", index=False, float_format="%.6g")
    draw(frame, DOCS / "peers.png")
    (DOCS / "peers.md").write_text(page(frame), encoding="utf-8")
    print(frame.to_string())


if __name__ == "__main__":
    main(sys.argv[1])
