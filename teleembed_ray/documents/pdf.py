"""PDF -> text, by PDFium, with line geometry to tell paragraphs, running lines and ruled tables.

What is left out:

- running headers, footers and page numbers: lines in the outer margins that return, digits aside, on many pages;
- lines of a contents list (dot leaders and a page number);
- text between vertical rulings, three or more side by side: ruled tables, and diagrams with lifelines; it is counted.

What is not told apart yet: tables without vertical rulings, labels in other drawings, and columns that a page writes
line by line across the gutter (columns written one after the other are read in order). Footnotes stay where they stand.

PDFium is not thread-safe: in threads it returns empty text without an error. Nothing here starts one, and a caller
must not either.
"""

import ctypes
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from teleembed_ray.documents.characters import clean_prose, is_private
from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.titles import choose_title

MAX_PAGES = 20_000
# A scan often carries a stamp or a page number as text.
MIN_CHARS_PER_PAGE = 20
MAX_UNMAPPED_FRACTION = 0.3

# The share of a page's height, at either end, where running lines are looked for.
_MARGIN_FRACTION = 0.12
_MIN_RUNNING_FRACTION = 0.2
# Lengths in points. A cell is at least a line high; what is almost as high as the page is its frame.
_MIN_RULING_PT = 6.0
_MAX_RULING_FRACTION = 0.92
_RULING_WIDTH_PT = 2.0
# Nothing is written in a column narrower than this: it is a change bar beside a frame, or a double line.
_MIN_COLUMN_PT = 14.0
# A path of more segments than a large grid has is a drawing.
_MAX_SEGMENTS = 1000
# A row of merged cells has no inner ruling: it lies within this distance of a row that has.
_MERGED_ROW_PT = 40.0
# Lines further apart than this multiple of the usual distance belong to two paragraphs.
_PARAGRAPH_GAP = 1.25

_CONTENTS_LINE = re.compile(r"(\.{4,}|(\. ){4,}|\u2026{2,}|_{6,})\s*[\divxlc]+$")
_ITEM = re.compile(
    r"([-*\u2022\u2013\u2014\u25cf\u25aa\uf0b7]\s|\(?[a-z\d]{1,2}[.)]\s|\[\d+\]|(\d+|[A-Z])(\.\d+)+\s|Step\s\d|"
    r"(NOTE|EXAMPLE|Figure|Table)\b)"
)
_LINE_HYPHENS = "-\u2010"
# What PDFium puts between lines: a line break, or a mark in place of a hyphen, with no break after it.
_HYPHEN_AT_LINE_END = (0x02, 0xFFFE)
_LINE_ENDS = (0x0A, 0x0D, *_HYPHEN_AT_LINE_END)
_SPACES = (0x20, 0xA0)


@dataclass(frozen=True)
class _Line:
    """One line of text, with its two ends, its baseline (from the bottom of the page) and its font size, in points."""

    text: str
    left: float
    right: float
    baseline: float
    size: float


@dataclass(frozen=True)
class _Ruling:
    """A vertical stroke."""

    x: float
    low: float
    high: float


@dataclass(frozen=True)
class _Page:
    lines: tuple[_Line, ...]
    rulings: tuple[_Ruling, ...]
    height: float
    has_image: bool


def _read_lines(textpage: Any) -> Iterator[_Line]:
    """Yield the lines in the order of the page's content; PDFium ends each with a generated line break."""
    raw = textpage.raw
    x, y = ctypes.c_double(), ctypes.c_double()
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    characters: list[str] = []
    first = last = -1
    num_characters = textpage.count_chars()
    for index in range(num_characters + 1):
        code = pdfium_c.FPDFText_GetUnicode(raw, index) if index < num_characters else _LINE_ENDS[0]
        if code not in _LINE_ENDS:
            characters.append(chr(code))
            if code not in _SPACES:
                first, last = (index if first < 0 else first), index
            continue
        if code in _HYPHEN_AT_LINE_END:
            characters.append("-")
        if first >= 0:
            pdfium_c.FPDFText_GetCharOrigin(raw, first, x, y)
            pdfium_c.FPDFText_GetCharBox(raw, last, left, right, bottom, top)
            size = abs(pdfium_c.FPDFText_GetFontSize(raw, first)) or 1.0
            yield _Line("".join(characters).strip(), x.value, right.value, y.value, size)
        characters, first, last = [], -1, -1


