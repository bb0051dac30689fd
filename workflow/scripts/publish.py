"""The job of rule publish."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.collect import publish
    from nslimb.experiment.config import read_config

    config = read_config(snakemake.params.config)
    for name, rows in publish(config, Path(snakemake.params.folder)).items():
        print(f"{name}.csv: {rows} rows")
