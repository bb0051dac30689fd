"""What all schemas share: a version, and one way to write and to read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from nslimb.errors import BrokenFile
from nslimb.files import read_sealed, write_sealed, write_text

VERSION = 1
Ratios = list[float] | list[list[float]]


class Schema(BaseModel):
    """A file's content: unknown keys are refused, and the version is this nslimb's."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    version: int = VERSION


T = TypeVar("T", bound=Schema)


def write_schema(path: Path, content: Schema) -> None:
    """Write JSON with a digest of its own, or YAML, by the file's ending; whole or not at all."""
    plain = content.model_dump(mode="json")
    if path.suffix == ".json":
        write_sealed(path, plain)
    else:
        write_text(path, yaml.safe_dump(plain, sort_keys=False, allow_unicode=True))


def read_schema(path: Path, kind: type[T]) -> T:
    """Read what ``write_schema`` wrote; a broken file, or one of another version, is an error that says what to do."""
    content = read_sealed(path) if path.suffix == ".json" else _read_yaml(path)
    found = content.get("version") if isinstance(content, dict) else None
    if found != VERSION:
        reason = f"is of version {found or 'none'}, and this nslimb reads {VERSION}"
        raise BrokenFile(path, reason, "let the workflow make it anew, or read it with the nslimb that wrote it")
    try:
        return kind(**content)
    except ValidationError as error:
        first = error.errors()[0]
        raise BrokenFile(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error


def _read_yaml(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BrokenFile(path, f"cannot be read ({str(error).splitlines()[0]})") from error
