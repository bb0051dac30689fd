"""The configuration and versions, for the report."""

from pathlib import Path

import yaml

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.provenance import git_commit
    from nslimb.files import write_text

    content = {"configuration": snakemake.params.config, "versions": snakemake.params.versions, "commit": git_commit()}
    write_text(Path(snakemake.output[0]), yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
