# Images, weak samples and the marginal of the hidden labels.


rule fetch:
    """Get an image source into the data folder, verified."""
    output:
        touch(f"{RESULTS}/sources/{{source}}.ready"),
    log:
        f"{LOGS}/sources/{{source}}.log",
    benchmark:
        f"{BENCHMARKS}/sources/{{source}}.tsv"
    conda:
        "../../environment.yml"
    resources:
        network=1,
    params:
        data=settings()["data"],
        hwf_path=settings()["hwf_path"],
        code=code_digest("data"),
    script:
        "../scripts/fetch.py"


rule samples:
    """Draw the weak samples of a cell; gold labels go to a file of their own."""
    input:
        lambda w: f"{RESULTS}/sources/{grid.settings_of(CONFIG, w.benchmark).source}.ready",
    output:
        samples=f"{CELL}/samples.npz",
        gold=f"{CELL}/gold.npz",
    log:
        f"{LOGS}/{grid.CELL}/samples.log",
    benchmark:
        f"{BENCHMARKS}/{grid.CELL}/samples.tsv"
    conda:
        "../../environment.yml"
    params:
        config=benchmark_settings,
        code=code_digest("samples"),
    script:
        "../scripts/samples.py"


rule marginals:
    """Estimate the hidden marginal from weak labels alone (Algorithm 1)."""
    input:
        samples=f"{CELL}/samples.npz",
    output:
        marginals=f"{CELL}/marginals.json",
    log:
        f"{LOGS}/{grid.CELL}/marginals.log",
    benchmark:
        f"{BENCHMARKS}/{grid.CELL}/marginals.tsv"
    conda:
        "../../environment.yml"
    params:
        config=benchmark_settings,
        code=code_digest("marginals"),
    script:
        "../scripts/marginals.py"
