"""In the reference, what stands behind a field as a comment is its description."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import griffe


@cache
def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


class FieldComments(griffe.Extension):
    """``ratios: Tensor  # [c]`` is documented as ``[c]``."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        if attr.docstring is not None or not isinstance(attr.filepath, Path) or attr.lineno is None:
            return
        _, found, comment = _lines(attr.filepath)[attr.lineno - 1].partition("  # ")
        if found and not comment.startswith(("type:", "noqa")):
            attr.docstring = griffe.Docstring(comment, parent=attr)
