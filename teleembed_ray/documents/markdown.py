"""Markdown -> its source text without tables and images.

The marks of headings, lists and emphasis stay: they cost few tokens, and a heading without its mark is a stray line.
Pipe tables, HTML tables and images (inline, by reference, HTML) are left out and counted; what looks like one inside a
fenced block is code and stays.
"""

import re

from teleembed_ray.documents.decoding import decode
from teleembed_ray.documents.document import Document
from teleembed_ray.documents.titles import choose_title

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_DELIMITER_ROW = re.compile(r"\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*")
# The name in brackets may hold brackets itself, one level deep: [![build](a.svg)](b) is an image in a link.
_IMAGE = re.compile(
    r"\[!\[[^\]\n]*\]\([^)\n]*\)\]\([^)\n]*\)|!\[[^\]\n]*\](\([^)\n]*\)|\[[^\]\n]*\])|<img\b[^>]*>", re.IGNORECASE
)
_HTML_TABLE = re.compile(r"<(table|figure|svg)\b.*?</\1\s*>", re.IGNORECASE | re.DOTALL)
_ATX_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
_SETEXT_HEADING = re.compile(r"^(?![ \t]*$)(.+)\n {0,3}(=+|-+)[ \t]*$", re.MULTILINE)


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


def _without_pipe_tables(text: str) -> str:
    """Remove each header row, its delimiter row, and the rows up to a blank line or one without a pipe."""
    kept: list[str] = []
    in_table = False
    for line in text.splitlines(keepends=True):
        if in_table and "|" in line:
            continue
        in_table = bool(kept) and "|" in kept[-1] and "|" in line and _DELIMITER_ROW.fullmatch(line) is not None
        if in_table:
            kept.pop()
        else:
            kept.append(line)
    return "".join(kept)


def _prose_only(text: str) -> str:
    return _IMAGE.sub("", _HTML_TABLE.sub("", _without_pipe_tables(text)))


def read_markdown(path: str, data: bytes) -> Document:
    """Markdown bytes -> Document, titled by its first heading, else by its name; raises Unreadable."""
    parts = _split_fences(decode(data))
    kept = [(is_code, part if is_code else _prose_only(part)) for is_code, part in parts]
    num_dropped_chars = sum(len(part) for _, part in parts) - sum(len(part) for _, part in kept)
    prose = "\n".join(part for is_code, part in kept if not is_code)
    headings = (pattern.search(prose) for pattern in (_ATX_HEADING, _SETEXT_HEADING))
    title = choose_title(*(heading.group(1) for heading in headings if heading), path=path)
    return Document(title, re.sub(r"\n{3,}", "\n\n", "".join(part for _, part in kept)), "markdown", num_dropped_chars)
