"""Which runs are finished: their metrics are of today's settings and code, or were put back from an archive.

A run that was restored is data, although its model is gone and its code may be an older one. A mark beside
``metrics.json`` names the very file that was restored; once the workflow makes that anew, the mark says nothing more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nslimb.errors import DataError
from nslimb.experiment import names
from nslimb.experiment.cells import Cell, block_of, run_path
from nslimb.experiment.config import Config
from nslimb.experiment.jobs.recipe import digest_of
from nslimb.experiment.recipes import adjust_recipe
from nslimb.experiment.runs.base import read_schema
from nslimb.experiment.runs.metrics import Metrics
from nslimb.experiment.runs.run import RunFile
from nslimb.files import digest, read_json, write_json

MARK = "restored.json"


def finished_metrics(config: Config, cell: Cell, method: str, *, any_code: bool = False) -> Metrics | None:
    """The metrics of a run; None where there are none, or of other settings, or of other code and not restored."""
    folder = config.results / run_path(cell, method)
    if not (folder / names.METRICS).exists():
        return None
    found = read_schema(folder / names.METRICS, Metrics)
    recipe = adjust_recipe(config, cell, method, _unnamed_source(config, cell, folder))
    code = recipe.pop("code")
    fresh = found.settings == digest_of(recipe) and (any_code or found.code == code or is_restored(folder))
    return _without_wrong_ceiling(found, block_of(config, cell.benchmark).noise) if fresh else None


def _without_wrong_ceiling(found: Metrics, noise: float) -> Metrics:
    """Metrics without a ceiling that took wrong weak labels for evidence, as those of before did."""
    wrong = noise > 0 and found.ceiling is not None and found.ceiling.samples is None
    return found.model_copy(update={"ceiling": None}) if wrong else found


def _unnamed_source(config: Config, cell: Cell, folder: Path) -> dict[str, Any] | None:
    """The real HWF symbols that a run was trained on, where the configuration does not say which: they are data too."""
    run = folder / names.RUN_FILE
    if block_of(config, cell.benchmark).source != "hwf" or config.hwf_path is not None or not run.exists():
        return None
    recorded = read_schema(run, RunFile).recipe["source"]
    return {"spec": "hwf", "digest": recorded.get("digest"), "own_split": config.hwf_own_split}


def mark_restored(folder: Path) -> None:
    """Mark a run's metrics as restored."""
    write_json(folder / MARK, {"metrics": digest((folder / names.METRICS).read_bytes())})


def is_restored(folder: Path) -> bool:
    """Whether the metrics of a run are those that were restored."""
    mark, metrics = folder / MARK, folder / names.METRICS
    if not mark.is_file() or not metrics.is_file():
        return False
    try:
        return bool(read_json(mark) == {"metrics": digest(metrics.read_bytes())})
    except DataError:
        return False


def is_settled(config: Config, cell: Cell, method: str) -> bool:
    """Whether a run was restored and needs none of its inputs: it has no model here, and no unfinished run wants it.

    So samples that are drawn again for another run of its cell do not train it again.
    """
    folder = config.results / run_path(cell, method)
    if (folder / names.MODEL).exists() or not is_restored(folder):
        return False
    if finished_metrics(config, cell, method) is None:
        return False
    return not any(
        config.start_of(cell.benchmark, other) == method
        and not is_settled(config, cell, other.name)
        and not (config.results / run_path(cell, other.name) / names.MODEL).exists()
        for other in block_of(config, cell.benchmark).methods
    )
