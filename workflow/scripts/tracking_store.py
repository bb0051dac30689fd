"""Create the MLflow store once."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.tracking import create_store

    create_store(Path(snakemake.output[0]).parent)
