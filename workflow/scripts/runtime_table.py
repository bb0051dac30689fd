"""The runtime table."""

from pathlib import Path

import pandas as pd

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment import tables
    from nslimb.experiment.cells import timings
    from nslimb.experiment.config import read_config
    from nslimb.files import read_json, write_text

    config = read_config(snakemake.params.config)
    measured = []
    for folder in timings(config):
        benchmark, arity, batch = (part.split("=")[1] for part in folder.split("/")[1:])
        timing = read_json(config.results / folder / "timing.json")
        measured.append({"benchmark": benchmark, "M": arity, "batch_size": int(batch), "timing": timing})
    frame = tables.runtime(measured, config.protocol, pd.read_csv(snakemake.input.reference))
    caption = (
        f"runtime: minutes an epoch, protocol {config.protocol}, extrapolated from {config.runtime.batches} batches"
    )
    laid = frame.set_index("algorithm")
    tables.write_csv(Path(snakemake.output.csv), frame)
    write_text(Path(snakemake.output.md), tables.markdown(laid, caption))
    write_text(Path(snakemake.output.tex), tables.latex(laid, caption))
