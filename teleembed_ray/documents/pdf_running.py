"""What returns from page to page: running headers and footers, page numbers, stamps; and contents lists."""

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from teleembed_ray.documents.pdf_layout import Line
from teleembed_ray.documents.pdf_page import Page

# The share of a page's height, at either end, where running lines are looked for.
_MARGIN_FRACTION = 0.12
_MIN_RUNNING_FRACTION = 0.2
_MIN_STAMP_FRACTION = 0.5
# A running title changes with the chapter: it returns on so many pages of any window of so many.
_MIN_CHAPTER_PAGES = 3
_CHAPTER_WINDOW = 6
# A stamp stands apart from the text around it, or is larger.
_STAMP_SIZE = 1.5
_STAMP_DISTANCE = 3.0

_NUMBER = re.compile(r"\d+")
_ROMAN = re.compile(r"[ivxlc]+")
_LEADERS = re.compile(
    r"(\.{4,}|(\. ){4,}|\u2026{2,}|_{6,}|\u00b7{4,}|(\u00b7 ){4,})\s*([\divxlc]+|[A-Z]-\d+)$|(\.{9,}|(\. ?){9,})$"
)
_PAGE_NUMBER = re.compile(r"(\d{1,4}|[ivxlc]{1,7})$")
_CONTENTS_HEADING = re.compile(r"(table of )?contents|(list of )?(figures|tables)|table of figures", re.IGNORECASE)
_MIN_CONTENTS_LINES = 3
_MAX_WRAPPED_LINES = 2
_ALIGNED_PT = 4.0


def _masked(text: str) -> str:
    """Return a running line without what changes from page to page: numbers, and a page number in roman figures."""
    return "#" if _ROMAN.fullmatch(text) else _NUMBER.sub("#", " ".join(text.split()))


def _margin_lines(page: Page) -> Iterator[tuple[str, Line]]:
    margin = _MARGIN_FRACTION * page.height
    for line in page.lines:
        if line.baseline < margin or line.baseline > page.height - margin:
            yield ("bottom" if line.baseline < margin else "top"), line


def _numbers_at_ends(text: str) -> Iterator[int]:
    """Yield the numbers that a line begins or ends with: one may be the page's."""
    words = text.split()
    yield from {int(word) for word in (words[0], words[-1]) if word.isascii() and word.isdigit() and len(word) < 6}


def _keys(number: int, end: str, line: Line, is_outermost: bool) -> Iterator[tuple[str, Hashable]]:
    """Yield what a margin line may share with those of other pages: text, count of pages, or text and place."""
    yield "text", (end, _masked(line.text))
    place = round(line.baseline)
    for count in _numbers_at_ends(line.text):
        yield "count", (end, place, count - number)
    if is_outermost:
        yield "place", (end, place, line.text)


def _running_lines(pages: Sequence[Page]) -> set[Line]:
    """Return the margin lines that return: by their text, by a number that counts the pages, or within a chapter."""
    found: dict[tuple[str, Hashable], list[int]] = defaultdict(list)
    keys: dict[Line, list[tuple[str, Hashable]]] = {}
    for number, page in enumerate(pages):
        for end, line in _margin_lines(page):
            keys[line] = list(_keys(number, end, line, line in page.outermost))
            for key in keys[line]:
                found[key].append(number)
    fewest = {
        "text": max(min(3, len(pages)), 2, _MIN_RUNNING_FRACTION * len(pages)),
        "count": max(3, _MIN_RUNNING_FRACTION * len(pages)),
    }
    running = {
        key
        for key, numbers in found.items()
        if (_is_chapter_title(numbers) if key[0] == "place" else len(set(numbers)) >= fewest[key[0]])
    }
    return {line for line, of_line in keys.items() if not running.isdisjoint(of_line)}


def _is_chapter_title(numbers: Sequence[int]) -> bool:
    first_and_last = zip(numbers, numbers[_MIN_CHAPTER_PAGES - 1 :], strict=False)
    return any(last - first < _CHAPTER_WINDOW for first, last in first_and_last)


def _stamps(pages: Sequence[Page]) -> set[Line]:
    """Return the lines that stand on most pages at one place, and are larger than the text or apart from it."""
    sizes = [line.size for page in pages for line in page.lines]
    usual_size = median(sizes) if sizes else 1.0
    found = defaultdict(list)
    for page in pages:
        for line in page.lines:
            found[line.text, round(line.left), round(line.baseline)].append((page, line))
    fewest = max(3, _MIN_STAMP_FRACTION * len(pages))
    return {
        line
        for places in found.values()
        if len(places) >= fewest and all(_stands_out(page, line, usual_size) for page, line in places)
        for _, line in places
    }


