"""One study: its numbers, then its figure."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.config import read_config
    from nslimb.experiment.studies import STUDIES
    from nslimb.files import write_text
    from nslimb.plotting import save

    config = read_config(snakemake.params.config)
    study = STUDIES.get(snakemake.params.entry, config.base)
    frame = study.compute(config)
    write_text(Path(snakemake.output.csv), frame.to_csv(index=False))
    save(study.draw(frame), Path(snakemake.output.png), Path(snakemake.output.svg))
