"""One figure of the grid."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.cells import runs
    from nslimb.experiment.config import read_config
    from nslimb.experiment.figures import FIGURES, save
    from nslimb.experiment.gather import gather

    config = read_config(snakemake.params.config)
    figure = FIGURES[snakemake.wildcards.figure](gather(config, list(runs(config))))
    save(figure, Path(snakemake.output.png), Path(snakemake.output.svg))
