# Tables: ours beside the paper's.


rule table:
    """One of the paper's tables as tidy CSV, Markdown and LaTeX."""
    input:
        lambda w: files_of(grid.table_runs(CONFIG, w.table), names.METRICS),
    output:
        csv=report(
            f"{RESULTS}/{paths.table_file('{table}', 'csv')}",
            category="Tables",
            caption="../report/table.rst",
        ),
        md=f"{RESULTS}/{paths.table_file('{table}', 'md')}",
        tex=f"{RESULTS}/{paths.table_file('{table}', 'tex')}",
    log:
        f"{LOGS}/tables/{{table}}.log",
    benchmark:
        f"{BENCHMARKS}/tables/{{table}}.tsv"
    wildcard_constraints:
        table="|".join(grid.tables_of(CONFIG)),
    conda:
        "../../environment.yml"
    params:
        config=settings(),
        code=recipes.step_digest("table"),
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
        [
            f"{RESULTS}/{grid.timing_path(*timing)}/{names.TIMING_FILE}"
            for timing in grid.timings(CONFIG)
        ],
    output:
        csv=report(
            f"{RESULTS}/{paths.table_file('runtime', 'csv')}",
            category="Tables",
            caption="../report/table.rst",
        ),
        md=f"{RESULTS}/{paths.table_file('runtime', 'md')}",
        tex=f"{RESULTS}/{paths.table_file('runtime', 'tex')}",
    log:
        f"{LOGS}/tables/runtime.log",
    benchmark:
        f"{BENCHMARKS}/tables/runtime.tsv"
    conda:
        "../../environment.yml"
    params:
        config=settings(),
        code=recipes.step_digest("table"),
    script:
        "../scripts/table.py"


rule comparison:
    """Each of the paper's printed entries beside ours."""
    input:
        tables=[
            f"{RESULTS}/{paths.table_file(name, 'csv')}"
            for name in grid.table_names(CONFIG)
            if name != "runtime"
        ],
    output:
        csv=report(
            f"{RESULTS}/{paths.table_file('comparison', 'csv')}",
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
        code=recipes.step_digest("table"),
    script:
        "../scripts/table.py"


rule front:
    """The first page of the report: all tables as HTML, beside the paper's numbers."""
    input:
        tables=[
            f"{RESULTS}/{paths.table_file(name, 'csv')}"
            for name in grid.table_names(CONFIG)
            if name != "runtime"
        ],
    output:
        FRONT,
    log:
        f"{LOGS}/tables/front.log",
    benchmark:
        f"{BENCHMARKS}/tables/front.tsv"
    conda:
        "../../environment.yml"
    params:
        config=settings(),
        code=recipes.step_digest("table"),
    script:
        "../scripts/table.py"


rule publish:
    """Small CSV files of all finished runs into docs/results, which the page of results is drawn from.

    Grids that the page is not about (the ablation, a grid of one's own) get one file, of their own name.
    """
    log:
        f"{LOGS}/publish.log",
    conda:
        "../../environment.yml"
    params:
        config=WHOLE.model_dump(mode="json"),
        folder=str(places.ROOT / "docs" / "results"),
    script:
        "../scripts/publish.py"
