# From a grid of (benchmark, M, rho, seed) to tables, figures, a report and tracked runs.
#   snakemake --cores 2                                            the paper's whole grid (config/config.yaml)
#   snakemake --cores 2 --configfile config/quick.yaml             minutes, no download
#   snakemake --cores 2 -- results/benchmark=max/M=3/rho=50/seed=1/train=sl/metrics.json     one run
from snakemake.utils import min_version

min_version("9.10")


if (
    "benchmarks" not in config
):  # a configuration given by --configfile stands for itself

    configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/studies.smk"
include: "workflow/rules/track.smk"


# Seconds each, and on a cluster the submitting host may be the one that reaches the network and the tracking server.
localrules:
    all,
    about,
    fetch,
    tracking_store,
    track,
    table,
    runtime_table,
    comparison,
    front,
    publish,


rule all:
    """Everything: tables, figures, tracked runs."""
    default_target: True
    input:
        run_files(names.METRICS),  # named, so that a lost one is made again, and its tables with it
        table_files(),
        figure_files(),
        study_files(),
        f"{RESULTS}/about.yaml",
        tracked_files(),


onstart:
    claim_results(CONFIG)
    hold_results(CONFIG)
    sweep_results(CONFIG)
    redate_results(CONFIG)
    start_watching(CONFIG, Path(LOGS), 1 if GPU else workflow.cores)


onsuccess:
    stop_watching()


onerror:
    from nslimb.experiment.publish import write_all

    stop_watching()
    write_all(CONFIG)  # what failed is shown as missing
    print(
        f"nslimb: jobs failed, see their logs; {RESULTS}/tables show the gaps. The next run takes up what is left."
    )
