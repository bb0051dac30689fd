"""Every path and wildcard of the workflow, spelled once."""

from __future__ import annotations

from collections.abc import Iterable

CELL = "benchmark={benchmark}/M={M}/rho={rho}/seed={seed}"
RUN = CELL + "/train={method}"
TIMING = "runtime/benchmark={benchmark}/M={M}/batch={batch}"

NAME = r"[A-Za-z0-9_.-]+"
CONSTRAINTS = {
    "benchmark": NAME,
    "M": r"\d+",
    "rho": r"\d+(\.\d+)?",
    "seed": r"\d+",
    "method": NAME,
    "batch": r"\d+",
    "table": NAME,
    "study": NAME,
    "source": NAME,
}


def table_file(name: str, form: str) -> str:
    """A table in one of its forms, below the results folder."""
    return f"tables/{name}.{form}"


def figure_file(name: str, form: str) -> str:
    """A figure in one of its forms, below the results folder."""
    return f"figures/{name}.{form}"


def study_file(name: str) -> str:
    """The numbers of a study, below the results folder."""
    return f"studies/{name}.csv"


def source_file(name: str) -> str:
    """The mark that a source is ready, below the results folder."""
    return f"sources/{name}.ready"


def below(results: object, paths: Iterable[str]) -> list[str]:
    """Paths below a results folder."""
    return [f"{results}/{path}" for path in paths]