def _read_rulings(page: Any, height: float) -> Iterator[_Ruling]:
    """Yield upright strokes: thin filled boxes, lines, and the upright edges of stroked boxes and grids."""
    longest = _MAX_RULING_FRACTION * height
    for path in page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_PATH]):
        left, bottom, right, top = path.get_bounds()
        if top - bottom < _MIN_RULING_PT:
            continue
        if right - left <= _RULING_WIDTH_PT:
            strokes = [_Ruling((left + right) / 2, bottom, top)]
        else:
            strokes = list(_upright_strokes(path))
        yield from (stroke for stroke in strokes if _MIN_RULING_PT <= stroke.high - stroke.low <= longest)


def _upright_strokes(path: Any) -> Iterator[_Ruling]:
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    pdfium_c.FPDFPath_GetDrawMode(path.raw, fill, stroke)
    num_segments = pdfium_c.FPDFPath_CountSegments(path.raw)
    if not stroke.value or num_segments > _MAX_SEGMENTS:
        return
    matrix = path.get_matrix()
    x, y = ctypes.c_float(), ctypes.c_float()
    before = (0.0, 0.0)
    for index in range(num_segments):
        segment = pdfium_c.FPDFPath_GetPathSegment(path.raw, index)
        pdfium_c.FPDFPathSegment_GetPoint(segment, x, y)
        point = matrix.on_point(x.value, y.value)
        is_line = pdfium_c.FPDFPathSegment_GetType(segment) == pdfium_c.FPDF_SEGMENT_LINETO
        if is_line and abs(point[0] - before[0]) <= _RULING_WIDTH_PT:
            yield _Ruling(point[0], min(point[1], before[1]), max(point[1], before[1]))
        before = point


def _merged(rulings: Iterable[_Ruling]) -> tuple[_Ruling, ...]:
    """Join the strokes of neighbouring cells to one ruling, from left to right."""
    merged: list[_Ruling] = []
    for ruling in sorted(rulings, key=lambda ruling: (round(ruling.x / _RULING_WIDTH_PT), ruling.low)):
        before = merged[-1] if merged else None
        if before and abs(before.x - ruling.x) <= _RULING_WIDTH_PT and ruling.low <= before.high + _RULING_WIDTH_PT:
            merged[-1] = replace(before, high=max(before.high, ruling.high))
        else:
            merged.append(ruling)
    return tuple(merged)


def _read_page(page: Any) -> _Page:
    textpage = page.get_textpage()
    try:
        lines = tuple(_read_lines(textpage))
    finally:
        textpage.close()
    height = page.get_height()
    has_image = next(page.get_objects(filter=[pdfium_c.FPDF_PAGEOBJ_IMAGE]), None) is not None
    return _Page(lines, _merged(_read_rulings(page, height)), height, has_image)


def _is_tabular(line: _Line, rulings: Sequence[_Ruling]) -> bool:
    """Whether a line lies between two rulings that reach over it, with a third one between them."""
    y = line.baseline + line.size / 3
    middle = (line.left + line.right) / 2
    around = [ruling for ruling in rulings if ruling.low <= y <= ruling.high]
    if len(around) < 2:
        return False
    first, last = min(around, key=lambda ruling: ruling.x), max(around, key=lambda ruling: ruling.x)
    if not first.x <= middle <= last.x:
        return False
    return any(
        first.x + _MIN_COLUMN_PT < ruling.x < last.x - _MIN_COLUMN_PT
        and ruling.low - _MERGED_ROW_PT <= y <= ruling.high + _MERGED_ROW_PT
        for ruling in rulings
    )


