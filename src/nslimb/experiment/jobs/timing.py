"""The step `timing`: minutes an epoch and peak memory for the runtime table."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import product
from pathlib import Path

from nslimb.errors import SolverFailed
from nslimb.experiment.jobs.measure import measure
from nslimb.experiment.jobs.recipe import Host, Recipe
from nslimb.experiment.runs.base import write_schema
from nslimb.experiment.runs.timing import Timing

_MEASURED = (("SL", "sl"), ("LP", "ilp-alg1"))


def time_epoch(recipe: Recipe, host: Host, batch: int, out: Path) -> None:
    """SL and LP by the paper's protocol and by ours, extrapolated from a few batches, each in a process of its own."""
    minutes: dict[str, dict[str, float]] = {}
    memory: dict[str, dict[str, float]] = {}
    for protocol, (label, method) in product(("paper", "exact"), _MEASURED):
        request = {"recipe": dict(recipe), "protocol": protocol, "method": method, "batch": batch}
        found = _apart({**request, "host": host.plain()})
        minutes.setdefault(protocol, {})[label] = found["minutes"]
        memory.setdefault(protocol, {})[label] = found["peak_mb"]
    content = Timing(
        minutes_per_epoch=minutes,
        peak_mb=memory,
        samples=recipe["samples"],
        measured_on=min(recipe["samples"], batch * recipe["batches"]),
    )
    write_schema(out, content)


def _apart(request: dict[str, object]) -> dict[str, float]:
    """Call ``measure`` in a new process, whose peak memory is that of this measurement alone."""
    command = [sys.executable, "-m", measure.__module__]
    done = subprocess.run(command, input=json.dumps(request), capture_output=True, text=True, check=False)
    print(done.stderr, end="")
    if done.returncode != 0:
        raise SolverFailed(f"timing: {request['protocol']} {request['method']} ended with code {done.returncode}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
