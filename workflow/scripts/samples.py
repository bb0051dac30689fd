"""The job of rule samples."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.cells import Cell
    from nslimb.experiment.config import read_config
    from nslimb.experiment.jobs import make_samples

    config, cell = read_config(snakemake.params.config), Cell.from_wildcards(snakemake.wildcards)
    make_samples(config, cell, Path(snakemake.output.samples), Path(snakemake.output.gold))
