"""Markdown -> its source text without tables and images.

The marks of headings, lists and emphasis stay: they cost few tokens, and a heading without its mark is a stray line.
Pipe tables, HTML tables and images (inline, by reference, HTML, or as data in a link) are left out and counted; what
looks like one inside of code or of a comment is none and stays.

Everything here takes time in proportion to the text: repetitions that may fail are bounded, and what closes something
is looked up and not searched for again.
"""

import re
from collections.abc import Iterator

from teleembed_ray.documents.decoding import decode
from teleembed_ray.documents.document import Document
from teleembed_ray.documents.titles import choose_title

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_INDENTED = re.compile(r"(?: {4}| {0,3}\t)")
_LIST_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_BACKTICKS_OR_COMMENT = re.compile(r"`+|<!--|-->")
_DELIMITER_CELL = re.compile(r"\s*:?-+:?\s*")
# The name in brackets may hold brackets itself, one level deep: [![build](a.svg)](b) is an image in a link.
_NAME, _TARGET = r"[^\]\n]{0,1000}", r"[^)\n]{0,2000}"
_IMAGE = re.compile(
    rf"\[!\[{_NAME}\]\({_TARGET}\)\]\({_TARGET}\)|!\[{_NAME}\](\({_TARGET}\)|\[{_NAME}\])|<img\b[^>]{{0,2000}}>",
    re.IGNORECASE,
)
# A picture written out in the source is longer than any name of a file.
_INLINE_DATA = re.compile(r"data:[a-z]{1,40}/[a-z0-9.+-]{1,80};base64,[a-z0-9+/=]*", re.IGNORECASE)
_HTML_TAG = re.compile(r"<(/?)(table|figure|svg)\b[^>]{0,2000}>", re.IGNORECASE)
_ATX_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+)$", re.MULTILINE)
_SETEXT_HEADING = re.compile(r"^(?![ \t]*$)(.+)\n {0,3}(?:=+|-+)[ \t]*$", re.MULTILINE)


def _split_fences(text: str) -> list[tuple[bool, str]]:
    """Return (whether it is a fenced block, lines) in order; an unclosed fence reaches to the end."""
    parts: list[tuple[bool, list[str]]] = [(False, [])]
    fence = ""
    for line in text.splitlines(keepends=True):
        match = _FENCE.match(line)
        if not fence and match:
            fence = match.group(1)
            parts.append((True, [line]))
        elif fence and match and match.group(1).startswith(fence) and not line[match.end() :].strip():
            fence = ""
            parts[-1][1].append(line)
            parts.append((False, []))
        else:
            parts[-1][1].append(line)
    return [(is_code, "".join(lines)) for is_code, lines in parts]


def _is_delimiter_row(line: str) -> bool:
    row = line.strip().removeprefix("|").removesuffix("|")
    return "-" in row and all(map(_DELIMITER_CELL.fullmatch, row.split("|")))


def _without_pipe_tables(text: str) -> str:
    """Remove each header row, its delimiter row, and the rows up to a blank line or one without a pipe."""
    kept: list[str] = []
    in_table = False
    for line in text.splitlines(keepends=True):
        if in_table and "|" in line:
            continue
        in_table = bool(kept) and "|" in kept[-1] and "|" in line and _is_delimiter_row(line)
        if in_table:
            kept.pop()
        else:
            kept.append(line)
    return "".join(kept)


def _without_indented_code(text: str) -> str:
    """text -> the same length, with lines of indented code blanked: indented behind a blank line and in no list."""
    lines: list[str] = []
    was_blank, in_code, in_list = True, False, False
    for line in text.splitlines(keepends=True):
        is_blank, is_indented = not line.strip(), _INDENTED.match(line) is not None
        if not is_blank:
            in_code = is_indented and not in_list and (was_blank or in_code)
            if _LIST_ITEM.match(line):
                in_list = True
            elif was_blank and not line[0].isspace():
                in_list = False
        lines.append(" " * (len(line) - 1) + line[-1] if in_code and not is_blank else line)
        was_blank = is_blank
    return "".join(lines)


def _without_code_and_comments(text: str) -> str:
    """text -> the same length, with indented code, code spans and comments blanked."""
    text = _without_indented_code(text)
    marks = list(_BACKTICKS_OR_COMMENT.finditer(text))
    partners: list[int | None] = [None] * len(marks)
    latest: dict[str, int] = {}
    for index in range(len(marks) - 1, -1, -1):
        mark = marks[index][0]
        partners[index] = latest.get("-->" if mark == "<!--" else mark)
        latest[mark] = index
    pieces: list[str] = []
    position = index = 0
    while index < len(marks):
        begin, partner = marks[index], partners[index]
        index += 1
        if partner is None or begin[0] == "-->":
            continue
        end = marks[partner].end()
        # A code span lies within one paragraph.
        if begin[0] == "<!--" or text.find("\n\n", begin.start(), end) < 0:
            pieces += (text[position : begin.start()], " " * (end - begin.start()))
            position, index = end, partner + 1
    return "".join([*pieces, text[position:]])


def _html_tables(text: str) -> Iterator[tuple[int, int]]:
    """text -> (begin, end) of each element whose end tag is there; those inside of others come along."""
    opened: list[tuple[str, int]] = []
    num_open: dict[str, int] = {}
    for tag in _HTML_TAG.finditer(text):
        name = tag[2].lower()
        if not tag[1]:
            opened.append((name, tag.start()))
            num_open[name] = num_open.get(name, 0) + 1
        elif num_open.get(name):
            # What was opened since and not closed is part of it.
            while (last := opened.pop())[0] != name:
                num_open[last[0]] -= 1
            num_open[name] -= 1
            yield last[1], tag.end()


def _prose_only(text: str) -> str:
    """Markdown without fenced blocks -> the same without tables and images."""
    text = _without_pipe_tables(text)
    outside = _without_code_and_comments(text)
    images = (match.span() for pattern in (_IMAGE, _INLINE_DATA) for match in pattern.finditer(outside))
    kept: list[str] = []
    position = 0
    for begin, end in sorted([*_html_tables(outside), *images]):
        if end > position:
            kept.append(text[position : max(begin, position)])
            position = end
    return "".join([*kept, text[position:]])


def read_markdown(path: str, data: bytes) -> Document:
    """Markdown bytes -> Document, titled by its first heading, else by its name; raises Unreadable."""
    parts = _split_fences(decode(data))
    kept = [(is_code, part if is_code else _prose_only(part)) for is_code, part in parts]
    num_dropped_chars = sum(len(part) for _, part in parts) - sum(len(part) for _, part in kept)
    prose = "\n".join(part for is_code, part in kept if not is_code)
    atx, setext = _ATX_HEADING.search(prose), _SETEXT_HEADING.search(prose)
    headings = [atx[1].rstrip().rstrip("#").rstrip()] if atx else []
    headings += [setext[1]] if setext else []
    title = choose_title(*headings, path=path)
    return Document(title, re.sub(r"\n{3,}", "\n\n", "".join(part for _, part in kept)), "markdown", num_dropped_chars)
