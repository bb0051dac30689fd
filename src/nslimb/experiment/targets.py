"""``python -m nslimb.experiment.targets CONFIG BENCHMARK M RHO SEED``: one cell's target for Snakemake.

With ``result`` before CONFIG, once the cell is done: its result as a table, beside the paper's numbers.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from nslimb.errors import InvalidInput, NslimbError
from nslimb.experiment import names, paths
from nslimb.experiment.cells import Cell, block_of
from nslimb.experiment.config import Config, read_file


def cell_target(config: Config, cell: Cell) -> str:
    """The mark that every method of a cell is trained, measured and mirrored.

    The benchmark is one of the configuration's; M, rho and the seed may be others than it has, as in any target.
    """
    block = block_of(config, cell.benchmark)
    for name, value in (("M", cell.M), ("rho", cell.rho), ("seed", cell.seed)):
        if not re.fullmatch(paths.CONSTRAINTS[name], value):
            raise InvalidInput(name, "a number", repr(value))
    refused = block.problem(cell.benchmark).benchmark(config.base).arities(int(cell.M))
    if refused:
        raise InvalidInput("M", refused, cell.M)
    if float(cell.rho) != 0 and float(cell.rho) < 1:
        raise InvalidInput("rho", "0 (no long tail) or a number of at least 1", cell.rho)
    return str(config.results / cell.path / names.TRACKED)


def cell_result(config: Config, cell: Cell) -> str:
    """What each method of a cell reached, beside the paper's numbers; brings the tables up to date."""
    from nslimb.experiment import tables
    from nslimb.experiment.gather import gather
    from nslimb.experiment.needs import what_can_run
    from nslimb.experiment.publish import papers_entries, write_all
    from nslimb.experiment.titles import printed_adjustments, run_title

    block = block_of(config, cell.benchmark)
    runs = gather(config, [(cell, variant.name) for variant in block.methods], any_code=True)
    frame = tables.tidy(
        cell.benchmark,
        runs,
        printed_adjustments(config),
        config.protocol,
        block.source,
        papers_entries(config, cell.benchmark).assign(table=cell.benchmark).drop_duplicates(tables.KEYS),
    )
    shown = frame.assign(
        method=[t if a == "none" else f"{t} + {a}" for t, a in zip(frame["training"], frame["adjustment"], strict=True)]
    ).set_index("method")
    shown = shown[["accuracy_mean", "macro_recall_mean", "worst_class_mean", "paper_mean", "paper_std"]]
    shown.columns = ["accuracy", "macro recall", "worst class", "paper", "paper's std"]
    printed = shown.map(lambda value: "-" if value != value else f"{value:.1f}")
    title = run_title(config, cell, block.methods[0].name).split(f" {runs[0].printed} ")[0]
    caption = (
        f"{title}, seed {cell.seed}, protocol {config.protocol}, {block.source}: per cent of the test images, after "
        "the last epoch; the paper's over its seeds"
    )
    write_all(what_can_run(config)[0])
    return tables.markdown(printed, caption)


def main(arguments: list[str]) -> None:
    """The command."""
    result = arguments[:1] == ["result"]
    arguments = arguments[1:] if result else arguments
    try:
        if len(arguments) != 5:
            raise InvalidInput("cell", "CONFIG, BENCHMARK, M, RHO and SEED", " ".join(arguments) or "nothing")
        config, cell = read_file(Path(arguments[0])), Cell(*arguments[1:])
        print(cell_result(config, cell) if result else cell_target(config, cell))
    except (NslimbError, OSError) as error:
        sys.exit(f"nslimb: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
