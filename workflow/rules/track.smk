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
        server=os.environ.get("MLFLOW_TRACKING_URI", ""),  # another one is filled anew
        code=code_digest("track"),
    script:
        "../scripts/tracking_store.py"


rule track:
    """Mirror the finished runs of a cell into MLflow."""
    input:
        cell_runs("metrics.json"),
        cell_runs("history.csv"),
        cell_runs("run.yaml"),
        store=f"{RESULTS}/tracking.ready",
    output:
        mark=f"{CELL}/tracked.json",
    log:
        f"{LOGS}/{grid.CELL}/track.log",
    benchmark:
        f"{BENCHMARKS}/{grid.CELL}/track.tsv"
    conda:
        "../../environment.yml"
    resources:
        tracking=1,
    params:
        methods=lambda w: grid.settings_of(CONFIG, w.benchmark).methods,
        server=os.environ.get("MLFLOW_TRACKING_URI", ""),  # another one is filled anew
        code=code_digest("track"),
    script:
        "../scripts/track.py"
