"""DOCX -> text, in one streaming pass over the main part.

What a reader of the printed page would see is read once and in order; docs/documents.md says what becomes of every
structure of a Word file. Left out are tables, labels inside figures and contents lists; headers, footers and comments,
which are parts of their own; and hidden or deleted text.
"""

from collections.abc import Iterator
from itertools import islice

from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.docx.blocks import Block, BlockReader
from teleembed_ray.documents.docx.events import Event, read_events
from teleembed_ray.documents.docx.notes import read_notes
from teleembed_ray.documents.docx.numbering import read_numbering
from teleembed_ray.documents.docx.package import Package
from teleembed_ray.documents.docx.shapes import Unusual, read_events_by_shape
from teleembed_ray.documents.docx.styles import Styles, read_styles
from teleembed_ray.documents.titles import choose_title

_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"
# Blocks of these kinds that follow each other are lines of one listing, or of one table.
_LINES = ("code", "table_row")


def docx_blocks(data: bytes) -> Iterator[Block]:
    """DOCX, DOCM, DOTX or DOTM bytes -> all blocks in reading order, contents lists and figures too.

    Raises Unreadable, also midway: what follows a damaged place cannot be read. An empty block of code is a blank line.
    """
    with Package(data) as package:
        yield from _blocks(package)


def _blocks(package: Package) -> Iterator[Block]:
    styles = read_styles(package.related_tree("styles"))
    lists = {style_id: style.num_id for style_id, style in styles.by_id.items() if style.num_id is not None}
    numbering = read_numbering(package.related_tree("numbering"), lists)
    reader = BlockReader(styles, numbering, read_notes(package, styles))
    yield from reader.read(_events(package, styles))


def _events(package: Package, styles: Styles) -> Iterator[Event]:
    """Yield the events of the main part, by the fast way as far as it goes."""
    num_read = 0
    try:
        with package.stream(package.main_part) as file:
            for event in read_events_by_shape(file, styles):
                yield event
                num_read += 1
    except Unusual:
        with package.stream(package.main_part) as file:
            yield from islice(read_events(file, styles), num_read, None)


def read_docx(path: str, data: bytes, *, keep_tables: bool = False) -> Document:
    """DOCX, DOCM, DOTX or DOTM bytes -> Document; raises Unreadable.

    With `keep_tables` every row of a table is a line, its cells apart by " | ". The title is the one in the properties
    where that says something, else the paragraph in the style Title, the first paragraph, the first heading, or the
    file's name.
    """
    paragraphs: list[str] = []
    num_dropped_chars = 0
    title = heading = ""
    last_kind = ""
    with Package(data) as package:
        for kind, text, _, num_chars in _blocks(package):
            if kind == "figure" or (kind == "table_row" and not keep_tables):
                num_dropped_chars += num_chars
                continue
            if kind == "contents":
                continue
            if kind == last_kind and kind in _LINES and text:
                paragraphs[-1] += f"\n{text}"
            elif text:
                paragraphs.append(text)
            # A blank line in a listing is a good place to cut.
            last_kind = kind if text else ""
            if kind == "title":
                title = title or text
            elif kind == "heading":
                heading = heading or text
        core = package.core_properties()
    if not paragraphs:
        raise Unreadable("no_text", "it has no text outside of tables and figures: leave it out")
    core_title = None if core is None else core.findtext(_DC_TITLE)
    title = choose_title(core_title, title, paragraphs[0], heading, path=path)
    return Document(title, "\n\n".join(paragraphs), "docx", num_dropped_chars)
