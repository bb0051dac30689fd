"""``python -m nslimb.experiment.targets CONFIG BENCHMARK M RHO SEED``: the files of one cell, for Snakemake."""

from __future__ import annotations

import sys
from pathlib import Path

from nslimb.errors import InvalidInput, NslimbError
from nslimb.experiment import names
from nslimb.experiment.cells import Cell, block_of, run_path
from nslimb.experiment.config import Config, read_file


def cell_targets(config: Config, cell: Cell) -> list[str]:
    """metrics.json of every method of a cell; a cell that is not in the grid is refused."""
    block = block_of(config, cell.benchmark)
    for name, value, known in (
        ("M", cell.M, block.M),
        ("rho", cell.rho, block.rho),
        ("seed", cell.seed, config.seeds_of(cell.benchmark)),
    ):
        if value not in known:
            raise InvalidInput(name, f"one of the configuration's: {', '.join(known)}", repr(value))
    return [str(config.results / run_path(cell, variant.name) / names.METRICS) for variant in block.methods]


def main(arguments: list[str]) -> None:
    try:
        if len(arguments) != 5:
            raise InvalidInput("cell", "BENCHMARK, M, RHO and SEED", " ".join(arguments[1:]) or "nothing")
        print(" ".join(cell_targets(read_file(Path(arguments[0])), Cell(*arguments[1:]))))
    except (NslimbError, OSError) as error:
        sys.exit(f"nslimb: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
