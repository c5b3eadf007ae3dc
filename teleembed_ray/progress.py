"""Progress that reads well in a terminal (a moving bar) and in a log file (a line now and then)."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

LINE_INTERVAL_S = 10.0
LEAST_SHARE = 0.1


@dataclass
class Task:
    """Counts the work of one stage; `advance` is called as parts arrive."""

    name: str
    total: int
    unit: str
    stream: TextIO
    bar: Bar | None = None
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    last_line: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.bar_task = self.bar.add_task(f"{self.name} ({self.unit})", total=self.total) if self.bar else None

    def advance(self, amount: int) -> None:
        """Count `amount` more units of work as done."""
        self.done += amount
        if self.bar is not None and self.bar_task is not None:
            self.bar.update(self.bar_task, completed=self.done)
            return
        now = time.monotonic()
        if now - self.last_line >= LINE_INTERVAL_S and self.done < self.total:
            self.last_line = now
            self._print_line(now - self.started)

    def grow(self, amount: int) -> None:
        """Raise the total by `amount` units, where the work is known wave by wave."""
        self.total += amount
        if self.bar is not None and self.bar_task is not None:
            self.bar.update(self.bar_task, total=self.total)

    def _print_line(self, elapsed_s: float) -> None:
        rate, share = self.done / elapsed_s, self.done / max(self.total, 1)
        # The start of a stage, with its models still loading, says nothing about the rest.
        left = f", about {(self.total - self.done) / rate:,.0f} s left" if share >= LEAST_SHARE else ""
        print(
            f"{self.name}: {self.done:,} of {self.total:,} {self.unit} ({100 * share:.0f} %), "
            f"{rate:,.1f} a second{left}",
            file=self.stream,
            flush=True,
        )


@dataclass(frozen=True)
class Progress:
    """Where notes and progress go: standard error, so that output can be piped."""

    stream: TextIO = field(default_factory=lambda: sys.stderr)

    def note(self, text: str) -> None:
        """Print one line."""
        print(text, file=self.stream, flush=True)

    @contextmanager
    def task(self, name: str, total: int, unit: str) -> Iterator[Task]:
        """Show the progress of one piece of work of `total` units."""
        if not self.stream.isatty():
            yield Task(name, total, unit, self.stream)
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Bar(*columns, console=Console(file=self.stream), transient=True) as bar:
            yield Task(name, total, unit, self.stream, bar)
