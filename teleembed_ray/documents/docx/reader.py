"""DOCX -> text, in one streaming pass over the main part.

What a reader of the printed page would see is read once and in order; docs/documents.md says what becomes of every
structure of a Word file. Left out are tables, labels inside figures and contents lists; headers, footers and comments,
which are parts of their own; and hidden or deleted text.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.docx.blocks import Block, BlockReader
from teleembed_ray.documents.docx.events import read_events
from teleembed_ray.documents.docx.notes import read_notes
from teleembed_ray.documents.docx.numbering import Numbering, read_numbering
from teleembed_ray.documents.docx.package import Package
from teleembed_ray.documents.docx.shapes import Unusual, read_events_by_shape
from teleembed_ray.documents.docx.styles import Styles, read_styles
from teleembed_ray.documents.titles import choose_title

_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"
# Blocks of these kinds that follow each other are lines of one listing, or of one table.
_LINES = ("code", "table_row")


def docx_blocks(data: bytes) -> Iterator[Block]:
    """DOCX, DOCM, DOTX or DOTM bytes -> all blocks in reading order, tables, figures and contents lists too.

    Raises Unreadable, also midway: what follows a damaged place cannot be read. An empty block of code is a blank line.
    """
    with Package(data) as package:
        styles = _read_styles(package)
        with package.stream(package.main_part) as file:
            yield from _block_reader(package, styles).read(read_events(file, styles))


def _read_styles(package: Package) -> Styles:
    return read_styles(package.related_tree("styles"))


def _block_reader(package: Package, styles: Styles) -> BlockReader:
    def numbering() -> Numbering:
        lists = {style_id: style.num_id for style_id, style in styles.by_id.items() if style.num_id is not None}
        return read_numbering(package.related_tree("numbering"), lists)

    return BlockReader(styles, numbering, read_notes(package, styles))


@dataclass
class Body:
    """The text of a document as it grows."""

    keep_tables: bool
    paragraphs: list[str] = field(default_factory=list)
    num_dropped_chars: int = 0
    title: str = ""
    heading: str = ""
    _last_kind: str = ""

    def add(self, blocks: Iterable[Block]) -> "Body":
        """Add all blocks and return the body."""
        for kind, text, _, num_chars in blocks:
            if kind == "figure" or (kind == "table_row" and not self.keep_tables):
                self.num_dropped_chars += num_chars
            elif kind != "contents":
                self._add_text(kind, text)
        return self

    def _add_text(self, kind: str, text: str) -> None:
        if kind == self._last_kind and kind in _LINES and text:
            self.paragraphs[-1] += f"\n{text}"
        elif text:
            self.paragraphs.append(text)
        # A blank line in a listing is a good place to cut.
        self._last_kind = kind if text else ""
        if kind == "title":
            self.title = self.title or text
        elif kind == "heading":
            self.heading = self.heading or text


def _read_body(package: Package, keep_tables: bool) -> Body:
    """Read the main part the fast way, or where that is not sure of itself, from its beginning with a parser."""
    styles = _read_styles(package)
    try:
        with package.stream(package.main_part) as file:
            events = read_events_by_shape(file, styles, keep_tables=keep_tables)
            return Body(keep_tables).add(_block_reader(package, styles).read(events))
    except Unusual:
        with package.stream(package.main_part) as file:
            return Body(keep_tables).add(_block_reader(package, styles).read(read_events(file, styles)))


def read_docx(path: str, data: bytes, *, keep_tables: bool = False) -> Document:
    """DOCX, DOCM, DOTX or DOTM bytes -> Document; raises Unreadable.

    With `keep_tables` every row of a table is a line, its cells apart by tabs. The title is the one in the properties
    where that says something, else the paragraph in the style Title, the first paragraph, the first heading, or the
    file's name.
    """
    with Package(data) as package:
        body = _read_body(package, keep_tables)
        core = package.core_properties()
    if not body.paragraphs:
        raise Unreadable("no_text", "it has no text outside of tables and figures: leave it out")
    core_title = None if core is None else core.findtext(_DC_TITLE)
    title = choose_title(core_title, body.title, body.paragraphs[0], body.heading, path=path)
    return Document(title, "\n\n".join(body.paragraphs), "docx", body.num_dropped_chars)
