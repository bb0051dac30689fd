"""The job of rule marginals."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.cells import Cell
    from nslimb.experiment.config import read_config
    from nslimb.experiment.jobs import make_marginals

    config, cell = read_config(snakemake.params.config), Cell.from_wildcards(snakemake.wildcards)
    make_marginals(config, cell, Path(snakemake.input.samples), Path(snakemake.output.marginals))
