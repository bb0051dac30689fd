# Figures of the whole grid.


rule figure:
    """One figure in two formats."""
    input:
        run_files("metrics.json"),
    output:
        png=report(
            f"{RESULTS}/figures/{{figure}}.png",
            category="Figures",
            caption="../report/figure.rst",
        ),
        svg=f"{RESULTS}/figures/{{figure}}.svg",
    log:
        f"{LOGS}/figures/{{figure}}.log",
    benchmark:
        f"{BENCHMARKS}/figures/{{figure}}.tsv"
    conda:
        "../../environment.yml"
    params:
        config=settings(),
        code=code_digest("figures"),
    script:
        "../scripts/figure.py"
