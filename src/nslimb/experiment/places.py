"""Where the workflow's own files are: beside the package in a checkout, inside it in an installed wheel."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parent.parent
_CHECKOUT, _INSTALLED = PACKAGE.parent.parent, PACKAGE / "workflow_files"
ROOT = _CHECKOUT if (_CHECKOUT / "Snakefile").is_file() else _INSTALLED
REFERENCE = ROOT / "reference"
CONFIGURATIONS = ROOT / "config"
SCRIPTS = ROOT / "workflow" / "scripts"
