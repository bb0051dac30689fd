# MLflow mirrors the files; one job at a time, after the store has been created once.


rule tracking_store:
    """Create the MLflow store before anything else opens it."""
    output:
        touch(f"{RESULTS}/tracking.ready"),
    log:
        f"{LOGS}/tracking_store.log",
    benchmark:
        f"{BENCHMARKS}/tracking_store.tsv"
    conda:
        "../../environment.yml"
    params:
        code=code_digest("track"),
    script:
        "../scripts/tracking_store.py"


rule track:
    """Mirror a finished run into MLflow."""
    input:
        store=f"{RESULTS}/tracking.ready",
        metrics=f"{RUN}/metrics.json",
        history=f"{RUN}/history.csv",
        run=f"{RUN}/run.yaml",
    output:
        mark=f"{RUN}/tracked.json",
    log:
        f"{LOGS}/{grid.RUN}/track.log",
    benchmark:
        f"{BENCHMARKS}/{grid.RUN}/track.tsv"
    conda:
        "../../environment.yml"
    resources:
        tracking=1,
    params:
        code=code_digest("track"),
    script:
        "../scripts/track.py"
