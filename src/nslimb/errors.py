"""The one family of errors: every message says what was given, what was expected, and where."""

from __future__ import annotations


class NslimbError(Exception):
    """Anything that nslimb itself refuses or cannot do."""


class InvalidInput(NslimbError, ValueError):
    """An argument that does not fit: ``argument: expected ..., got ...``."""

    def __init__(self, argument: str, expected: str, given: object) -> None:
        super().__init__(f"{argument}: expected {expected}, got {given}")
        self.argument = argument


class TooLarge(NslimbError):
    """A request that would need more states, rows or memory than the stated limit."""


class MissingEngine(NslimbError, ImportError):
    """An optional engine that is not installed."""


class SolverFailed(NslimbError):
    """A solver that ended without a solution: infeasible within the allowed limits, out of time, or broken."""


class DataError(NslimbError):
    """Data that is missing, broken or not what it should be; the message says where and what to do."""


class TrainingFailed(NslimbError):
    """A training run that cannot go on, such as one whose loss is no number; the message says epoch and batch."""
