"""A sigma by name or from a file of the user's own, for the commands and the grid alike."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nslimb.errors import InvalidInput
from nslimb.registry import Registry, importable
from nslimb.sigma.component import Sigma
from nslimb.sigma.values import check_class_names

# Each takes the arity and options of its own.
SIGMAS: Registry[Callable[..., Sigma]] = Registry(
    "sigma",
    {
        "max": "nslimb.sigma.library:maximum",
        "sum": "nslimb.sigma.library:total",
        "hwf": "nslimb.sigma.library:formula",
        "smallest_parent": "nslimb.sigma.library:smallest_parent",
        "counterexample": "nslimb.sigma.library:counterexample",
    },
)


def resolve_sigma(
    name: str,
    arity: int | None = None,
    classes: int | Sequence[str] | None = None,
    options: Mapping[str, Any] | None = None,
    base: Path | None = None,
) -> Sigma:
    """The sigma called ``name``, compiled: a built-in one, or one's own as ``file.py:object`` or ``module:object``.

    One's own is a ``Sigma``; a function of a tuple of labels, for which ``classes`` gives the number or the names of
    the classes; or, where ``classes`` is not given, a factory that takes the arity and returns a ``Sigma``; or a file
    ``rules.lp`` (a logic program, with ``classes`` and arity) or ``rule.cnf`` (a formula). Paths are relative to
    ``base``.

    Examples
    --------
    >>> resolve_sigma("max", arity=2).preimage_sizes()[:3]
    (1, 3, 5)
    """
    known = name.replace("-", "_")
    if known in SIGMAS:
        return _built_in(known, arity, classes, dict(options or {}))
    if options:
        raise InvalidInput("sigma", f"no options for {name}, which is your own", ", ".join(options))
    if is_rule_file(name):
        return _from_rules(Path(base or ".", name), arity, classes)
    home = SIGMAS.module(name, base)
    folder = home.parent if isinstance(home, Path) else Path(base or ".")
    with importable(folder):  # functions may import when they run
        return _own(SIGMAS.get(name, base), name, arity, classes)


def is_rule_file(name: str) -> bool:
    """Whether a name is that of a file with a logic program or a formula."""
    return Path(name).suffix in (".lp", ".cnf")


def _from_rules(path: Path, arity: int | None, classes: int | Sequence[str] | None) -> Sigma:
    if path.suffix == ".cnf":
        return _fitting(Sigma.from_dimacs(path, arity), path.name, arity, classes)
    if arity is None or classes is None:
        missing = "arity" if arity is None else "classes"
        raise InvalidInput(missing, f"given for {path.name}, which does not tell it", "none")
    return Sigma.from_asp(path, [classes] * arity)


def check_options(name: str, factory: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse options that a factory does not have."""
    known = [key for key in inspect.signature(factory).parameters if key not in ("arity", "max_states")]
    for key in options:
        if key not in known:
            raise InvalidInput("sigma", f"options of {name}: {', '.join(known) or 'none'}", repr(key))


def _built_in(name: str, arity: int | None, classes: Any, options: dict[str, Any]) -> Sigma:
    factory = SIGMAS.get(name)
    check_options(name, factory, options)
    parameters = inspect.signature(factory).parameters
    if "num_classes" in parameters and classes is not None:
        options["num_classes"] = classes if isinstance(classes, int) else len(classes)
    if "arity" in parameters:
        default = parameters["arity"].default
        options["arity"] = arity if arity is not None else 3 if default is inspect.Parameter.empty else default
    return _fitting(factory(**options), name, arity, classes)


def _own(found: Any, name: str, arity: int | None, classes: int | Sequence[str] | None) -> Sigma:
    if isinstance(found, Sigma):
        return _fitting(found, name, arity, classes)
    if not callable(found):
        raise InvalidInput("sigma", "a function, a Sigma or a factory of one", f"{name}, a {type(found).__name__}")
    if arity is None:
        raise InvalidInput("arity", f"a number, as {name} is a function of your own", "none")
    if classes is None:
        return _fitting(_from_factory(found, name, arity), name, arity, None)
    names = None if isinstance(classes, int) else tuple(classes)
    number = classes if isinstance(classes, int) else len(classes)
    return Sigma.from_function(found, num_classes=number, arity=arity, class_names=names)


def _from_factory(factory: Callable[[int], Any], name: str, arity: int) -> Sigma:
    hint = "a factory that takes the arity and returns a Sigma; for a function of a tuple of labels give its classes"
    try:
        made = factory(arity)
    except Exception as error:
        raise InvalidInput("sigma", hint, f"{name}, which raised {type(error).__name__}: {error}") from error
    if not isinstance(made, Sigma):
        raise InvalidInput("sigma", hint, f"{name}, which returned an object of type {type(made).__name__}")
    return made


def _fitting(made: Sigma, name: str, arity: int | None, classes: int | Sequence[str] | None) -> Sigma:
    """``made``, whose sizes are its own, if nothing else was asked for; with the names, where its classes have none."""
    number = classes if classes is None or isinstance(classes, int) else len(classes)
    for argument, given, own in (("arity", arity, made.arity), ("classes", number, made.num_classes)):
        if given not in (None, own):
            raise InvalidInput(argument, f"{own}, as {name} has", given)
    if classes is None or isinstance(classes, int) or tuple(classes) == made.class_names:
        return made
    if made.class_names != tuple(map(str, range(made.num_classes))):
        raise InvalidInput("classes", f"{', '.join(made.class_names)}, as {name} has", ", ".join(classes))
    named = copy.copy(made)
    named.class_names = check_class_names(tuple(classes), made.num_classes)
    return named
