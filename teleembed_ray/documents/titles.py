"""Which of the candidates is the title of a document."""

import re
from pathlib import PurePosixPath

from teleembed_ray.documents.characters import clean_prose

MAX_TITLE_CHARS = 160

_PRODUCER = re.compile(r"^microsoft\s+word\s*-\s*", re.IGNORECASE)
# What word processors and templates put in place of a title, and headings that every specification begins with.
_EMPTY = re.compile(
    r"(untitled|title|document|doc|presentation|draft|anonymous|no title|contents|table of contents|foreword|scope|"
    r"introduction|general|revision history|list of (figures|tables))?[\s\d_.:-]*",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\b(template|skeleton|ab\.cde|xx\.yyy|\d+\.x+\d*)\b", re.IGNORECASE)


def _usable(candidate: str | None) -> str:
    line = _PRODUCER.sub("", " ".join(clean_prose(candidate or "").split()))
    is_sentence = line.endswith(".") and line.count(" ") > 8
    unnumbered = re.sub(r"^[\d.]+\s+", "", line)
    if _EMPTY.fullmatch(unnumbered) or _PLACEHOLDER.search(line) or is_sentence or len(line) > MAX_TITLE_CHARS:
        return ""
    return line


def choose_title(*candidates: str | None, path: str) -> str:
    """Return the first candidate that says something, on one line, else the file's name without its suffix."""
    fallback = clean_prose(PurePosixPath(path).stem)
    return next((title for title in map(_usable, candidates) if title), fallback)