def _stands_out(page: Page, line: Line, usual_size: float) -> bool:
    if line.size > _STAMP_SIZE * usual_size:
        return True
    reach = _STAMP_DISTANCE * line.size
    return not any(
        other is not line
        and abs(other.baseline - line.baseline) < reach
        and other.left - reach < line.right
        and line.left < other.right + reach
        for other in page.lines
    )


def without_running_lines(pages: Sequence[Page]) -> list[Page]:
    """pages -> pages without running lines, page numbers and stamps."""
    dropped = _running_lines(pages) | _stamps(pages) if len(pages) > 1 else set()
    return [page.with_lines(line for line in page.lines if line not in dropped) for page in pages]


def repeated_texts(texts: Iterable[tuple[int, str]], num_pages: int) -> set[str]:
    """(page, text) of turned lines -> the texts that are stamped on a fifth of the pages, and on two at least."""
    counts = Counter(text for _, text in set(texts))
    return {text for text, count in counts.items() if count >= max(2, _MIN_RUNNING_FRACTION * num_pages)}


def _with_page_numbers(lines: Sequence[Line]) -> dict[Line, Line]:
    """Map lines to the page numbers on their baseline, where a page writes the numbers of a contents list apart."""
    numbers = [line for line in lines if _PAGE_NUMBER.match(line.text)]
    partners: dict[Line, Line] = {}
    for number in numbers:
        row = [
            line
            for line in lines
            if line is not number and abs(line.baseline - number.baseline) < 1 and line.right < number.left
        ]
        if row:
            partners[max(row, key=lambda line: line.right)] = number
    return partners


def _entry_page(line: Line, number: Line | None) -> tuple[int, float] | None:
    """Return the page that a line of a contents list names, and where its number ends; None for other lines."""
    last = number.cells[-1] if number else line.cells[-1]
    title = line.text if number else line.text[: -len(last.text)]
    if not (number or len(line.cells) > 1) or not any(character.isalpha() for character in title):
        return None
    if not last.text.isdigit():
        return (0, last.right) if _ROMAN.fullmatch(last.text) else None
    return int(last.text), last.right


def _undotted_entries(lines: Sequence[Line], num_pages: int) -> set[Line]:
    """Return the lines, after the heading of a contents list, that end in the rising numbers of pages at one edge."""
    partners = _with_page_numbers(lines)
    numbers = set(partners.values())
    entries: set[Line] = set()
    run: list[Line] = []
    last_page, edge = 0, 0.0
    for line in [*lines, None]:
        if line in numbers:
            continue
        entry = _entry_page(line, partners.get(line)) if line else None
        if (
            line
            and entry
            and last_page <= entry[0] <= 2 * num_pages + 50
            and (not run or abs(entry[1] - edge) < _ALIGNED_PT)
        ):
            run.append(line)
            last_page, edge = entry
            continue
        if len(run) >= _MIN_CONTENTS_LINES:
            entries.update(run)
        run, last_page = [], 0
    return entries | {partners[line] for line in entries if line in partners}


def _contents_lines(page: Page, num_pages: int, in_contents: bool) -> set[Line]:
    """Return the lines of a page that belong to a contents list: entries, their wrapped titles, and the headings."""
    lines = page.lines
    entries = {line for line in lines if _LEADERS.search(line.text)}
    headings = {line for line in lines if _CONTENTS_HEADING.fullmatch(line.text.strip())}
    if in_contents or headings:
        entries |= _undotted_entries(lines, num_pages)
    if not entries:
        return set()
    places = [index for index, line in enumerate(lines) if line in entries]
    for before, after in pairwise(places):
        between = lines[before + 1 : after]
        if len(between) <= _MAX_WRAPPED_LINES and not any(line in headings for line in between):
            entries |= set(between)
    return entries | headings


def without_contents(pages: Sequence[Page]) -> list[Page]:
    """pages -> pages without contents lists, which name other places of the document and say nothing themselves."""
    kept = []
    in_contents = False
    for page in pages:
        contents = _contents_lines(page, len(pages), in_contents)
        in_contents = bool(contents)
        kept.append(page.with_lines(line for line in page.lines if line not in contents))
    return kept
