"""A sigma from the command line: a built-in one by name, or the user's own as ``module:function``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nslimb.errors import InvalidInput

if TYPE_CHECKING:
    from nslimb import Sigma

BUILT_IN = ("max", "sum", "hwf", "smallest-parent", "counterexample")
_EXPECTED = f"one of {', '.join(BUILT_IN)}, or your own function as module:function or path/to/file.py:function"

SigmaArgument = Annotated[
    str,
    typer.Argument(
        metavar="SIGMA",
        help=f"A built-in sigma ({', '.join(BUILT_IN)}), or your own function of a tuple of labels, as module:function "
        "or path/to/file.py:function (then with --arity and --classes).",
    ),
]
ArityOption = Annotated[
    int | None,
    typer.Option(
        "--arity", "-M", help="Number of hidden labels in a sample (built-in: 2, 3 or 4, as sigma wants, if not given)."
    ),
]
ClassesOption = Annotated[
    int | None, typer.Option("--classes", "-c", help="Number of classes (max and sum: 10 if not given).")
]
LeftToRightOption = Annotated[bool, typer.Option(help="HWF: evaluate without operator precedence.")]


def build_sigma(name: str, arity: int | None, classes: int | None, left_to_right: bool = False) -> Sigma:
    """The sigma that these arguments of a command name, compiled."""
    if ":" in name:
        return _users_own(name, arity, classes)
    from nslimb import sigma

    if name in ("max", "sum"):
        make = sigma.maximum if name == "max" else sigma.total
        return make(3 if arity is None else arity, num_classes=10 if classes is None else classes)
    if name == "hwf":
        made = sigma.formula(3 if arity is None else arity, precedence=not left_to_right)
    elif name == "smallest-parent":
        made = sigma.smallest_parent(arity=2 if arity is None else arity)
    elif name == "counterexample":
        made = sigma.counterexample()
    else:
        raise InvalidInput("SIGMA", _EXPECTED, repr(name))
    return _fitting(made, name, arity, classes)


def _fitting(made: Sigma, name: str, arity: int | None, classes: int | None) -> Sigma:
    """``made``, whose sizes are its own, if the options do not say otherwise."""
    for option, given, own in (("--arity", arity, made.arity), ("--classes", classes, made.num_classes)):
        if given not in (None, own):
            raise InvalidInput(option, f"{own}, the {name}'s own", given)
    return made


def _users_own(name: str, arity: int | None, classes: int | None) -> Sigma:
    from nslimb import Sigma

    where, _, attribute = name.rpartition(":")
    path = Path(where) if where.endswith(".py") else None
    folder = Path.cwd() if path is None else path.resolve().parent
    with _importable(folder):  # while it is called too: functions may import when they run
        module = _module(where, path)
        found: Any = getattr(module, attribute, None)
        if isinstance(found, Sigma):
            return _fitting(found, name, arity, classes)
        if not callable(found):
            given = f"{attribute!r}, which is {'not there' if found is None else f'a {type(found).__name__}'}"
            raise InvalidInput("SIGMA", f"a function of {where} ({_functions(module)})", given)
        for option, value in (("--arity", arity), ("--classes", classes)):
            if value is None:
                raise InvalidInput(option, f"a number, as {name} is a function of your own", "none")
        return Sigma.from_function(found, num_classes=classes, arity=arity)  # type: ignore[arg-type]


def _module(where: str, path: Path | None) -> ModuleType:
    """The user's module; whatever goes wrong in its own code is told with its error."""
    try:
        if path is None:
            return importlib.import_module(where)
        if not path.is_file():
            raise InvalidInput("SIGMA", "a Python file", f"{str(path)!r}, which is not there")
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise InvalidInput("SIGMA", "a Python file", repr(str(path)))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module
    except InvalidInput:
        raise
    except ModuleNotFoundError as error:
        if path is None and error.name is not None and (where == error.name or where.startswith(f"{error.name}.")):
            expected = "a module in the current folder or an installed one"
            raise InvalidInput("SIGMA", expected, f"{where!r}, which is neither") from error
        raise InvalidInput("SIGMA", f"{where} to be importable", f"{type(error).__name__}: {error}") from error
    except (Exception, SystemExit) as error:
        raise InvalidInput("SIGMA", f"{where} to be importable", f"{type(error).__name__}: {error}") from error


def _functions(module: ModuleType) -> str:
    """The functions that a module defines itself."""
    own = (name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__)
    return ", ".join(name for name in own if not name.startswith("_")) or "it has none"


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Modules of ``folder`` come first while the block runs."""
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
