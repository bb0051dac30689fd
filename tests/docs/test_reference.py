"""Public functions are described in one form: parameters, what is returned, and examples that run."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import pytest

PACKAGES = ("sigma", "learning", "marginals", "adjustment", "theory", "diagnosis", "classifier", "data", "metrics")


def public_functions() -> dict[str, Callable[..., Any]]:
    found = {}
    for name in ("nslimb", *(f"nslimb.{package}" for package in PACKAGES)):
        module = importlib.import_module(name)
        for member in module.__all__:
            value = getattr(module, member)
            if inspect.isfunction(value):
                found[f"{value.__module__}.{value.__qualname__}"] = value
    return found


def section(text: str, title: str) -> str:
    """The content of a section of a docstring; empty without one."""
    _, _, rest = text.partition(f"{title}\n{'-' * len(title)}\n")
    lines = rest.splitlines()
    ends = [place for place, line in enumerate(lines) if line and set(line) == {"-"}]
    return "\n".join(lines[: ends[0] - 1] if ends else lines)


@pytest.mark.parametrize("name", sorted(public_functions()))
def test_a_public_function_says_what_it_takes_and_returns(name: str) -> None:
    function = public_functions()[name]
    text = inspect.getdoc(function) or ""
    described = section(text, "Parameters")
    named = {
        word.strip().lstrip("*")
        for line in described.splitlines()
        if line and not line.startswith(" ")
        for word in line.split(":")[0].split(",")
    }
    assert named == set(inspect.signature(function).parameters), name
    assert section(text, "Returns"), name
