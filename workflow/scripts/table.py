"""One of the tables, or the comparison of all with the paper."""

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment.config import read_config
    from nslimb.experiment.front import write_front
    from nslimb.experiment.publish import write_comparison, write_runtime, write_table

    config = read_config(snakemake.params.config)
    if snakemake.rule == "table":
        write_table(config, snakemake.wildcards.table)
    else:
        {"runtime_table": write_runtime, "comparison": write_comparison, "front": write_front}[snakemake.rule](config)
