"""Things found by name: those of the package, and the user's own as ``path/to/file.py:object`` or ``module:object``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, Generic, TypeVar

from nslimb.errors import InvalidInput

T = TypeVar("T")

OWN = "your own as path/to/file.py:object or module:object"

# The user's files, each with the time of the edit that was read.
_files: dict[Path, tuple[int, ModuleType]] = {}
# Modules that the user's code imported from a folder of its own, by name: another folder may use the same names.
_neighbours: dict[Path, dict[str, ModuleType]] = {}


class Registry(Generic[T]):
    """Objects by name, imported when first asked for: ``{"carot": "nslimb.adjustment.carot:Carot"}``.

    Examples
    --------
    >>> curves = Registry("curve", {"sine": "math:sin", "root": "math:sqrt"})
    >>> curves.names, "sine" in curves, curves.get("root")(9.0)
    (('sine', 'root'), True, 3.0)
    """

    def __init__(self, kind: str, entries: Mapping[str, str]) -> None:
        self.kind = kind
        self._entries = dict(entries)

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    @property
    def names(self) -> tuple[str, ...]:
        """The registered names, in their order."""
        return tuple(self._entries)

    def module(self, name: str, base: Path | None = None) -> str | Path:
        """The dotted module, or the file, that the object comes from; nothing is imported."""
        if name in self._entries:
            return self._entries[name].partition(":")[0]
        self._check(name)
        return _home(self.kind, name, base)[0]

    def get(self, name: str, base: Path | None = None) -> T:
        """The object of a registered name, or the user's own; relative to ``base``, else to the working directory."""
        if name in self._entries:
            where, _, attribute = self._entries[name].partition(":")
            found: T = getattr(importlib.import_module(where), attribute)
            return found
        self._check(name)
        own: T = load_object(self.kind, name, base)
        return own

    def _check(self, name: object) -> None:
        if not isinstance(name, str) or ":" not in name:
            known = f"one of {', '.join(self._entries)}, or " if self._entries else ""
            raise InvalidInput(self.kind, f"{known}{OWN}", repr(name))


def load_object(kind: str, text: str, base: Path | None = None) -> Any:
    """The user's own object, ``path/to/file.py:object`` or ``module:object``; ``kind`` is what messages call it.

    Files and modules are looked for from ``base`` (the working directory if not given), and their own imports from
    the folder they are in. A file is run once a process, and again when it has been edited.
    """
    home, attribute = _home(kind, text, base)
    where = text.rpartition(":")[0]
    module = _file(kind, where, home) if isinstance(home, Path) else _module(kind, where, base)
    if not hasattr(module, attribute):
        expected = f"an object of {where} ({', '.join(_public(module)) or 'it has none'})"
        raise InvalidInput(kind, expected, f"{attribute!r}, which is not there")
    return getattr(module, attribute)


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Modules of ``folder`` come first while the block runs, and none that another user's folder brought is seen."""
    folder = folder.resolve()
    shared = str(folder) in sys.path  # then its modules are everybody's
    own = _neighbours.setdefault(folder, {})
    hidden = [name for other, brought in _neighbours.items() if other != folder for name in brought]
    kept = {name: sys.modules.pop(name) for name in hidden if name in sys.modules}
    before = set(sys.modules)
    sys.modules.update(own)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        if not shared:
            own.update({name: sys.modules[name] for name in set(sys.modules) - before if _lives_in(folder, name)})
        sys.modules.update({name: module for name, module in kept.items() if name not in sys.modules})


def _home(kind: str, text: str, base: Path | None) -> tuple[str | Path, str]:
    """The file or the dotted module of ``where:object``, and the name of the object."""
    where, _, attribute = text.rpartition(":")
    if not where or not attribute:
        raise InvalidInput(kind, OWN, repr(text))
    if where.endswith(".py"):
        path = _folder(base) / where
        if not path.is_file():
            raise InvalidInput(kind, "a Python file", f"{where!r}, which is not there (seen from {_folder(base)})")
        return path.resolve(), attribute
    beside = _folder(base) / f"{where}.py"
    return (beside.resolve() if beside.is_file() else where), attribute


def _folder(base: Path | None) -> Path:
    return Path.cwd() if base is None else base


def _file(kind: str, where: str, path: Path) -> ModuleType:
    """The module of a file, under a name that no other module has: a user may call hers ``types.py``."""
    edited = path.stat().st_mtime_ns
    if path in _files and _files[path][0] == edited:
        return _files[path][1]
    name = f"{path.stem}_{zlib.crc32(bytes(path)):08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidInput(kind, "a Python file", repr(str(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look themselves up there
    try:
        with importable(path.parent):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise InvalidInput(kind, f"{where} to be importable", _told(error, path)) from error
    _files[path] = edited, module
    return module


def _module(kind: str, where: str, base: Path | None) -> ModuleType:
    try:
        with importable(_folder(base)):
            return importlib.import_module(where)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and (where == missing or where.startswith(f"{missing}.")):
            folder = "the current folder" if base is None else base
            expected = f"a module in {folder} or an installed one"
            raise InvalidInput(kind, expected, f"{where!r}, which is neither") from error
        raise InvalidInput(kind, f"{where} to be importable", _told(error, None)) from error


def _told(error: BaseException, path: Path | None) -> str:
    """An error of the user's code, with the line of her file that led to it."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return f"{type(error).__name__}: {error}" + (f" (line {lines[-1]})" if lines else "")


def _public(module: ModuleType) -> list[str]:
    """What a module has of its own: values, and the functions and classes that it defines."""

    def own(value: Any) -> bool:
        if isinstance(value, (type, FunctionType)):
            return value.__module__ == module.__name__
        return not isinstance(value, ModuleType) and type(value).__module__ != "__future__"

    return [name for name, value in vars(module).items() if not name.startswith("_") and own(value)]


def _lives_in(folder: Path, name: str) -> bool:
    """Whether a module was found in ``folder`` itself, not merely somewhere below it, as in ``folder/.venv``."""
    path = folder.joinpath(*name.split("."))
    return getattr(sys.modules[name], "__file__", None) in (f"{path}.py", str(path / "__init__.py"))
