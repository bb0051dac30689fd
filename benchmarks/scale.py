"""The paper's grid with ten seeds in core and GPU hours, from the measured costs that the cluster profiles ask by.

python benchmarks/scale.py writes docs/scale.csv and prints the sums.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import yaml

from nslimb.experiment.cells import runs
from nslimb.experiment.config import read_config
from nslimb.experiment.demands import training_seconds
from nslimb.files import write_text

ROOT = Path(__file__).resolve().parents[1]
SEEDS = 10


def main() -> None:
    values = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    config = read_config({**values, "seeds": list(range(1, SEEDS + 1))})
    rows = []
    for cell, method in runs(config):
        network, program = training_seconds(config, cell.benchmark, cell.M, method, gpu=False)
        on_gpu, _ = training_seconds(config, cell.benchmark, cell.M, method, gpu=True)
        hours = {"core_network": network, "linear_program": program, "gpu_network": on_gpu}
        keys = {"benchmark": cell.benchmark, "M": cell.M, "method": method, "runs": 1}
        rows.append({**keys, **{f"{name}_hours": seconds / 3600 for name, seconds in hours.items()}})
    frame = pd.DataFrame(rows).groupby(["benchmark", "M", "method"], sort=False).sum().reset_index()
    write_text(ROOT / "docs" / "scale.csv", frame.to_csv(index=False, float_format="%.2f"))
    print(frame.groupby("benchmark", sort=False).sum(numeric_only=True).round(1).to_string())
    print(frame.sum(numeric_only=True).round(1).to_string())
    each = frame.assign(longest=(frame["gpu_network_hours"] + frame["linear_program_hours"]) / frame["runs"])
    print(each.sort_values("longest").tail(3).round(2).to_string())


if __name__ == "__main__":
    main()
