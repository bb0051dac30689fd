"""The job of rule timing."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.config import read_config
    from nslimb.experiment.lease import lease_device

    config, w = read_config(snakemake.params.config), snakemake.wildcards
    lease_device(config.training.device)  # before torch: it must see one device alone

    from nslimb.experiment.jobs import time_epoch

    time_epoch(config, w.benchmark, w.M, int(w.batch), Path(snakemake.output.timing))
