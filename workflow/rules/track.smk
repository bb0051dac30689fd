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
        code=recipes.step_digest("track"),
    script:
        "../scripts/tracking_store.py"


rule track:
    """Mirror the finished runs of a cell into MLflow."""
    input:
        cell_runs(names.METRICS),
        cell_runs(names.HISTORY),
        cell_runs(names.RUN_FILE),
        store=f"{RESULTS}/tracking.ready",
    output:
        mark=f"{CELL}/{names.TRACKED}",
    log:
        f"{LOGS}/{paths.CELL}/track.log",
    benchmark:
        f"{BENCHMARKS}/{paths.CELL}/track.tsv"
    conda:
        "../../environment.yml"
    resources:
        tracking=1,
    params:
        titles=titles,
        classes=lambda w: named_classes(w.benchmark),
        command=cell_command,
        experiment=lambda w: grid.experiment_of(CONFIG, w.benchmark),
        server=os.environ.get("MLFLOW_TRACKING_URI", ""),  # another one is filled anew
        code=recipes.step_digest("track"),
    script:
        "../scripts/track.py"
