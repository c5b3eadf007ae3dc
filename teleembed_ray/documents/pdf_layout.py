"""A page of PDFium -> lines of text with their place, upright and from left to right.

PDFium gives the characters in the order of the page's content, cut into lines, and trims blanks at line ends. Added
here: the turn of the page (by the direction of most of its text, not by /Rotate, which says how the page is shown),
pieces of one line that were written apart, superscripts, and text that was written twice to look bold.
"""

import ctypes
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pypdfium2.raw as pdfium_c

# What PDFium puts between lines: a line break, or a mark in place of a hyphen, with no break after it.
_HYPHENS_AT_LINE_END = ("\x02", "\ufffe")
_LINE = re.compile("([^\n\r\x02\ufffe]+)([\n\r\x02\ufffe]?)")
_BLANK_CHARACTERS = "\t \u00a0"
_BLANKS = re.compile("[\t \u00a0]+")
_MARK = re.compile("\ufffe")
_SURROGATE = re.compile("[\ud800-\udfff]")

# A gap of so many times the font size is no word space, not even that of a justified line.
CELL_GAP = 0.9
# Pieces closer than this are one word: "10" and its exponent.
_WORD_GAP = 0.12
_SAME_BASELINE = 0.3
_SUPERSCRIPT_RISE = 0.6
# What is written again within so many sizes is the same text.
_OVERPRINT = 0.2
# What stands higher above, or lower below, is no part of the line.
_MAX_RISE = 0.8
_FIXED_PITCH_FLAG = 1
# Many producers leave the flag out.
_FIXED_PITCH_FONT = re.compile(rb"courier|mono|consol|menlo|typewriter|cmtt|source.?code|fixed", re.IGNORECASE)
_MAX_FONT_NAME = 128


@dataclass(frozen=True, slots=True)
class Cell:
    """A piece of a line, with no wide gap in it; its ends are in points from the left of the page."""

    text: str
    left: float
    right: float


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One line of text: its pieces, its baseline (from the bottom of the page) and its font size, in points.

    Two lines are equal only if they are one: a page may hold a text twice.
    """

    text: str
    cells: tuple[Cell, ...]
    baseline: float
    size: float
    is_monospaced: bool = False
    is_table_row: bool = False

    @property
    def left(self) -> float:
        return self.cells[0].left

    @property
    def right(self) -> float:
        return self.cells[-1].right

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2

    @property
    def center(self) -> float:
        """The height of the middle of a small letter."""
        return self.baseline + self.size / 4


@dataclass(frozen=True, slots=True)
class Frame:
    """The axes of a page: `turn` counts quarter turns of its text, counterclockwise; the box is PDFium's."""

    turn: int
    left: float
    bottom: float
    right: float
    top: float

    @property
    def width(self) -> float:
        return self.top - self.bottom if self.turn % 2 else self.right - self.left

    @property
    def height(self) -> float:
        return self.right - self.left if self.turn % 2 else self.top - self.bottom

    def upright(self, x: float, y: float) -> tuple[float, float]:
        """A point of the page -> the same point where text runs to the right, from the lower left corner."""
        if self.turn == 0:
            return x - self.left, y - self.bottom
        if self.turn == 1:
            return y - self.bottom, self.right - x
        if self.turn == 2:
            return self.right - x, self.top - y
        return self.top - y, x - self.left


@dataclass(frozen=True, slots=True)
class _Run:
    """What PDFium takes for one line, before its place is known; `angle` in degrees, counterclockwise.

    `first` and `last` are the indices of the characters at its ends; `text` has one character an index, and then a
    hyphen where the line ends in one.
    """

    text: str
    first: int
    last: int
    size: float
    angle: float


def _is_quarter(angle: float) -> bool:
    return abs(angle - 90 * round(angle / 90)) < 5


