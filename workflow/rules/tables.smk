# Tables: ours beside the paper's.


rule table:
    """One of the paper's tables as tidy CSV, Markdown and LaTeX."""
    input:
        lambda w: [
            f"{RESULTS}/{grid.run_path(*run)}/metrics.json"
            for run in grid.table_runs(CONFIG, w.table)
        ],
        reference="reference/tables.csv",
    output:
        csv=report(
            f"{RESULTS}/tables/{{table}}.csv",
            category="Tables",
            caption="../report/table.rst",
        ),
        md=f"{RESULTS}/tables/{{table}}.md",
        tex=f"{RESULTS}/tables/{{table}}.tex",
    log:
        f"{LOGS}/tables/{{table}}.log",
    benchmark:
        f"{BENCHMARKS}/tables/{{table}}.tsv"
    wildcard_constraints:
        table="|".join(TABLE_CELLS),
    conda:
        "../../environment.yml"
    params:
        config=settings(),
        code=code_digest("tables"),
    script:
        "../scripts/table.py"


rule about:
    """The configuration as it was understood, and the versions of what ran it."""
    output:
        report(
            f"{RESULTS}/about.yaml",
            category="Configuration",
            caption="../report/about.rst",
        ),
    log:
        f"{LOGS}/about.log",
    benchmark:
        f"{BENCHMARKS}/about.tsv"
    conda:
        "../../environment.yml"
    params:
        config=settings(),
        versions=versions(),
    script:
        "../scripts/about.py"


rule runtime_table:
    """Minutes an epoch, with the paper's settings and with ours, beside the paper's."""
    input:
        [f"{RESULTS}/{folder}/timing.json" for folder in grid.timings(CONFIG)],
        reference="reference/runtimes.csv",
    output:
        csv=report(
            f"{RESULTS}/tables/runtime.csv",
            category="Tables",
            caption="../report/table.rst",
        ),
        md=f"{RESULTS}/tables/runtime.md",
        tex=f"{RESULTS}/tables/runtime.tex",
    log:
        f"{LOGS}/tables/runtime.log",
    benchmark:
        f"{BENCHMARKS}/tables/runtime.tsv"
    conda:
        "../../environment.yml"
    params:
        config=settings(),
        code=code_digest("tables"),
    script:
        "../scripts/table.py"


rule comparison:
    """Each of the paper's printed entries beside ours."""
    input:
        tables=[
            f"{RESULTS}/tables/{name}.csv"
            for name in grid.tables(CONFIG)
            if name != "runtime"
        ],
        reference="reference/tables.csv",
    output:
        csv=report(
            f"{RESULTS}/tables/comparison.csv",
            category="Tables",
            caption="../report/comparison.rst",
        ),
    log:
        f"{LOGS}/tables/comparison.log",
    benchmark:
        f"{BENCHMARKS}/tables/comparison.tsv"
    conda:
        "../../environment.yml"
    params:
        config=settings(),
        code=code_digest("tables"),
    script:
        "../scripts/table.py"
