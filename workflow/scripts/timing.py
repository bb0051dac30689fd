"""The job of rule timing."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.lease import lease_device

    lease_device(snakemake.config["training"]["device"])  # before torch: it must see one device alone

    from nslimb.experiment.jobs.recipe import Host
    from nslimb.experiment.jobs.timing import time_epoch

    given, host = snakemake.params, Host.from_config(snakemake.config, snakemake.wildcards.benchmark)
    time_epoch(given.recipe, host, int(snakemake.wildcards.batch), Path(snakemake.output.timing))
