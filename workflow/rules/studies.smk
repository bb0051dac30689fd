# Studies of the theory and the algorithms: numbers as CSV, and a figure of them.


rule study:
    """One study; those of trained models wait for these."""
    input:
        study_inputs,
    output:
        csv=f"{RESULTS}/studies/{{study}}.csv",
        png=report(
            f"{RESULTS}/figures/{{study}}.png",
            category="Studies",
            caption="../report/study.rst",
        ),
        svg=f"{RESULTS}/figures/{{study}}.svg",
    log:
        f"{LOGS}/studies/{{study}}.log",
    benchmark:
        f"{BENCHMARKS}/studies/{{study}}.tsv"
    wildcard_constraints:
        study="|".join(STUDIES),
    conda:
        "../../environment.yml"
    params:
        config=settings(),
        code=code_digest("studies"),
    script:
        "../scripts/study.py"
