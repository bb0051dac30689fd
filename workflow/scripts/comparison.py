"""Each of the paper's entries beside ours."""

from pathlib import Path

import pandas as pd

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment import tables

    reference = tables.read_reference(Path(snakemake.input.reference))
    ours = [pd.read_csv(path, dtype={"M": str, "rho": str}, keep_default_na=True) for path in snakemake.input.tables]
    tables.write_csv(Path(snakemake.output.csv), tables.comparison(ours, reference))
