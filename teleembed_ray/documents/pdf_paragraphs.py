"""Lines of pages -> paragraphs: what is joined, with what between, and where a paragraph ends."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from statistics import median, median_high

from teleembed_ray.documents.pdf_layout import Line

# Lines further apart than this multiple of the usual distance belong to two paragraphs.
_PARAGRAPH_GAP = 1.25
# Up to this multiple a sentence may go on: the lines of a list are often set looser than those of the text.
_LOOSE_GAP = 1.8
# A line that ends within so many sizes of the right margin is full.
_FULL_LINE_REACH = 4.0
# Of so few lines the longest says where the right margin is.
_FEW_LINES = 5
# A typesetter hyphenates where so many words, broken at a line end, are written without hyphen elsewhere.
_MIN_HYPHENATED_WORDS = 3

_ITEM = re.compile(
    r"([-*\u2022\u2013\u2014\u25cf\u25aa\uf0b7]\s|\(?[a-z\d]{1,2}[.)]\s|\[\d+\]|(\d+|[A-Z])(\.\d+)+\s|Step\s\d|"
    r"(NOTE|EXAMPLE|Figure|Table)\b)"
)
_HEADING = re.compile(r"(Annex\s|\d+\s+[A-Z])")
_SENTENCE_ENDS = (".", ":", ";", "!", "?")
_LINE_HYPHENS = ("-", "\u2010", "\u00ad")
_HEAD = re.compile(r"[^\W\d_]+$")
_TAIL = re.compile(r"[^\W\d_]+")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
# "up- and downlink": the hyphen stands for the word that follows later.
_SUSPENDED = re.compile(r"(and|or|to|nor)\b")


class Hyphens:
    """How words that are broken at a line end are written elsewhere in the document."""

    def __init__(self, pages: Sequence[Sequence[Line]]) -> None:
        self._counts = Counter(
            word.lower() for lines in pages for line in lines for word in _WORD.findall(line.text) if len(word) > 1
        )
        breaks = [
            (head.group(), tail.group())
            for lines in pages
            for above, below in pairwise(lines)
            if above.text.endswith(_LINE_HYPHENS)
            and (head := _HEAD.search(above.text[:-1])) is not None
            and (tail := _TAIL.match(below.text)) is not None
        ]
        num_hyphenated = sum(self._counts[f"{head}{tail}".lower()] > 0 for head, tail in breaks)
        self._hyphenates = num_hyphenated >= max(_MIN_HYPHENATED_WORDS, len(breaks) / 2)

    def _is_hyphenation(self, head: str, tail: str) -> bool:
        """Whether a word was broken; a compound ("time-frequency") keeps its hyphen."""
        whole = self._counts[f"{head}{tail}".lower()]
        compound = self._counts[f"{head}-{tail}".lower()]
        if whole or compound:
            return whole > compound
        # Neither is written elsewhere: in a hyphenated text, what is no word by itself is the end of one.
        return self._hyphenates and not (self._counts[head.lower()] > 1 and self._counts[tail.lower()] > 1)

    def join(self, above: str, below: str) -> str:
        """Join two lines, with a blank, or with the hyphen that ends the first, or without."""
        if not above.endswith(_LINE_HYPHENS) or not above[-2:-1].isalnum():
            return f"{above} {below}"
        if _SUSPENDED.match(below):
            return f"{above[:-1]}- {below}"
        head, tail = _HEAD.search(above[:-1]), _TAIL.match(below)
        if head and tail and below[0].islower() and self._is_hyphenation(head.group(), tail.group()):
            return above[:-1] + below
        return f"{above[:-1]}-{below}"


def _usual_gap(pages: Sequence[Sequence[Line]]) -> float:
    """Return the usual distance of two baselines, as a multiple of the font size."""
    gaps = [
        (above.baseline - below.baseline) / above.size
        for lines in pages
        for above, below in pairwise(lines)
        if 0.8 < (above.baseline - below.baseline) / above.size < 2.5
    ]
    return median(gaps) if gaps else 1.2


def _starts_paragraph(above: Line, below: Line, usual_gap: float, margin: float) -> bool:
    """Whether `below`, the next line of the same page, begins a paragraph of its own."""
    if above.is_table_row or below.is_table_row:
        return above.is_table_row != below.is_table_row
    gap = (above.baseline - below.baseline) / max(above.size, below.size)
    if gap < 0:
        # The top of the next column.
        return not _continues(above, above.text, below, margin)
    if gap > _PARAGRAPH_GAP * usual_gap:
        return gap > _LOOSE_GAP * usual_gap or not _goes_on(above, below, margin)
    return abs(above.size - below.size) > 0.1 * above.size or _ITEM.match(below.text) is not None


def _goes_on(above: Line, below: Line, margin: float) -> bool:
    """Whether a full line of a sentence is followed by the next one, in small letters."""
    is_full = above.right > margin - _FULL_LINE_REACH * above.size
    return (
        is_full and not above.text.endswith(_SENTENCE_ENDS) and below.text[:1].islower() and not _ITEM.match(below.text)
    )


def _continues(above: Line, paragraph: str, below: Line, margin: float) -> bool:
    """Whether a sentence goes on over the end of a page or column."""
    if above.is_table_row or below.is_table_row:
        return False
    if paragraph.endswith(_SENTENCE_ENDS) or _ITEM.match(below.text):
        return False
    if below.text[:1].islower():
        return True
    is_full = above.right > margin - _FULL_LINE_REACH * above.size
    return is_full and abs(above.size - below.size) < 0.1 * above.size and not _HEADING.match(below.text)


def _third_reach(lines: Iterable[Line], left_of: float = math.inf) -> float:
    """Return how far right the lines reach that begin left of something.

    Of five or more, three must reach there, so that no long title decides. `lines` are in the order of their ends,
    from the right.
    """
    reaches = list(islice((line.right for line in lines if line.left < left_of), _FEW_LINES))
    return reaches[2] if len(reaches) == _FEW_LINES else max(reaches, default=0.0)


def _right_margins(pages: Sequence[Sequence[Line]]) -> Iterator[list[float]]:
    """Yield, for each line of each page, how far right the text around it reaches.

    A page of short lines only, such as a listing, has the margin of the other pages.
    """
    from_the_right = [sorted(lines, key=lambda line: -line.right) for lines in pages]
    reaches = [_third_reach(lines) for lines in from_the_right]
    usual = median_high([reach for reach in reaches if reach] or [0.0])
    for lines, ordered, reach in zip(pages, from_the_right, reaches, strict=True):
        missing = max(0.0, usual - reach)
        yield [_third_reach(ordered, line.right) + missing for line in lines]


def _is_broken_on_purpose(above: Line, below: Line, margin: float) -> bool:
    """Whether the first word of `below` had room at the end of `above`, or both are rows in pieces: as in listings."""
    if len(above.cells) > 1 and len(below.cells) > 1:
        return True
    width = (below.right - below.left) / len(below.text) * (len(below.text.split(maxsplit=1)[0]) + 1)
    return above.right + 1.5 * width < margin


def paragraphs(pages: Sequence[Sequence[Line]]) -> Iterator[str]:
    """The lines of each page -> paragraphs, which may go on from page to page."""
    usual_gap = _usual_gap(pages)
    hyphens = Hyphens(pages)
    paragraph = ""
    above: Line | None = None
    margin = 0.0
    for lines, margins in zip(pages, _right_margins(pages), strict=True):
        is_first_of_page = True
        for line, line_margin in zip(lines, margins, strict=True):
            if above is None:
                is_new = True
            elif is_first_of_page:
                is_new = not _continues(above, paragraph, line, margin)
            else:
                is_new = _starts_paragraph(above, line, usual_gap, margin)
            if is_new and paragraph:
                yield paragraph
            if is_new or above is None:
                paragraph = line.text
            elif line.is_table_row or (not is_first_of_page and _is_broken_on_purpose(above, line, margin)):
                paragraph += f"\n{line.text}"
            else:
                paragraph = hyphens.join(paragraph, line.text)
            above, margin, is_first_of_page = line, line_margin, False
    if paragraph:
        yield paragraph
