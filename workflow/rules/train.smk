# Training, one job for each method of a cell; adjustment and metrics; the runtime table's measurements.


rule train:
    """Train one method on one cell; an interrupted job resumes from its checkpoint."""
    input:
        samples=f"{CELL}/samples.npz",
        gold=f"{CELL}/gold.npz",
        marginals=f"{CELL}/marginals.json",
    output:
        model=f"{RUN}/model.pt",
        history=f"{RUN}/history.csv",
        run=f"{RUN}/run.yaml",
    log:
        f"{LOGS}/{grid.RUN}/train.log",
    benchmark:
        f"{BENCHMARKS}/{grid.RUN}/train.tsv"
    conda:
        "../../environment.yml"
    threads: CONFIG.training.threads
    resources:
        gpu=GPU,
        mem_mb=train_asks("mem_mb"),
        runtime=train_asks("runtime"),
    params:
        config=benchmark_settings,
        code=code_digest("train"),
    script:
        "../scripts/train.py"


rule adjust:
    """Metrics of a trained model before and after LA and CAROT, chosen on the weak validation samples."""
    input:
        samples=f"{CELL}/samples.npz",
        gold=f"{CELL}/gold.npz",
        marginals=f"{CELL}/marginals.json",
        model=f"{RUN}/model.pt",
    output:
        metrics=f"{RUN}/metrics.json",
    log:
        f"{LOGS}/{grid.RUN}/adjust.log",
    benchmark:
        f"{BENCHMARKS}/{grid.RUN}/adjust.tsv"
    conda:
        "../../environment.yml"
    threads: CONFIG.training.threads
    resources:
        mem_mb=adjust_asks("mem_mb"),
        runtime=adjust_asks("runtime"),
    params:
        config=benchmark_settings,
        code=code_digest("adjust"),
    script:
        "../scripts/adjust.py"


rule timing:
    """Minutes an epoch of SL and LP for the runtime table."""
    input:
        lambda w: f"{RESULTS}/sources/{grid.settings_of(CONFIG, w.benchmark).source}.ready",
    output:
        timing=f"{TIMING}/timing.json",
    log:
        f"{LOGS}/{grid.TIMING}.log",
    benchmark:
        f"{BENCHMARKS}/{grid.TIMING}.tsv"
    conda:
        "../../environment.yml"
    threads: CONFIG.training.threads
    resources:
        gpu=GPU,
    params:
        config=settings(),
        code=code_digest("train"),
    script:
        "../scripts/timing.py"
