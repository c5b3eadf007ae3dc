"""Tables of plain values, and how a value reads on the page, in CSV and in Markdown.

A value that is not known is a `Missing` with its reason, so that no format ever prints NaN or None.
"""

import csv
import io
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

DASH = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
PERCENT = "\N{NO-BREAK SPACE}%"

Kind = Literal["text", "count", "share", "score", "difference", "seconds"]

# A spreadsheet takes a cell that begins with one of these for a formula.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
MARKDOWN_SPECIAL = re.compile(r"([\\|`*\[\]])")


@dataclass(frozen=True)
class Missing:
    """A value that is not known, and why."""

    reason: str


@dataclass(frozen=True)
class Estimate:
    """A measured value, the bounds of its confidence interval and the number of questions behind it."""

    value: float
    low: float | None
    high: float | None
    n: int


Value = str | int | float | Estimate | Missing


@dataclass(frozen=True)
class Column:
    """One column: key in CSV, heading on the page, how values are written, and whether they are estimates."""

    key: str
    label: str
    kind: Kind = "text"
    is_estimate: bool = False


@dataclass(frozen=True)
class Table:
    """A table of the page: `name` is its file name, the first `num_headings` columns name a row."""

    name: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    num_headings: int = 1
    if_empty: str = "There are no rows."

    def __post_init__(self) -> None:
        """Refuse rows that do not fit the columns."""
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"table {self.name}: a row does not fit its {len(self.columns)} columns")


def known(value: float | None, reason: str) -> float | Missing:
    """Return a finite number as it is, and anything else as Missing."""
    return Missing(reason) if value is None or not math.isfinite(value) else value


def share(part: int, whole: int, reason: str) -> float | Missing:
    """Return part / whole, or Missing where the whole is empty."""
    return part / whole if whole else Missing(reason)


def number_text(value: float, kind: Kind) -> str:
    """Return a number as a reader of the page sees it."""
    if kind == "count":
        return f"{round(value):,}"
    if kind == "share":
        return f"{100 * value:.1f}{PERCENT}"
    if kind == "difference":
        rounded = f"{abs(value):.3f}"
        sign = "" if float(rounded) == 0 else ("+" if value > 0 else MINUS)
        return sign + rounded
    if kind == "seconds":
        return f"{value:,.1f}"
    return f"{value:.3f}"


def value_text(value: Value, kind: Kind) -> str:
    """Return the main text of a cell: a number, words, or a dash for what is missing."""
    if isinstance(value, Missing):
        return DASH
    if isinstance(value, Estimate):
        return number_text(value.value, kind)
    return value if isinstance(value, str) else number_text(value, kind)


def interval_text(estimate: Estimate, kind: Kind) -> str:
    """Return `low to high` of an estimate, or an empty text where it has no interval."""
    if estimate.low is None or estimate.high is None:
        return ""
    return f"{number_text(estimate.low, kind)} to {number_text(estimate.high, kind)}"


def notes(value: Value, kind: Kind) -> tuple[str, ...]:
    """Return the small lines below a cell's main text: interval and n, or why the value is missing."""
    if isinstance(value, Missing):
        return (value.reason,)
    if isinstance(value, Estimate):
        interval = interval_text(value, kind)
        return (*([interval] if interval else []), f"n = {value.n:,}")
    return ()


def defused(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: a leading apostrophe marks it as text."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _csv_number(value: float | None) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) else f"{value:.6f}"


def _csv_headings(column: Column) -> list[str]:
    if not column.is_estimate:
        return [column.key]
    return [column.key, f"{column.key}_low", f"{column.key}_high", f"{column.key}_n"]


def _csv_values(column: Column, value: Value) -> list[str]:
    if isinstance(value, Missing):
        return [""] * len(_csv_headings(column))
    if isinstance(value, Estimate):
        return [*(_csv_number(number) for number in (value.value, value.low, value.high)), str(value.n)]
    return [defused(value) if isinstance(value, str) else _csv_number(value)]


def to_csv(table: Table) -> str:
    """Return a table as CSV; empty cells are explained in the last column, `missing`."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    headings = [heading for column in table.columns for heading in _csv_headings(column)]
    writer.writerow([*headings, "missing"])
    for row in table.rows:
        pairs = list(zip(table.columns, row, strict=True))
        texts = [text for column, value in pairs for text in _csv_values(column, value)]
        gaps = [f"{column.key}: {value.reason}" for column, value in pairs if isinstance(value, Missing)]
        writer.writerow([*texts, defused("; ".join(gaps))])
    return out.getvalue()


def _markdown_text(text: str) -> str:
    escaped = MARKDOWN_SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _markdown_cell(column: Column, value: Value) -> str:
    extra = ", ".join(notes(value, column.kind))
    text = value_text(value, column.kind)
    return _markdown_text(f"{text} ({extra})" if extra else text)


def _markdown_row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def to_markdown(table: Table) -> str:
    """Return a table as Markdown, its caption first."""
    lines = [_markdown_text(table.caption), ""]
    if not table.rows:
        return "\n".join([*lines, _markdown_text(table.if_empty), ""])
    lines.append(_markdown_row([_markdown_text(column.label) for column in table.columns]))
    lines.append(_markdown_row(["---" if column.kind == "text" else "---:" for column in table.columns]))
    lines.extend(
        _markdown_row([_markdown_cell(column, cell) for column, cell in zip(table.columns, row, strict=True)])
        for row in table.rows
    )
    return "\n".join([*lines, ""])