class TextPage:
    """The characters of a page and their geometry, by PDFium's text page."""

    def __init__(self, page: Any) -> None:
        self._textpage = page.get_textpage()
        self._raw = self._textpage.raw
        self._box = page.get_bbox()
        self._rotation = page.get_rotation()
        self._point = ctypes.c_double(), ctypes.c_double()
        self._edges = tuple(ctypes.c_double() for _ in range(4))
        self._matrix = pdfium_c.FS_MATRIX()

    def close(self) -> None:
        self._textpage.close()

    def read(self) -> tuple[Frame, tuple[Line, ...], tuple[str, ...]]:
        """Return the page's axes, its upright lines, and the texts that run another way (stamps, labels of an axis)."""
        runs = list(self._runs())
        turns = Counter[int]()
        for run in runs:
            if _is_quarter(run.angle):
                turns[round(run.angle / 90) % 4] += len(run.text)
        turn = turns.most_common(1)[0][0] if turns else 0
        frame = Frame(turn, *self._box)
        upright = [run for run in runs if _is_quarter(run.angle) and round(run.angle / 90) % 4 == turn]
        lines = [self._placed(run, frame) for run in upright]
        if (90 * turn - self._rotation) % 360:
            # PDFium orders lines that are not upright as shown by their place, whichever way the text goes on.
            lines.sort(key=lambda line: (-round(line.baseline), line.left))
        kept = set(map(id, upright))
        return (
            frame,
            tuple(_assembled(_without_overprint(lines))),
            tuple(run.text for run in runs if id(run) not in kept),
        )

    def _characters(self) -> str:
        """Return the characters of the page, one an index."""
        num_characters = self._textpage.count_chars()
        # One call instead of one a character; only where nothing is left out or written as two is it the same.
        units = (ctypes.c_ushort * (num_characters + 1))()
        if pdfium_c.FPDFText_GetText(self._raw, 0, num_characters, units) == num_characters + 1:
            text = bytes(units)[:-2].decode("utf-16-le", "surrogatepass")
            if len(text) == num_characters and not _SURROGATE.search(text):
                # It stands for hyphens at line ends, and for characters that mean nothing.
                return _MARK.sub(lambda match: self._character(match.start()), text)
        return "".join(map(self._character, range(num_characters)))

    def _character(self, index: int) -> str:
        return chr(pdfium_c.FPDFText_GetUnicode(self._raw, index))

    def _runs(self) -> Iterator[_Run]:
        for match in _LINE.finditer(self._characters()):
            text, end = match.groups()
            stripped = text.strip(_BLANK_CHARACTERS)
            if not stripped:
                continue
            first = match.start() + len(text) - len(text.lstrip(_BLANK_CHARACTERS))
            hyphen = "-" if end in _HYPHENS_AT_LINE_END else ""
            yield from self._straight(stripped + hyphen, first, first + len(stripped) - 1)

    def _straight(self, text: str, first: int, last: int) -> Iterator[_Run]:
        """Yield the runs that a line of PDFium consists of, each on a baseline of its own.

        PDFium takes a label of an axis, or a column of single digits, for the end of the line that is written before.
        """
        size, angle = self._size_and_angle(first)
        if self._rise(first, last, angle) < _MAX_RISE * size:
            yield _Run(text, first, last, size, angle)
            return
        start = first
        for index in range(first + 1, last + 1):
            if text[index - first] in _BLANK_CHARACTERS:
                continue
            next_size, next_angle = self._size_and_angle(index)
            if self._rise(start, index, angle) >= _MAX_RISE * max(size, next_size) or abs(next_angle - angle) > 1:
                piece = text[start - first : index - first].rstrip(_BLANK_CHARACTERS)
                yield _Run(piece, start, start + len(piece) - 1, size, angle)
                start, size, angle = index, next_size, next_angle
        yield _Run(text[start - first :], start, last, size, angle)

    def _rise(self, first: int, last: int, angle: float) -> float:
        """Return how far the origin of a character lies beside the baseline of another."""
        x, y = self._point
        pdfium_c.FPDFText_GetCharOrigin(self._raw, first, x, y)
        begin = x.value, y.value
        pdfium_c.FPDFText_GetCharOrigin(self._raw, last, x, y)
        turn = math.radians(angle)
        return abs((y.value - begin[1]) * math.cos(turn) - (x.value - begin[0]) * math.sin(turn))

    def _size_and_angle(self, index: int) -> tuple[float, float]:
        """Return the size in points of the page, and the angle in degrees: font sizes are often scaled by a matrix."""
        size = abs(pdfium_c.FPDFText_GetFontSize(self._raw, index)) or 1.0
        matrix = self._matrix
        if not pdfium_c.FPDFText_GetMatrix(self._raw, index, matrix):
            return size, 0.0
        scale = math.sqrt(abs(matrix.a * matrix.d - matrix.b * matrix.c)) or 1.0
        return size * scale, math.degrees(math.atan2(matrix.b, matrix.a))

    def _origin(self, index: int, frame: Frame) -> tuple[float, float]:
        x, y = self._point
        pdfium_c.FPDFText_GetCharOrigin(self._raw, index, x, y)
        return frame.upright(x.value, y.value)

    def _right(self, index: int, frame: Frame) -> float:
        left, right, bottom, top = self._edges
        pdfium_c.FPDFText_GetCharBox(self._raw, index, left, right, bottom, top)
        return max(frame.upright(left.value, bottom.value)[0], frame.upright(right.value, top.value)[0])

    def _placed(self, run: _Run, frame: Frame) -> Line:
        left, baseline = self._origin(run.first, frame)
        size = run.size
        if run.last > run.first:
            # A line that begins with a superscript stands where its end stands.
            _, end = self._origin(run.last, frame)
            if abs(end - baseline) > 0.01:
                end_size, _ = self._size_and_angle(run.last)
                if end_size > size:
                    baseline, size = end, end_size
        cells = tuple(self._cells(run, left, size, frame))
        is_monospaced = len(cells) > 1 and self._is_monospaced(run.first)
        return Line(run.text, cells, baseline, size, is_monospaced)

    def _cells(self, run: _Run, left: float, size: float, frame: Frame) -> Iterator[Cell]:
        start = 0
        for blanks in _BLANKS.finditer(run.text):
            right = self._right(run.first + blanks.start() - 1, frame)
            next_left, _ = self._origin(run.first + blanks.end(), frame)
            if next_left - right > CELL_GAP * size:
                yield Cell(run.text[start : blanks.start()], left, right)
                start, left = blanks.end(), next_left
        yield Cell(run.text[start:], left, self._right(run.last, frame))

    def _is_monospaced(self, index: int) -> bool:
        flags = ctypes.c_int()
        name = ctypes.create_string_buffer(_MAX_FONT_NAME)
        length = pdfium_c.FPDFText_GetFontInfo(self._raw, index, name, _MAX_FONT_NAME, flags)
        has_name = 0 < length <= _MAX_FONT_NAME
        return bool(flags.value & _FIXED_PITCH_FLAG) or (has_name and _FIXED_PITCH_FONT.search(name.value) is not None)


