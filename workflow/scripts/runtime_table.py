"""The runtime table."""

import json
from pathlib import Path

import pandas as pd

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment import tables
    from nslimb.experiment.cells import timings
    from nslimb.experiment.config import read_config

    config = read_config(snakemake.params.config)
    measured = []
    for folder in timings(config):
        benchmark, arity, batch = (part.split("=")[1] for part in folder.split("/")[1:])
        timing = json.loads((config.results / folder / "timing.json").read_text())
        measured.append({"benchmark": benchmark, "M": arity, "batch_size": int(batch), "timing": timing})
    frame = tables.runtime(measured, config.protocol, pd.read_csv(snakemake.input.reference))
    caption = (
        f"runtime: minutes an epoch, protocol {config.protocol}, extrapolated from {config.runtime.batches} batches"
    )
    laid = frame.set_index("algorithm")
    tables.write_csv(Path(snakemake.output.csv), frame)
    tables.write_text(Path(snakemake.output.md), tables.markdown(laid, caption))
    tables.write_text(Path(snakemake.output.tex), tables.latex(laid, caption))
