"""Every peer beside nslimb: docs/peers.csv, docs/peers.md and docs/peers.png. ``python run.py DATA``, by make peers.

Each measurement is a process of its own with a time limit; a peer that fails or takes too long is a row that says so.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import pandas as pd
from rich.progress import track
from words import LOSS, NOT_INSTALLED, ON_OURS, ON_SDD, OURS

HERE = Path(__file__).parent
DOCS = HERE.parent.parent / "docs"
LIMIT = 600  # seconds for each measurement
LOSSES = ["MAX-3", "MAX-5", "SUM-5", "SUM-7", *(f"MNIST-Add, N = {n}" for n in (1, 2, 3))]
PACKAGES = ("torch", "klaycircuits", "PySDD", "ablkit", "deepproblog", "problog")
COLOURS = ["#0072b2", "#e69f00", "#999999", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#f0e442"]
COLUMNS = ["task", "system", "version", "measure", "value", "times ours", "remark"]
# How many times ours the loss of a batch is to take, by task and system.
GOALS = {("MAX-5", ON_OURS): 1.5, ("SUM-5", ON_OURS): 2, ("SUM-7", ON_OURS): 2, ("MNIST-Add, N = 2", ON_SDD): 10}


class Outcome(NamedTuple):
    """A goal, and what became of it."""

    told: str
    least: float
    found: float  # NaN where it was not measured

    @property
    def verdict(self) -> str:
        reached = "reached" if self.found >= self.least else "missed"
        return "not measured" if pd.isna(self.found) else f"{self.found:.2f}, {reached}"


def jobs(data: str) -> dict[str, tuple[str, list[str]]]:
    """What is measured: the task and system that a failure is told of, and the script with its arguments."""
    measured = {task: (task, "KLay", ["losses.py", task]) for task in LOSSES}
    measured["training, nslimb"] = ("MNIST-Add, N = 1", OURS, ["training.py", "nslimb", data])
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
    ours = {(row["task"], row["measure"]): row["value"] for row in rows if row["system"] == OURS}
    for row in rows:
        one = ours.get((row["task"], row["measure"]))
        if row.get("times ours") is None and one and row["value"] is not None and "%" not in row["measure"]:
            row["times ours"] = row["value"] / one
    return pd.DataFrame(rows).reindex(columns=COLUMNS)


def draw(frame: pd.DataFrame, path: Path) -> None:
    """Milliseconds of the loss of a batch by task, a bar for each system."""
    losses = frame[(frame["measure"] == LOSS) & frame["value"].notna()]
    wide = losses.pivot(index="task", columns="system", values="value")
    systems = [OURS, *(name for name in wide if name != OURS)]
    wide = wide.loc[[task for task in LOSSES if task in wide.index], systems]
    wide.index = [task.replace("MNIST-Add, ", "MNIST-Add\n") for task in wide.index]
    axis = wide.plot.bar(logy=True, figsize=(8, 3.4), width=0.8, rot=0, color=COLOURS)
    axis.set(xlabel="", ylabel="ms (log scale)", title="Loss of a batch of 64, forward and backward, one core")
    axis.legend(title=None, frameon=False)
    axis.tick_params(axis="x", labelsize=8)
    plt.tight_layout()
    plt.savefig(path, dpi=150)


def outcomes(frame: pd.DataFrame) -> list[Outcome]:
    """Each goal beside what was measured; the last is to be never slower than KLay on our diagram."""
    losses = frame[frame["measure"] == LOSS].set_index(["task", "system"])["times ours"]
    found = [Outcome(", ".join(key), least, losses.get(key, float("nan"))) for key, least in GOALS.items()]
    on_ours = losses[losses.index.get_level_values("system") == ON_OURS]
    return [*found, Outcome(f"the least of all tasks, {ON_OURS} (never slower)", 1, on_ours.min())]


def page(frame: pd.DataFrame, surroundings: str) -> str:
    """docs/peers.md."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS)]
    for row in frame.to_dict("records"):
        cells = [_text(row[column]) for column in COLUMNS]
        lines.append("| " + " | ".join(cells) + " |")
    goals = [f"- {goal.told}: goal {goal.least:g}, {goal.verdict}." for goal in outcomes(frame)]
    return TEXT.format(table="\n".join(lines), goals="\n".join(goals), surroundings=surroundings)