def _masked(text: str) -> str:
    """Return a running line without what changes from page to page: numbers, and a page number in roman figures."""
    return "#" if re.fullmatch(r"[ivxlc]+", text) else re.sub(r"\d+", "#", " ".join(text.split()))


def _margin_lines(page: _Page) -> Iterator[tuple[str, _Line]]:
    margin = _MARGIN_FRACTION * page.height
    for line in page.lines:
        if line.baseline < margin or line.baseline > page.height - margin:
            end = "bottom" if line.baseline < margin else "top"
            yield f"{end} {_masked(line.text)}", line


def _without_running_lines(pages: Sequence[_Page]) -> list[_Page]:
    """Remove the margin lines that return on a fifth of the pages, and on three at least (on both of two)."""
    counts = Counter(key for page in pages for key in {key for key, _ in _margin_lines(page)})
    fewest = max(min(3, len(pages)), 2, _MIN_RUNNING_FRACTION * len(pages))
    running = {key for key, count in counts.items() if count >= fewest}
    return [
        replace(page, lines=tuple(line for line in page.lines if id(line) not in dropped))
        for page in pages
        for dropped in [{id(line) for key, line in _margin_lines(page) if key in running}]
    ]


def _usual_gap(pages: Sequence[_Page]) -> float:
    """Return the usual distance of two baselines, as a multiple of the font size."""
    gaps = [
        (above.baseline - below.baseline) / above.size
        for page in pages
        for above, below in pairwise(page.lines)
        if 0.8 < (above.baseline - below.baseline) / above.size < 2.5
    ]
    return median(gaps) if gaps else 1.2


def _is_on_one_line(above: _Line, below: _Line) -> bool:
    return abs(above.baseline - below.baseline) < 0.3 * above.size and below.left >= above.left


def _starts_paragraph(above: _Line, below: _Line, usual_gap: float) -> bool:
    """Whether `below`, the next line of the same page, begins a paragraph of its own."""
    gap = (above.baseline - below.baseline) / max(above.size, below.size)
    if _is_on_one_line(above, below):
        return False
    if gap < 0:
        # The top of the next column.
        return not _continues(above.text, below.text)
    return (
        gap > _PARAGRAPH_GAP * usual_gap
        or abs(above.size - below.size) > 0.1 * above.size
        or _ITEM.match(below.text) is not None
    )


def _continues(above: str, below: str) -> bool:
    """Whether a sentence goes on over the end of a page or column."""
    return above[-1:] not in ".:;!?" and below[:1].islower() and not _ITEM.match(below)


def _right_margin(above: _Line, lines: Sequence[_Line]) -> float:
    """Return how far right the text around a line reaches: three lines must, so that no long title decides."""
    rights = sorted((line.right for line in lines if line.left < above.right), reverse=True)
    return rights[min(2, len(rights) - 1)]


def _is_broken_on_purpose(above: _Line, below: _Line, lines: Sequence[_Line]) -> bool:
    """Whether the first word of `below` had room at the end of `above`, as in listings and addresses."""
    width = (below.right - below.left) / len(below.text) * (len(below.text.split(maxsplit=1)[0]) + 1)
    return not _is_on_one_line(above, below) and above.right + 1.5 * width < _right_margin(above, lines)


def _join(above: str, below: str, words: frozenset[str]) -> str:
    """Join two lines; a hyphen at the end goes only where the document has the joined word elsewhere."""
    if above[-1:] not in _LINE_HYPHENS or not above[-2:-1].isalnum():
        return f"{above} {below}"
    head = re.search(r"\w+$", above[:-1])
    tail = re.match(r"\w+", below)
    if head and tail and below[0].islower() and (head.group() + tail.group()).lower() in words:
        return above[:-1] + below
    return f"{above[:-1]}-{below}"


