"""Details of the API reference: fields described by their comments, and the types of parameters that share a line."""

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


class OwnTypes(griffe.Extension):
    """Parameters that share a description keep types and defaults of their own; the parser gives all the first's."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        _give_own_types(pkg)


def _give_own_types(documented: griffe.Object) -> None:
    for member in documented.members.values():
        if member.is_alias:
            continue
        if isinstance(member, griffe.Function | griffe.Class) and member.docstring is not None:
            for section in member.docstring.parsed:
                if section.kind is griffe.DocstringSectionKind.parameters:
                    for parameter in section.value:
                        if parameter.name in member.parameters:
                            known = member.parameters[parameter.name]
                            parameter.annotation, parameter.value = known.annotation, known.default
        if isinstance(member, griffe.Object):
            _give_own_types(member)
