"""The job of rule train."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.lease import lease_device

    lease_device(snakemake.config["training"]["device"])  # before torch: it must see one device alone

    from nslimb.experiment.jobs.recipe import Host
    from nslimb.experiment.jobs.train import train_run

    given, host = snakemake.params, Host.from_config(snakemake.config, snakemake.wildcards.benchmark)
    start = Path(snakemake.input.start[0]) if snakemake.input.start else None
    train_run(given.recipe, host, given.run, given.ready, Path(snakemake.output.model).parent, start)