def _text(value: Any) -> str:
    if isinstance(value, float):
        return "" if pd.isna(value) else f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return str(value or "")


def surroundings() -> str:
    """Machine, versions and load, as the page ends with them."""
    return SURROUNDINGS.format(
        machine=_machine(),
        python=platform.python_version(),
        versions=", ".join(f"{name} {_version(name)}" for name in PACKAGES),
        load=os.getloadavg()[0],
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_INSTALLED


def _machine() -> str:
    try:
        models = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    except OSError:
        models = []
    return models[0].partition(":")[2].strip() if models else platform.processor() or platform.machine()


TEXT = """# Beside its peers

`make peers` measures this, in an environment of its own, `.venv-peers`: the same data (real MNIST, each image once),
LeNet from the same first weights, batches of 64, one thread. Times are CPU time of one process. A loss of KLay's and
ours are measured in turns, 60 each, and the fastest tenth counts; all give the same values to 1e-5. A "times ours"
above 1 says that nslimb is faster.

![Milliseconds of the loss of a batch by task and system, on a logarithmic scale](peers.png)

Goals for the loss of a batch, as times ours, and what this run has:

{goals}

The margins are small: a run on a machine under load had 1.498 at MAX-5 and 1.96 at SUM-5, just below the goals.

{table}

- *loss of a batch*: the exact negative log-likelihood, forward and backward; beside Scallop another loss (see there).
- *epoch, s*: seconds of an epoch, the mean over 3 epochs of training, network and all; the least of 3 seeds.
- *compilation* of KLay's circuits is until they are built; to lay them out as a module of torch is left out. On our
  diagram it also leaves out our own compilation, which comes before it, and the listing of sums of N-digit numbers.
- *KLay on our diagram*: our decision diagram, node by node, as one circuit with a root for each weak label: its best
  case. Its module takes whole batches and is not compiled by torch. Sums of N-digit numbers have their weak labels
  listed for it, since a circuit has no sequences.
- *KLay on PySDD's circuit*: for each weak label a sentential decision diagram over one variable for each label of a
  position, folded position by position, on a balanced vtree; all of them in one circuit.
- *ABLkit*: abduction of the most confident labels from its knowledge base, a segment of 64 sums a step.
- *DeepProbLog*: its exact engine, with the circuits of all sums kept after the first time.
- *Scallop* has no package to install. Where `scallopy` is missing, the times are those of one build of its sources
  (version 0.2.5, commit 668bfb6, one core, batches of 64, both engines in one run): 40 to 640 times ours over 18
  combinations of task and proofs. All times beside Scallop, quoted or not, are of the binary cross-entropy over all
  weak labels, Scallop's and ours alike; where they say top-k, of the k best proofs of each.

{surroundings}"""
SURROUNDINGS = """\
Machine: {machine}; Python {python}; {versions}.
The load was {load:.1f} at the end of the run: on a busy machine times are longer, and ratios less so.
"""


def main(data: str) -> None:
    rows: list[dict[str, Any]] = []
    for _, (about, arguments) in track(jobs(data).items(), "peers"):
        rows += measure(about, arguments)
    with_ratios(rows).to_csv(DOCS / "peers.csv", index=False, float_format="%.6g")
    frame = pd.read_csv(DOCS / "peers.csv")
    draw(frame, DOCS / "peers.png")
    (DOCS / "peers.md").write_text(page(frame, surroundings()), encoding="utf-8")
    print(frame.to_string())


if __name__ == "__main__":
    main(sys.argv[1])
