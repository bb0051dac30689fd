"""The one family of errors: every message says what was given, what was expected, and where."""

from __future__ import annotations

from pathlib import Path


class NslimbError(Exception):
    """Anything that nslimb itself refuses or cannot do."""


class InvalidInput(NslimbError, ValueError):
    """An argument that does not fit: ``argument: expected ..., got ...``."""

    def __init__(self, argument: str, expected: str, given: object) -> None:
        super().__init__(f"{argument}: expected {expected}, got {given}")
        self.argument, self.expected, self.given = argument, expected, given


class TooLarge(NslimbError):
    """A request that would need more states, rows or memory than the stated limit."""


class MissingEngine(NslimbError, ImportError):
    """An optional engine that is not installed."""


class SolverFailed(NslimbError):
    """A solver that ended without a solution: infeasible within the allowed limits, out of time, or broken."""


class DataError(NslimbError):
    """Data that is missing, broken or not what it should be; the message says where and what to do."""


class BrokenFile(DataError):
    """A file or folder, written by nslimb before, that can no longer be used; the workflow makes it anew."""

    def __init__(self, path: Path, reason: object, remedy: str = "remove it and run the workflow again") -> None:
        super().__init__(f"{path}: {reason}; {remedy}")
        self.path = path


class TrainingFailed(NslimbError):
    """A training run that cannot go on, such as one whose loss is no number; the message says epoch and batch."""
