"""The job of rule train."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.cells import Cell
    from nslimb.experiment.config import read_config
    from nslimb.experiment.lease import lease_device

    config, cell = read_config(snakemake.params.config), Cell.from_wildcards(snakemake.wildcards)
    lease_device(config.training.device)  # before torch: it must see one device alone

    from nslimb.experiment.jobs import train_run

    train_run(config, cell, snakemake.wildcards.method, Path(snakemake.input.samples).parent)
