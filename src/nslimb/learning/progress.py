"""Progress of a training run: a bar on a terminal, a line an epoch elsewhere."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from nslimb.learning.history import Epoch


class EpochLog:
    """Shows epochs, loss, weak accuracy (on validation samples, where there are any) and the time left."""

    def __init__(self, description: str, total: int, done: int = 0) -> None:
        self.console = Console(stderr=True)
        self.description, self.total = description, total
        self.bar: Progress | None = None
        if self.console.is_terminal:
            self.bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.completed}/{task.total} epochs"),
                TextColumn("{task.fields[figures]}"),
                TimeRemainingColumn(),
                console=self.console,
            )
            self.task = self.bar.add_task(description, total=total, completed=done, figures="")

    def __enter__(self) -> EpochLog:
        if self.bar is not None:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self.console.print(f"{self.description}: {text}", highlight=False, markup=False, soft_wrap=True)

    def epoch(self, row: Epoch) -> None:
        """Report a finished epoch."""
        held_out = row.validation_weak_accuracy
        figures = f"loss {row.loss:.4f}, weak accuracy {row.train_weak_accuracy if held_out is None else held_out:.1%}"
        if self.bar is not None:
            self.bar.update(self.task, completed=row.epoch, figures=figures)
        else:
            line = f"{self.description}: epoch {row.epoch}/{self.total}, {figures}, {row.seconds:.1f} s"
            print(line, file=self.console.file, flush=True)
