# Studies of the theory and the algorithms: numbers as CSV, and a figure of them.


rule study:
    """One study; those of trained models wait for these."""
    input:
        study_inputs,
    output:
        csv=f"{RESULTS}/{paths.study_file('{study}')}",
        png=report(
            f"{RESULTS}/{paths.figure_file('{study}', 'png')}",
            category="Studies",
            caption="../report/study.rst",
            labels={"study": "{study}"},
        ),
        svg=f"{RESULTS}/{paths.figure_file('{study}', 'svg')}",
    log:
        f"{LOGS}/studies/{{study}}.log",
    benchmark:
        f"{BENCHMARKS}/studies/{{study}}.tsv"
    wildcard_constraints:
        study="|".join(study_names()) or "none",
    conda:
        "../../environment.yml"
    params:
        config=settings(),
        entry=lambda w: study_names()[w.study],
        code=lambda w: recipes.study_digest(CONFIG, study_names()[w.study]),
    script:
        "../scripts/study.py"
