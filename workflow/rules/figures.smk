# Figures of the whole grid.


rule figures:
    """Every figure in two formats: one job, since all of them read the whole grid."""
    input:
        run_files("metrics.json"),
    output:
        **{
            f"{name}_png": report(
                f"{RESULTS}/figures/{name}.png",
                category="Figures",
                caption="../report/figure.rst",
            )
            for name in FIGURES
        },
        **{f"{name}_svg": f"{RESULTS}/figures/{name}.svg" for name in FIGURES},
    log:
        f"{LOGS}/figures.log",
    benchmark:
        f"{BENCHMARKS}/figures.tsv"
    conda:
        "../../environment.yml"
    params:
        config=settings(),
        code=code_digest("figures"),
    script:
        "../scripts/figures.py"
