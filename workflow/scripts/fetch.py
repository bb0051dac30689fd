"""Get an image source and verify it."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.data import fetch

    path = snakemake.params.hwf_path
    source = fetch(snakemake.wildcards.source, Path(snakemake.params.data), None if path is None else Path(path))
    print(f"{source.name}: {len(source.images)} images from {source.origin}")
