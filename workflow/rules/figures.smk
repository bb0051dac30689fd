# Figures of the whole grid.


rule figures:
    """Every figure in two formats: one job, since all of them read the whole grid."""
    input:
        run_files(names.METRICS),
    output:
        **{
            f"{name}_png": report(
                f"{RESULTS}/{paths.figure_file(name, 'png')}",
                category="Figures",
                caption=figure_caption(name),
                labels={"figure": name.replace("_", " ")},
            )
            for name in FIGURE_NAMES
        },
        **{
            f"{name}_svg": f"{RESULTS}/{paths.figure_file(name, 'svg')}"
            for name in FIGURE_NAMES
        },
    log:
        f"{LOGS}/figures.log",
    benchmark:
        f"{BENCHMARKS}/figures.tsv"
    conda:
        "../../environment.yml"
    params:
        config=settings(),
        code=recipes.figures_digest(CONFIG),
    script:
        "../scripts/figures.py"
