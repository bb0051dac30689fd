"""Mirror the runs of a cell into MLflow."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.tracking import mirror_cell, tracking_uri
    from nslimb.files import write_json

    cell = Path(snakemake.output.mark).parent
    results = cell.parents[3]  # benchmark, M, rho, seed
    uri = tracking_uri(results)
    asked = snakemake.params
    what = mirror_cell(uri, asked.experiment, cell, asked.titles, asked.classes, results, asked.command)
    write_json(Path(snakemake.output.mark), {"store": uri, "runs": what})
