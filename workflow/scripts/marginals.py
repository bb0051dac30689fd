"""The job of rule marginals."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.jobs.marginals import make_marginals
    from nslimb.experiment.jobs.recipe import Host

    host = Host.from_config(snakemake.config, snakemake.wildcards.benchmark)
    make_marginals(snakemake.params.recipe, host, Path(snakemake.input.samples), Path(snakemake.output.marginals))
