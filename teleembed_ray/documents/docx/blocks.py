"""Events -> blocks: the text of a document in reading order, each block with its kind."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from teleembed_ray.documents.document import Unreadable
from teleembed_ray.documents.docx.events import COUNTED_TABLE, DELETED_CELL, DELETED_ROW, IMPORTED, Event
from teleembed_ray.documents.docx.numbering import BULLET_LABEL, Numbering
from teleembed_ray.documents.docx.paragraph import Figure, Note, Paragraph, Properties, count_chars
from teleembed_ray.documents.docx.styles import Style, Styles, kind_of_outline

BlockKind = Literal[
    "title", "heading", "paragraph", "list_item", "caption", "code", "note", "table_row", "figure", "contents"
]
# As in the tables of a PDF file.
CELL_SEPARATOR = "\t"
_ALTERNATIVES = frozenset(f"{sign}{name}" for sign in "+-" for name in ("AlternateContent", "Choice", "Fallback"))
_NUMBER_GOES_ON = re.compile(r"\w|\.\d")
_PAGE_NUMBER = re.compile(r"\t[\divxlc]+$")
_LAST_NUMBER = re.compile(r"[\t ][\divxlc]+$")
# A clause number as 3GPP types it, with a tab behind.
_TYPED_NUMBER = re.compile(r"(?:\d+|[A-Z]\.\d+)(?:\.\d+)*[A-Za-z]?[.)]?\t")


class Block(NamedTuple):
    """One paragraph, or one row of a table.

    `level` is that of a heading (1 is the highest) or of a list item (0 is the outermost). `num_chars` counts the
    characters that are in the file, so without computed numbers and separators of cells; the tables of a reader that
    only counts them have no text.
    """

    kind: BlockKind
    text: str
    level: int = 0
    num_chars: int = 0


@dataclass
class _Cell:
    # Its paragraphs, those of nested tables among them.
    parts: list[str] = field(default_factory=list)
    num_chars: int = 0


@dataclass
class _Row:
    cells: list[_Cell] = field(default_factory=list)
    is_deleted: bool = False


def _is_typed(number: str, heading: str) -> bool:
    """Whether a heading already begins with a number: the one that Word computes, or one before a tab."""
    if _TYPED_NUMBER.match(heading):
        return True
    # The 3 of "3GPP" is no number, and neither is that of "3.1 Terms" the third.
    return heading.startswith(number) and not _NUMBER_GOES_ON.match(heading, len(number))


class BlockReader:
    """Puts together what belongs together: rows of their cells, numbers and text, joined paragraphs, notes."""

    def __init__(self, styles: Styles, read_numbering: Callable[[], Numbering], notes: Mapping[Note, str]) -> None:
        self._styles = styles
        self._read_numbering = read_numbering
        self._notes = notes
        self._notes_left = dict(notes)
        self._rows: list[_Row] = []
        # Alternative contents that are open: whether one of them is already read. The others are skipped.
        self._alternatives: list[bool] = []
        self._num_skipped = 0
        self._joined: list[Paragraph] = []

    @cached_property
    def _numbering(self) -> Numbering:
        # Many documents have large definitions of lists and no list.
        return self._read_numbering()

    def read(self, events: Iterable[Event]) -> Iterator[Block]:
        """Yield the blocks of a document; raises Unreadable for what cannot be read in part."""
        for name, paragraph, num_chars in events:
            if name in _ALTERNATIVES:
                self._step_alternatives(name)
            elif self._num_skipped:
                continue
            elif paragraph is not None:
                yield from self._read_paragraph(paragraph)
            elif name == COUNTED_TABLE:
                yield from self._end_joining()
                if self._rows:
                    self._add_to_cell([], num_chars)
                else:
                    yield Block("table_row", "", num_chars=num_chars)
            else:
                yield from self._step_table(name)
        yield from self._end_joining()

    def _end_joining(self) -> Iterator[Block]:
        """Yield what would be joined with the next paragraph, where there is none: at the end, or before a table."""
        if self._joined:
            *self._joined, last = self._joined
            yield from self._read_paragraph(last._replace(properties=last.properties._replace(joins_next=False)))

    def _step_alternatives(self, name: str) -> None:
        """Follow alternative contents, of which the first is read."""
        if name == "+AlternateContent":
            self._alternatives.append(False)
        elif name == "-AlternateContent":
            self._alternatives.pop()
        elif name in ("+Choice", "+Fallback"):
            if self._num_skipped or self._alternatives[-1:] == [True]:
                self._num_skipped += 1
        elif self._num_skipped:
            self._num_skipped -= 1
        elif self._alternatives:
            self._alternatives[-1] = True

    def _step_table(self, name: str) -> Iterator[Block]:
        if name == "+tbl":
            yield from self._end_joining()
        elif name == "+tr":
            self._rows.append(_Row())
        elif name == "+tc" and self._rows:
            self._rows[-1].cells.append(_Cell())
        elif name == DELETED_ROW and self._rows:
            self._rows[-1].is_deleted = True
        elif name == DELETED_CELL and self._rows and self._rows[-1].cells:
            self._rows[-1].cells.pop()
        elif name == "-tr" and self._rows:
            yield from self._end_row(self._rows.pop())
        elif name == IMPORTED:
            raise Unreadable(
                "unsupported", "it imports another file that Word has not merged yet: open it in Word and save it again"
            )

    def _end_row(self, row: _Row) -> Iterator[Block]:
        if row.is_deleted:
            return
        num_chars = sum(cell.num_chars for cell in row.cells)
        if self._rows:
            for cell in row.cells:
                self._add_to_cell(cell.parts, cell.num_chars)
        elif num_chars or any(cell.parts for cell in row.cells):
            line = CELL_SEPARATOR.join(" ".join(cell.parts) for cell in row.cells)
            yield Block("table_row", line.rstrip(), num_chars=num_chars)

    def _add_to_cell(self, parts: list[str], num_chars: int) -> None:
        if self._rows[-1].cells:
            cell = self._rows[-1].cells[-1]
            cell.parts += filter(None, parts)
            cell.num_chars += num_chars

    def _read_paragraph(self, paragraph: Paragraph) -> Iterator[Block]:
        if any(row.is_deleted for row in self._rows):
            return
        if paragraph.properties.joins_next:
            self._joined.append(paragraph)
            return
        if self._joined:
            # The mark that is left is that of the last paragraph, and with it come style and number.
            parts = [*self._joined, paragraph]
            self._joined = []
            paragraph = Paragraph(
                paragraph.properties,
                "".join(part.text for part in parts),
                [item for part in parts for item in part.anchored],
            )
        if self._rows:
            self._read_cell_paragraph(paragraph)
        else:
            yield from self._read_body_paragraph(paragraph)

    def _read_cell_paragraph(self, paragraph: Paragraph) -> None:
        text = paragraph.text.strip()
        label = self._label(paragraph.properties, self._styles.get(paragraph.properties.style_id), text)
        line = " ".join(f"{label}{text}".split()) if text else ""
        self._add_to_cell([line], count_chars(paragraph.text))
        for item in paragraph.anchored:
            if isinstance(item, Paragraph):
                self._read_cell_paragraph(item)
            else:
                text = item.text if isinstance(item, Figure) else self._notes_left.pop(item, "")
                self._add_to_cell([text], count_chars(text))

    def _read_body_paragraph(self, paragraph: Paragraph) -> Iterator[Block]:
        properties, text, anchored = paragraph
        style = self._styles.get(properties.style_id)
        kind, level = style.kind, style.level
        if properties.outline_level is not None and kind in ("paragraph", "heading"):
            kind, level = kind_of_outline(properties.outline_level)
        if properties.has_dot_leader and _PAGE_NUMBER.search(text.rstrip()):
            kind = "contents"
        elif kind == "contents" and level and not _LAST_NUMBER.search(text.rstrip()):
            # Authors take the style of an entry for text of their own.
            kind, level = "paragraph", 0
        typed = text.rstrip() if kind == "code" else text.strip()
        label = self._label(properties, style, typed)
        if kind == "heading" and label:
            label = "" if _is_typed(label.strip(), typed) or label == BULLET_LABEL else label
        elif kind == "paragraph" and label:
            kind, level = "list_item", self._level(properties, style)
        if typed or kind == "code":
            yield Block(kind, f"{label}{typed}" if typed else "", level, len(typed))  # type: ignore[arg-type]
        for item in anchored:
            if isinstance(item, Paragraph):
                yield from self._read_body_paragraph(item)
            elif isinstance(item, Figure):
                yield Block("figure", item.text, num_chars=count_chars(item.text))
            elif item in self._notes_left:
                note = self._notes_left.pop(item)
                yield Block("note", note, num_chars=len(note))

    def _list_of(self, properties: Properties, style: Style) -> str | None:
        return style.num_id if properties.num_id is None else properties.num_id

    def _level(self, properties: Properties, style: Style) -> int:
        if properties.num_level is not None:
            return properties.num_level
        num_id = self._list_of(properties, style)
        linked = None if num_id is None else self._numbering.level_of_style(num_id, style.numbering_style)
        return (style.num_level or 0) if linked is None else linked

    def _label(self, properties: Properties, style: Style, text: str) -> str:
        """Count the paragraph in its list, and return what Word shows before it."""
        num_id = self._list_of(properties, style)
        # A paragraph that is hidden with its mark is not there for Word's counting.
        if num_id is None or (properties.has_hidden_mark and not text):
            return ""
        return self._numbering.next_label(num_id, self._level(properties, style)) or ""
