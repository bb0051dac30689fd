# Training, one job for each method of a cell; adjustment and metrics; the runtime table's measurements.


rule train:
    """Train one method on one cell; an interrupted job resumes from its checkpoint."""
    input:
        samples=of_run(f"{CELL}/{names.SAMPLES}"),
        gold=of_run(f"{CELL}/{names.GOLD}"),
        marginals=of_run(f"{CELL}/{names.MARGINALS}"),
        start=unless_settled(start_model),
        restored=unless_settled(restored_mark),
    output:
        model=f"{RUN}/{names.MODEL}",
        history=f"{RUN}/{names.HISTORY}",
        run=f"{RUN}/{names.RUN_FILE}",
    log:
        f"{LOGS}/{paths.RUN}/train.log",
    benchmark:
        f"{BENCHMARKS}/{paths.RUN}/train.tsv"
    conda:
        "../../environment.yml"
    threads: CONFIG.training.threads
    resources:
        gpu=GPU,
        mem_mb=train_asks("mem_mb"),
        runtime=train_asks("runtime"),
    params:
        recipe=run_recipe(recipes.train_recipe),
        run=described,
        ready=ready,
    script:
        "../scripts/train.py"


rule adjust:
    """Metrics of a trained model before and after LA and CAROT, chosen on the weak validation samples."""
    input:
        samples=of_run(f"{CELL}/{names.SAMPLES}"),
        gold=of_run(f"{CELL}/{names.GOLD}"),
        marginals=of_run(f"{CELL}/{names.MARGINALS}"),
        model=of_run(f"{RUN}/{names.MODEL}"),
        restored=unless_settled(restored_mark),
    output:
        metrics=f"{RUN}/{names.METRICS}",
    log:
        f"{LOGS}/{paths.RUN}/adjust.log",
    benchmark:
        f"{BENCHMARKS}/{paths.RUN}/adjust.tsv"
    conda:
        "../../environment.yml"
    threads: CONFIG.training.threads
    resources:
        mem_mb=adjust_asks("mem_mb"),
        runtime=adjust_asks("runtime"),
    params:
        recipe=run_recipe(recipes.adjust_recipe),
        ready=ready,
    script:
        "../scripts/adjust.py"


rule timing:
    """Minutes an epoch of SL and LP for the runtime table."""
    input:
        source_ready,
    output:
        timing=f"{TIMING}/{names.TIMING_FILE}",
    log:
        f"{LOGS}/{paths.TIMING}.log",
    benchmark:
        f"{BENCHMARKS}/{paths.TIMING}.tsv"
    conda:
        "../../environment.yml"
    threads: CONFIG.training.threads
    resources:
        gpu=GPU,
    params:
        recipe=lambda w: recipes.timing_recipe(CONFIG, w.benchmark, w.M),
    script:
        "../scripts/timing.py"
