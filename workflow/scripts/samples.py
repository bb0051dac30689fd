"""The job of rule samples."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.jobs.recipe import Host
    from nslimb.experiment.jobs.samples import make_samples

    given, host = snakemake.params, Host.from_config(snakemake.config, snakemake.wildcards.benchmark)
    make_samples(given.recipe, host, given.ready, Path(snakemake.output.samples), Path(snakemake.output.gold))
