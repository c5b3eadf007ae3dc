"""Lines that a page writes across a gutter -> the lines of the left column, then those of the right one.

Most producers write column after column, and the order of the content is the reading order. Where rows run across the
gutter, they are cut only on clear evidence of prose: both sides of a common gap hold lines of several words that reach
far into their column, and on both sides sentences go on from line to line. Aligned tables, listings with trailing
comments and lists with hanging marks fail at least one of these.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from teleembed_ray.documents.pdf_layout import Cell, Line, joined_cells

_MIN_ROWS = 2
_MIN_MEAN_WORDS = 2.5
_FULL_LINE_FRACTION = 0.7
_MIN_FULL_FRACTION = 0.4
_MIN_CONTINUED_FRACTION = 0.25
_ALIGNED_PT = 3.0
_SENTENCE_ENDS = (".", ":", ";", "!", "?")


def _gaps(line: Line) -> Iterator[tuple[float, float]]:
    for left, right in pairwise(line.cells):
        yield left.right, right.left


def _part(line: Line, cells: Sequence[Cell]) -> Line:
    """The line that some neighbouring cells of a line make."""
    text = cells[0].text
    joined: tuple[Cell, ...] = (cells[0],)
    for cell in cells[1:]:
        blank, joined = joined_cells(joined, (cell,), line.size)
        text = f"{text}{blank}{cell.text}"
    return replace(line, text=text, cells=joined)


def _cut(line: Line, gutter: tuple[float, float]) -> tuple[Line | None, Line | None] | None:
    """Return what of a line lies left and right of a gutter, or None if it lies across it."""
    low, high = gutter
    left = [cell for cell in line.cells if cell.right <= low]
    right = [cell for cell in line.cells if cell.left >= high]
    if len(left) + len(right) < len(line.cells):
        return None
    return (_part(line, left) if left else None), (_part(line, right) if right else None)


def _is_prose(column: Sequence[Line]) -> bool:
    """Whether lines one under the other read as running text."""
    if len(column) < _MIN_ROWS:
        return False
    left, right = min(line.left for line in column), max(line.right for line in column)
    num_words = sum(len(line.text.split()) for line in column)
    num_full = sum(line.right - left >= _FULL_LINE_FRACTION * (right - left) for line in column)
    num_continued = sum(
        not above.text.endswith(_SENTENCE_ENDS) and below.text[:1].islower() for above, below in pairwise(column)
    )
    return (
        num_words >= _MIN_MEAN_WORDS * len(column)
        and num_full >= _MIN_FULL_FRACTION * len(column)
        and num_continued >= max(1, _MIN_CONTINUED_FRACTION * (len(column) - 1))
    )


def _stretch(lines: Sequence[Line], first: int, gap: tuple[float, float]) -> tuple[int, tuple[float, float]]:
    """Return how far from `first` on lines leave a gap open, and what is open of it."""
    low, high = gap
    end = first
    while end < len(lines):
        line = lines[end]
        left_end = max((cell.right for cell in line.cells if cell.left < (low + high) / 2), default=low)
        right_start = min((cell.left for cell in line.cells if cell.left >= (low + high) / 2), default=high)
        if max(low, left_end) + line.size / 2 > min(high, right_start):
            break
        low, high = max(low, left_end), min(high, right_start)
        end += 1
    return end, (low, high)


def _columns(lines: Sequence[Line], first: int) -> tuple[int, list[Line], list[Line]] | None:
    """Return the end of the two columns that begin at a line, and their lines, or None."""
    for gap in _gaps(lines[first]):
        end, gutter = _stretch(lines, first, gap)
        pairs = [pair for line in lines[first:end] if (pair := _cut(line, gutter)) is not None]
        both = [right for left, right in pairs if left is not None and right is not None]
        if len(both) < _MIN_ROWS:
            continue
        left = [line for line, _ in pairs if line is not None]
        right = [line for _, line in pairs if line is not None]
        edge = min(line.left for line in right)
        num_aligned = sum(line.left - edge <= _ALIGNED_PT for line in right)
        if 2 * num_aligned >= len(right) and _is_prose(left) and _is_prose(right):
            return end, left, right
    return None


def in_reading_order(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Return the lines of a page, where rows of two columns (or more) are cut at the gutter and put in order."""
    ordered: list[Line] = []
    index = 0
    while index < len(lines):
        columns = _columns(lines, index) if len(lines[index].cells) > 1 else None
        if columns is None:
            ordered.append(lines[index])
            index += 1
        else:
            index, left, right = columns
            ordered += [*left, *in_reading_order(right)]
    return tuple(ordered)
