"""The methods of a benchmark: names, or variants under names of their own with settings that differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from nslimb.errors import InvalidInput
from nslimb.learning.methods import METHODS, Method, method_class
from nslimb.learning.settings import Settings

Augment = Literal["none", "affine", "flip-crop"]


class Block(BaseModel):
    """A part of the configuration: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Training(Block):
    """How a network is trained; the defaults are those of ``nslimb.learning.Settings``, which are the paper's."""

    epochs: int = Field(default=Settings.epochs, ge=1)
    batch_size: int = Field(default=Settings.batch_size, ge=1)
    learning_rate: float = Field(default=Settings.learning_rate, gt=0)
    augment: Augment | None = None  # None: none, but for CIFAR-10 flip-crop
    mixed_precision: bool = Settings.mixed_precision
    compile: bool = Settings.compile
    device: str = Settings.device
    threads: int = Field(default=1, ge=1)
    look_every: int = Field(default=1, ge=1)

    def learned(self) -> dict[str, Any]:
        """Those that the weights depend on: not where a job runs, nor how often it looks at the test set."""
        return self.model_dump(exclude=set(_OF_THE_JOB))


_OF_THE_JOB = ("device", "threads", "look_every")
OF_A_BENCHMARK = tuple(name for name in Training.model_fields if name not in ("device", "threads"))
_LEARNED = tuple(name for name in Training.model_fields if name not in _OF_THE_JOB)


class Variant(Block):
    """A method with settings, under the name that is also its path."""

    name: str = Field(pattern=r"^[A-Za-z0-9_.-]+$")
    method: str
    settings: dict[str, Any] = Field(default_factory=dict)
    training: dict[str, Any] = Field(default_factory=dict)
    start_from: str | None = None


def read_variants(entries: Any) -> Any:
    """The entries of ``methods:``: ``sl``, ``file.py:Class`` or ``{name: {method: sl, gamma: 0.5, epochs: 60}}``."""
    if not isinstance(entries, (list, tuple)):
        return entries
    variants = [_variant(entry) for entry in entries]
    names = [entry["name"] for entry in variants]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"expected distinct names, got {name} twice")
    for entry in variants:
        if entry["method"] in names and entry["name"] != entry["method"] and entry["method"] not in METHODS:
            raise ValueError(
                f"{entry['name']}: expected a method, got {entry['method']}, which is itself a variant; "
                "name its method, and repeat its settings"
            )
    return variants


def _variant(entry: Any) -> dict[str, Any]:
    if isinstance(entry, Variant):
        return entry.model_dump()
    if isinstance(entry, str):
        return {"name": entry.rpartition(":")[2], "method": entry}
    if not isinstance(entry, Mapping) or not entry:
        raise ValueError(f"expected a method, or {{name: {{method: ..., setting: value}}}}, got {entry!r}")
    if "name" in entry and "method" in entry:  # as this configuration was written out before
        return dict(entry)
    if len(entry) != 1:
        raise ValueError(f"expected one name with its settings, got {', '.join(map(str, entry))}")
    name, given = next(iter(entry.items()))
    if not isinstance(given, Mapping) or "method" not in given:
        raise ValueError(f"{name}: expected a mapping with a key method, got {given!r}")
    own = {key: value for key, value in given.items() if key not in ("method", "start_from", *_LEARNED)}
    training = {key: value for key, value in given.items() if key in _LEARNED}
    return {
        "name": str(name),
        "method": given["method"],
        "settings": own,
        "training": training,
        "start_from": given.get("start_from"),
    }


def settings_of_method(
    variant: Variant, protocol: Mapping[str, Any], grid: Mapping[str, Any], base: Path | None
) -> dict[str, Any]:
    """All settings of a variant's method: of the protocol those that it knows, then the grid's, then its own."""
    made = method_class(variant.method, base)
    known = {field.name for field in fields(made.Settings)}
    given = {key: value for key, value in protocol.items() if key in known}
    return checked_settings(made, {**given, **grid, **variant.settings}, variant.name)


def checked_settings(made: type[Method], settings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Settings of a method as its own typed settings read them; unknown ones and wrong types are refused."""
    known = [field.name for field in fields(made.Settings)]
    for key in settings:
        if key not in known:
            training = ", ".join(_LEARNED)
            expected = f"settings of the method ({', '.join(known) or 'none'}), of training ({training}) or start_from"
            raise InvalidInput(f"methods.{name}", expected, repr(key))
    try:
        read = TypeAdapter(made.Settings).validate_python(dict(settings))
    except ValidationError as error:
        first = error.errors()[0]
        refused = first.get("ctx", {}).get("error")
        if isinstance(refused, InvalidInput):  # by the settings themselves
            raise InvalidInput(f"methods.{name}.{refused.argument}", refused.expected, refused.given) from None
        place = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"methods.{name}.{place}", first["msg"], repr(first["input"])) from None
    return {key: getattr(read, key) for key in known}
