"""Slips on Snakemake's command line that it does not explain itself."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

from nslimb.errors import DataError, InvalidInput

_PLACEHOLDER = re.compile(r"\b(ACCOUNT|CPU_PARTITION|GPU_PARTITION|QUEUE)\b")


def check_profiles(arguments: Sequence[str]) -> None:
    """Refuse a profile in which a placeholder is still to be filled in."""
    for option in ("--workflow-profile", "--profile"):
        for folder in _values(arguments, option):
            file = Path(folder) / "config.yaml"
            if not file.is_file():
                continue
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
                found = _PLACEHOLDER.search(line.partition("#")[0])
                if found:
                    raise DataError(
                        f"{file}, line {number}: {found[0]} stands for a name of your cluster; copy the folder and "
                        "fill it in (docs/clusters.md)"
                    )


def _values(arguments: Sequence[str], option: str) -> list[str]:
    """What was given for an option, as ``--option value`` or ``--option=value``."""
    apart = [value for name, value in itertools.pairwise(arguments) if name == option]
    return apart + [name.partition("=")[2] for name in arguments if name.startswith(f"{option}=")]


def check_configfiles(files: Sequence[Path]) -> None:
    """Refuse a target that Snakemake took for a configuration: ``--configfile`` takes all that follow it."""
    for path in files:
        if path.suffix not in (".yaml", ".yml", ".json") or path.name.endswith(("metrics.json", "tracked.json")):
            raise InvalidInput(
                "--configfile", "YAML files, then -- and the targets (snakemake --configfile F -- TARGET)", str(path)
            )
