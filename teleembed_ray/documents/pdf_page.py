"""One page of a PDF, read."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from teleembed_ray.documents.pdf_drawing import Drawing, read_drawing
from teleembed_ray.documents.pdf_layout import Frame, Line, TextPage


@dataclass(frozen=True)
class Page:
    """The upright lines of a page in the order of its content, the texts that run another way, and what is drawn."""

    lines: tuple[Line, ...]
    turned_texts: tuple[str, ...]
    drawing: Drawing
    frame: Frame
    outermost: frozenset[Line] = field(default_factory=frozenset)

    @property
    def height(self) -> float:
        return self.frame.height

    def with_lines(self, lines: Iterable[Line]) -> "Page":
        return replace(self, lines=tuple(lines))


def read_page(page: Any) -> Page:
    """A page of PDFium -> Page."""
    textpage = TextPage(page)
    try:
        frame, lines, turned_texts = textpage.read()
    finally:
        textpage.close()
    ends = (min, max) if lines else ()
    heights = {end(line.baseline for line in lines) for end in ends}
    outermost = frozenset(line for line in lines if line.baseline in heights)
    return Page(lines, turned_texts, read_drawing(page, frame), frame, outermost)
