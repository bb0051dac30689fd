"""Mirror a run into MLflow."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.tracking import EXPERIMENTS, mirror, tracking_uri
    from nslimb.files import write_json

    folder = Path(snakemake.output.mark).parent
    results = folder.parents[4]  # benchmark, M, rho, seed, train
    uri, path = tracking_uri(results), str(folder.relative_to(results))
    what = mirror(uri, EXPERIMENTS[snakemake.wildcards.benchmark], path, folder, results / "artifacts")
    write_json(Path(snakemake.output.mark), {"store": uri, "run": path, "last": what})
