"""All figures of the grid."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.cells import runs
    from nslimb.experiment.config import read_config
    from nslimb.experiment.figures import FIGURES, figure_name
    from nslimb.experiment.figures.shown import figure_entries
    from nslimb.experiment.gather import gather
    from nslimb.plotting import save

    config = read_config(snakemake.params.config)
    gathered = gather(config, list(runs(config)))
    for entry in figure_entries(config):
        name = figure_name(entry)
        drawn = FIGURES.get(entry, config.base)(gathered)
        save(drawn, Path(snakemake.output[f"{name}_png"]), Path(snakemake.output[f"{name}_svg"]))
