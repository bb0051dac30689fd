"""The job of rule fetch."""

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.jobs.fetch import fetch_source
    from nslimb.experiment.jobs.recipe import Host

    fetch_source(snakemake.params.recipe, Host.from_config(snakemake.config))
