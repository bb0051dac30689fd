"""The job of rule publish."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.collect import MAIN, publish, publish_apart
    from nslimb.experiment.config import read_config

    config = read_config(snakemake.params.config)
    write = publish if config.name in MAIN.values() else publish_apart
    for name, rows in write(config, Path(snakemake.params.folder)).items():
        print(f"{name}.csv: {rows} rows")