def _paragraphs(pages: Sequence[_Page]) -> Iterator[str]:
    usual_gap = _usual_gap(pages)
    words = frozenset(
        word.lower() for page in pages for line in page.lines for word in re.findall(r"\w{4,}", line.text)
    )
    paragraph = ""
    for page in pages:
        above: _Line | None = None
        for line in page.lines:
            if above is None:
                is_new = not _continues(paragraph, line.text)
            else:
                is_new = _starts_paragraph(above, line, usual_gap)
            if is_new and paragraph:
                yield paragraph
            if is_new or not paragraph:
                paragraph = line.text
            elif above is not None and _is_broken_on_purpose(above, line, page.lines):
                paragraph += f"\n{line.text}"
            else:
                paragraph = _join(paragraph, line.text, words)
            above = line
    if paragraph:
        yield paragraph


def _read_pages(pdf: Any) -> list[_Page]:
    pages = []
    for index in range(len(pdf)):
        page = pdf[index]
        try:
            pages.append(_read_page(page))
        finally:
            page.close()
    return pages


def _open(data: bytes) -> Any:
    if b"%PDF-" not in data[:1024]:
        raise Unreadable("mislabelled", "it is no PDF in spite of its suffix: give it the right one, or leave it out")
    try:
        return pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        if error.err_code in (pdfium_c.FPDF_ERR_PASSWORD, pdfium_c.FPDF_ERR_SECURITY):
            raise Unreadable("encrypted", "it needs a password to be opened: save it without one") from None
        raise Unreadable("damaged", f"PDFium cannot open it ({error}): fetch it again or print it anew") from None


def _refuse_without_text(pages: Sequence[_Page]) -> None:
    text = "".join(line.text for page in pages for line in page.lines)
    if len(text) < MIN_CHARS_PER_PAGE * len(pages) and any(page.has_image for page in pages):
        raise Unreadable("scanned", "its pages are images: run text recognition (OCR) over it first")
    if not text:
        raise Unreadable("no_text", "it has no text: leave it out")
    num_unmapped = sum(character == "\ufffd" or is_private(character) for character in text)
    if num_unmapped > MAX_UNMAPPED_FRACTION * len(text):
        raise Unreadable("garbled", "its fonts do not say which characters they draw: run text recognition (OCR)")


def _largest_line(pages: Sequence[_Page]) -> str:
    """Return the text in the largest font of the first page, the usual place of a title."""
    lines = pages[0].lines if pages else ()
    size = max((line.size for line in lines), default=0.0)
    return " ".join(line.text for line in lines if line.size > 0.95 * size)


def read_pdf(path: str, data: bytes) -> Document:
    """PDF bytes -> Document; raises Unreadable. Not to be called from threads.

    The title is the one in the properties where that says something, else what the first page shows in its largest
    font, or the file's name.
    """
    pdf = _open(data)
    try:
        if len(pdf) > MAX_PAGES:
            raise Unreadable("too_large", f"it has {len(pdf)} pages, more than {MAX_PAGES}: split it")
        pages = _read_pages(pdf)
        title = pdf.get_metadata_value("Title")
    finally:
        pdf.close()
    _refuse_without_text(pages)
    title = choose_title(title, _largest_line(pages), path=path)
    num_dropped_chars = 0
    kept = []
    for page in _without_running_lines(pages):
        tabular = {id(line) for line in page.lines if _is_tabular(line, page.rulings)}
        num_dropped_chars += sum(len(line.text) for line in page.lines if id(line) in tabular)
        lines = (line for line in page.lines if id(line) not in tabular and not _CONTENTS_LINE.search(line.text))
        kept.append(replace(page, lines=tuple(lines)))
    text = "\n\n".join(filter(None, (clean_prose(paragraph).strip() for paragraph in _paragraphs(kept))))
    if not text:
        raise Unreadable("no_text", "it has no text outside of tables and running lines: leave it out")
    return Document(title, text, "pdf", num_dropped_chars)
