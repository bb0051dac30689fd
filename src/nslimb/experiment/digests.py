"""What reruns when: digests of the code that a step runs through, derived from its imports.

The code of a step is the import closure of its entry points: the workflow's script and the modules that it names, and
all that these import in turn, inside functions too. Docstrings, comments and blank lines do not count, nor do the lines
of a registry (``NAME = Registry(...)``): what a run names in one is an entry point of that run. Nor do the names that a
package offers lazily (``__all__``, ``_HOME`` and imports for type checkers): they count where they are asked for. A
module that says ``OPTIONAL = True`` is left out where it is imported inside a function.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

from nslimb.errors import DataError
from nslimb.experiment import places
from nslimb.files import digest
from nslimb.registry import Registry


def code_digest(entries: Iterable[Path]) -> str:
    """A short digest of the files that the entry points run through, and only of these."""
    return _code_digest(frozenset(entries))


@lru_cache(maxsize=4096)
def _code_digest(entries: frozenset[Path]) -> str:
    files = sorted(closure(entries), key=_name)
    return digest(*(f"{_name(file)}\n{essence(file, _date(file))}\n".encode() for file in files))[:16]


def module_file(module: str) -> Path:
    """The file of one of the package's modules."""
    path = places.PACKAGE.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def entry_file(registry: Registry[Any], name: str, base: Path | None = None) -> Path | None:
    """The file that a registry's entry, or the user's own object, comes from; None for an installed module."""
    home = registry.module(name, base)
    if isinstance(home, Path):
        return home
    if home.partition(".")[0] == "nslimb":
        return module_file(home)
    beside = (base or Path.cwd()).joinpath(*home.split(".")).with_suffix(".py")
    return beside if beside.is_file() else None


def closure(entries: frozenset[Path]) -> frozenset[Path]:
    """All files that the entry points import, directly or not, and they themselves."""
    found: set[Path] = set()
    waiting = list(entries)
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += imported(file, _date(file))
    return frozenset(found)


def _date(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError as error:
        raise DataError(f"{file}: cannot be read, and a job depends on it ({error})") from error


def _name(file: Path) -> str:
    """What a file is called in a digest, wherever the package and the user's folder are."""
    for root in (places.SCRIPTS, places.PACKAGE):
        if file.is_relative_to(root):
            return str(file.relative_to(root))
    return file.name


@lru_cache(maxsize=4096)
def imported(file: Path, _date: int) -> tuple[Path, ...]:
    """The files of the package, or beside the user's own file, that a file imports."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names: list[tuple[str, bool]] = []
    _walk(tree, False, names)
    found = []
    for name, inside in names:
        for path in _files_of(name, file):
            if not (inside and _is_optional(path, path.stat().st_mtime_ns)):
                found.append(path)
    return tuple(dict.fromkeys(found))


def _walk(node: ast.AST, inside: bool, names: list[tuple[str, bool]]) -> None:
    """Collect the dotted names that are imported below a node, and whether inside a function; types do not count."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and _is_type_checking(child):
            continue
        if isinstance(child, ast.Import):
            names += [(alias.name, inside) for alias in child.names]
        elif isinstance(child, ast.ImportFrom) and child.module:
            # `from a import b`: b may be a module of its own.
            names += [(f"{child.module}.{alias.name}", inside) for alias in child.names]
        elif isinstance(child, ast.Attribute) and (dotted := _dotted(child)).startswith(f"{places.PACKAGE.name}."):
            names.append((dotted, inside))  # `import nslimb`, then `nslimb.select`
        else:
            _walk(child, inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)), names)


def _dotted(node: ast.expr) -> str:
    """``a.b.c`` as text; empty where it does not begin with a name."""
    if isinstance(node, ast.Name):
        return node.id
    before = _dotted(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if before and isinstance(node, ast.Attribute) else ""


def _files_of(name: str, importer: Path) -> list[Path]:
    """The files that importing a dotted name executes: the packages above it, and the module itself."""
    parts = name.split(".")
    root = places.PACKAGE.parent if parts[0] == places.PACKAGE.name else importer.parent
    found = []
    for size in range(1, len(parts) + 1):
        path = root.joinpath(*parts[:size])
        if path.is_dir():
            if (path / "__init__.py").is_file():
                found.append(path / "__init__.py")
        elif path.with_suffix(".py").is_file():
            found.append(path.with_suffix(".py"))
            break
        else:
            home = _offered(found[-1], _date(found[-1])).get(parts[size - 1]) if found else None
            return found if home is None else found + _files_of(home, importer)
    return found


@lru_cache(maxsize=4096)
def _offered(file: Path, _date: int) -> dict[str, str]:
    """The names that a package imports on first use, with their modules: those that it imports for type checkers."""
    blocks = [node for node in ast.parse(file.read_text(encoding="utf-8")).body if isinstance(node, ast.If)]
    imports = [part for block in blocks if _is_type_checking(block) for part in block.body]
    return {
        alias.name: part.module
        for part in imports
        if isinstance(part, ast.ImportFrom) and part.module
        for alias in part.names
    }


@lru_cache(maxsize=4096)
def _is_optional(file: Path, _date: int) -> bool:
    return "\nOPTIONAL = True\n" in file.read_text(encoding="utf-8")


@lru_cache(maxsize=4096)
def essence(file: Path, _date: int) -> str:
    """A file's text without comments, docstrings, blank lines and registries; the same under every Python."""
    text = file.read_text(encoding="utf-8")
    lines = [line.encode() for line in text.split("\n")]  # the columns of a syntax tree count bytes
    for node in _left_out(ast.parse(text)):
        _blank(lines, (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            before = len(token.line[:column].encode())
            _blank(lines, (row, before), (row, before + len(token.string.encode())))
    return "\n".join(line.decode().rstrip() for line in lines if line.strip())


def _blank(lines: list[bytes], start: tuple[int, int], end: tuple[int, int]) -> None:
    """Overwrite the text from one (line, column) to another by spaces."""
    for row in range(start[0], end[0] + 1):
        line = lines[row - 1]
        first = start[1] if row == start[0] else 0
        last = end[1] if row == end[0] else len(line)
        lines[row - 1] = line[:first] + b" " * (last - first) + line[last:]


def _left_out(tree: ast.Module) -> list[ast.stmt]:
    """Docstrings, registries, and what a package says of its names."""
    found: list[ast.stmt] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                found.append(first)
    return found + [node for node in tree.body if _is_registry(node) or _is_index(node)]


def _is_registry(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "Registry"


def _is_index(node: ast.stmt) -> bool:
    """A list of names that a package offers, or imports for type checkers alone."""
    if isinstance(node, ast.If):
        return _is_type_checking(node)
    names = (
        [target.id for target in node.targets if isinstance(target, ast.Name)] if isinstance(node, ast.Assign) else []
    )
    return bool({"__all__", "_HOME", "__version__"} & set(names))


def _is_type_checking(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" and not node.orelse
