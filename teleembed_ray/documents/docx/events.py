"""The main part -> a stream of events, read by libxml2; every element is freed as soon as it is read."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from lxml import etree

from teleembed_ray.documents.document import Unreadable
from teleembed_ray.documents.docx.names import w
from teleembed_ray.documents.docx.package import PARSER_OPTIONS, BoundedFile, refuse_doctype
from teleembed_ray.documents.docx.paragraph import ALTERNATE, CHOICE, FALLBACK, P, Paragraph, read_paragraph
from teleembed_ray.documents.docx.styles import Styles


class Event(NamedTuple):
    """Something met outside of paragraphs: "+tr" and "-tr" for begin and end of a row, or a whole paragraph as "p"."""

    name: str
    paragraph: Paragraph | None = None
    # Of a table that is not read but counted.
    num_chars: int = 0


# Begin and end matter.
NESTING = {
    **{w(name): name for name in ("tbl", "tr", "tc")},
    ALTERNATE: "AlternateContent",
    CHOICE: "Choice",
    FALLBACK: "Fallback",
}
# Meant by an element within the properties of a row or a cell, or by one that stands alone.
DELETED_ROW, DELETED_CELL, IMPORTED = "deleted row", "deleted cell", "imported"
# A whole table of which only the characters are counted.
COUNTED_TABLE = "counted table"
_TRPR, _CELL_DELETED, _ALT_CHUNK, _DEL = map(w, ("trPr", "cellDel", "altChunk", "del"))


def read_events(file: BoundedFile, styles: Styles) -> Iterator[Event]:
    """Main part -> its paragraphs and the bounds of its tables in document order; raises Unreadable."""
    num_open_paragraphs = 0
    is_checked = False
    tags = (P, _TRPR, _CELL_DELETED, _ALT_CHUNK, *NESTING)
    try:
        for kind, element in etree.iterparse(file, events=("start", "end"), tag=tags, **PARSER_OPTIONS):
            if not is_checked:
                refuse_doctype(element)
                is_checked = True
            if element.tag == P:
                num_open_paragraphs += 1 if kind == "start" else -1
            # What lies inside a paragraph (text boxes and all that they hold) is read with that paragraph.
            if num_open_paragraphs:
                continue
            event = _event(kind, element, styles)
            if event is not None:
                yield event
            if kind == "end":
                _free(element)
    except etree.XMLSyntaxError as error:
        raise Unreadable("damaged", f"its XML is broken ({error.msg}): open it in Word and save it again") from None


def _event(kind: str, element: Any, styles: Styles) -> Event | None:
    tag = element.tag
    if tag in NESTING:
        return Event(f"{'+' if kind == 'start' else '-'}{NESTING[tag]}")
    if kind == "start":
        return None
    if tag == P:
        return Event("p", read_paragraph(element, styles))
    if tag == _ALT_CHUNK:
        return Event(IMPORTED)
    if tag == _CELL_DELETED:
        return Event(DELETED_CELL)
    return Event(DELETED_ROW) if element.find(_DEL) is not None else None


def _free(element: Any) -> None:
    """Drop what is below an element, and all that stands before it."""
    element.clear()
    while element.getprevious() is not None:
        del element.getparent()[0]
