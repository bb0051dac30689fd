"""The job of rule adjust."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.jobs.adjust import adjust_run
    from nslimb.experiment.jobs.recipe import Host

    given, host = snakemake.params, Host.from_config(snakemake.config, snakemake.wildcards.benchmark)
    adjust_run(given.recipe, host, given.ready, Path(snakemake.output.metrics).parent)
