"""One of the paper's tables, from the metrics of its runs."""

from pathlib import Path

from nslimb.experiment.jobs_log import logged

with logged(snakemake.log[0]):
    from nslimb.experiment import tables
    from nslimb.experiment.cells import table_runs
    from nslimb.experiment.config import read_config
    from nslimb.experiment.gather import gather
    from nslimb.experiment.names import TABLE_CELLS
    from nslimb.files import write_text

    config, name = read_config(snakemake.params.config), snakemake.wildcards.table
    benchmark = config.benchmarks[TABLE_CELLS[name][0]]
    reference = tables.read_reference(Path(snakemake.input.reference))
    frame = tables.tidy(name, gather(config, table_runs(config, name)), config.protocol, benchmark.source, reference)
    how = f"{benchmark.source}, {config.training.epochs} epochs, {len(config.seeds)} seed(s)"
    caption = f"{name}: accuracy (%), protocol {config.protocol}, {how}"
    tables.write_csv(Path(snakemake.output.csv), frame)
    write_text(Path(snakemake.output.md), tables.markdown(tables.laid_out(frame), caption))
    write_text(Path(snakemake.output.tex), tables.latex(tables.laid_out(frame), caption))