def _is_same_row(above: Line, below: Line) -> bool:
    """Whether `below`, written next, goes on to the right of `above`: on its baseline, or as a superscript of it."""
    rise = abs(above.baseline - below.baseline) / max(above.size, below.size)
    gap = (below.left - above.right) / max(above.size, below.size)
    return gap > -_WORD_GAP and (rise < _SAME_BASELINE or (rise < _SUPERSCRIPT_RISE and gap < 2 * _WORD_GAP))


def joined_cells(first: Sequence[Cell], second: Sequence[Cell], size: float) -> tuple[str, tuple[Cell, ...]]:
    """Two pieces of one row -> the text between them (a blank or nothing), and the cells of both."""
    gap = (second[0].left - first[-1].right) / size
    blank = "" if gap < _WORD_GAP else " "
    if gap > CELL_GAP:
        return blank, (*first, *second)
    middle = Cell(f"{first[-1].text}{blank}{second[0].text}", first[-1].left, second[0].right)
    return blank, (*first[:-1], middle, *second[1:])


def joined(above: Line, below: Line) -> Line:
    """Two pieces of one row -> one line, at the baseline and size of the larger."""
    larger = above if above.size >= below.size else below
    blank, cells = joined_cells(above.cells, below.cells, larger.size)
    return replace(larger, text=f"{above.text}{blank}{below.text}", cells=cells)


def _without_overprint(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the lines, but not what is written again, a little aside, to look bold or to cast a shadow."""
    places: dict[str, list[Line]] = {}
    for line in lines:
        same = places.setdefault(line.text, [])
        reach = _OVERPRINT * line.size
        if not any(abs(at.left - line.left) < reach and abs(at.baseline - line.baseline) < reach for at in same):
            same.append(line)
            yield line


def _assembled(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield the lines with what was written in pieces joined."""
    before: Line | None = None
    for line in lines:
        if before is None:
            before = line
        elif _is_same_row(before, line):
            before = joined(before, line)
        else:
            yield before
            before = line
    if before is not None:
        yield before
