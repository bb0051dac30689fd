"""Things by name: those of the package, imported when first asked for, and one's own by ``file.py:object``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar

from nslimb.errors import InvalidInput

T = TypeVar("T")
HOW = "path/to/file.py:object or module:object"


class Registry(Generic[T]):
    """Objects by name, one line a name: ``Registry("method", {"sl": "nslimb.learning.methods.sl:Sl"})``.

    Nothing is imported before it is asked for. Whoever uses a registry also takes ``path/to/file.py:object``, relative
    to ``base`` (the working directory if not given), and ``module:object``.
    """

    def __init__(self, kind: str, entries: Mapping[str, str]) -> None:
        self.kind = kind
        self.entries = dict(entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    @property
    def expected(self) -> str:
        """What may be asked for, in words."""
        return f"one of {', '.join(self.entries)}, or your own as {HOW}"

    def get(self, name: str, base: Path | None = None) -> T:
        """The object of that name, or the user's own."""
        found: T = load_object(self.kind, self.reference(name), base)
        return found

    def reference(self, name: str) -> str:
        """``module:object`` or ``file.py:object`` of that name; a name that is neither known nor one of these fails."""
        if name in self.entries:
            return self.entries[name]
        if not isinstance(name, str) or ":" not in name:
            raise InvalidInput(self.kind, self.expected, repr(name))
        return name


def load_object(kind: str, reference: str, base: Path | None = None) -> Any:
    """The object that ``module:object`` or ``path/to/file.py:object`` names; what goes wrong is told as of ``kind``."""
    where, attribute = split_reference(kind, reference)
    file = file_of(reference, base)
    with importable(Path.cwd() if base is None and file is None else file.parent if file else Path(base or ".")):
        module = _module(kind, where, file)
    found = getattr(module, attribute, None)
    if found is None:
        raise InvalidInput(kind, f"an object of {where} ({_own_names(module)})", f"{attribute!r}, which is not there")
    return found


def split_reference(kind: str, reference: str) -> tuple[str, str]:
    """The two halves of ``where:object``."""
    where, _, attribute = reference.rpartition(":")
    if not where or not attribute:
        raise InvalidInput(kind, HOW, repr(reference))
    return where, attribute


def file_of(reference: str, base: Path | None = None) -> Path | None:
    """The file that ``path/to/file.py:object`` names, None for a module."""
    where = reference.rpartition(":")[0]
    if not where.endswith(".py"):
        return None
    return (Path.cwd() if base is None else Path(base)).joinpath(where).resolve()


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Modules of ``folder`` come first while the block runs."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))


_LOADED: dict[tuple[Path, int], ModuleType] = {}


def _module(kind: str, where: str, file: Path | None) -> ModuleType:
    """The module, or one error with whatever went wrong in the user's own code."""
    try:
        return importlib.import_module(where) if file is None else _from_file(kind, file)
    except InvalidInput:
        raise
    except ModuleNotFoundError as error:
        if file is None and error.name is not None and (where == error.name or where.startswith(f"{error.name}.")):
            expected = "a module in the current folder or an installed one"
            raise InvalidInput(kind, expected, f"{where!r}, which is neither") from error
        raise InvalidInput(kind, f"{where} to be importable", f"{type(error).__name__}: {error}") from error
    except (Exception, SystemExit) as error:
        raise InvalidInput(kind, f"{where} to be importable", f"{type(error).__name__}: {error}") from error


def _from_file(kind: str, file: Path) -> ModuleType:
    if not file.is_file():
        raise InvalidInput(kind, "a Python file", f"{str(file)!r}, which is not there")
    key = (file, file.stat().st_mtime_ns)
    if key not in _LOADED:
        spec = importlib.util.spec_from_file_location(file.stem, file)
        if spec is None or spec.loader is None:
            raise InvalidInput(kind, "a Python file", repr(str(file)))
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look themselves up there
        spec.loader.exec_module(module)
        _LOADED[key] = module
    return _LOADED[key]


def _own_names(module: ModuleType) -> str:
    """The functions and classes that a module defines itself."""
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__)
    return ", ".join(name for name in own if not name.startswith("_")) or "it has none"
