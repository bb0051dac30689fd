# Images, weak samples and the marginal of the hidden labels.


rule fetch:
    """Get an image source into the data folder, verified."""
    output:
        touch(f"{RESULTS}/{paths.source_file('{source}')}"),
    log:
        f"{LOGS}/sources/{{source}}.log",
    benchmark:
        f"{BENCHMARKS}/sources/{{source}}.tsv"
    conda:
        "../../environment.yml"
    resources:
        network=1,
    params:
        recipe=source_recipe,
    script:
        "../scripts/fetch.py"


rule samples:
    """Draw the weak samples of a cell; gold labels go to a file of their own."""
    input:
        source_ready,
    output:
        samples=f"{CELL}/{names.SAMPLES}",
        gold=f"{CELL}/{names.GOLD}",
    log:
        f"{LOGS}/{paths.CELL}/samples.log",
    benchmark:
        f"{BENCHMARKS}/{paths.CELL}/samples.tsv"
    conda:
        "../../environment.yml"
    params:
        recipe=cell_recipe(recipes.samples_recipe),
        ready=ready,
    script:
        "../scripts/samples.py"


rule marginals:
    """Estimate the hidden marginal from weak labels alone (Algorithm 1)."""
    input:
        samples=f"{CELL}/{names.SAMPLES}",
    output:
        marginals=f"{CELL}/{names.MARGINALS}",
    log:
        f"{LOGS}/{paths.CELL}/marginals.log",
    benchmark:
        f"{BENCHMARKS}/{paths.CELL}/marginals.tsv"
    conda:
        "../../environment.yml"
    params:
        recipe=cell_recipe(recipes.marginals_recipe),
    script:
        "../scripts/marginals.py"
