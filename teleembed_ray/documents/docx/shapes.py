"""The main part -> the stream of events, several times as fast as a parser: paragraphs are read by their shape.

The shape of a paragraph is its markup without its text. A specification of 86,000 paragraphs has a few thousand of
them. Each is parsed and walked once, with marks in place of the text; the result is a template into which the text of
every paragraph of that shape is put. So there is one account of what a paragraph means, in `paragraph.py`, and this
module only knows which paragraphs have the same markup. What it cannot be sure of (comments, other encodings,
unbalanced tags) is `Unusual`, and is left to the parser in `events.py`.
"""

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from lxml import etree

from teleembed_ray.documents.characters import clean_prose
from teleembed_ray.documents.docx.events import (
    COUNTED_TABLE,
    DELETED_CELL,
    DELETED_ROW,
    IMPORTED,
    Event,
)
from teleembed_ray.documents.docx.names import MC, M, W
from teleembed_ray.documents.docx.package import PARSER_OPTIONS, BoundedFile
from teleembed_ray.documents.docx.paragraph import Paragraph, Properties, collect, count_chars, read_paragraph
from teleembed_ray.documents.docx.styles import Styles

_BLOCK_BYTES = 4 << 20
# A file made to have as many shapes as paragraphs must not fill the memory.
_MAX_SHAPES = 50_000
_MAX_PARAGRAPH_BYTES = 64 << 20

_PROLOG = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml(?P<declaration>[^<>]*)\?>)?\s*(?P<root><w:document(?:\s[^<>]*)?>)"
)
_OTHER_ENCODING = re.compile(rb"encoding\s*=\s*[\"'](?!utf-?8[\"']|us-ascii[\"'])", re.IGNORECASE)
# Comments, CDATA, instructions, and a prefix that changes its meaning.
_UNUSUAL = re.compile(rb"<[!?]|\sxmlns:w\s*=")
_TEXT = re.compile(rb"<w:t(?: [^<>]*)?(?<!/)>([^<]*)</w:t>")
# How things look and where they stand on the page.
_LOOK = (
    rb"<w:(?:rFonts|szCs|sz|color|lang|iCs|i|bCs|b|u|noProof|shd|spacing|ind|jc|kern|keepLines|keepNext|snapToGrid"
    rb"|widowControl|vertAlign|top|left|bottom|right|between)(?: [^<>]*)?/>"
)
_MARK = rb"<w:(?:bookmark(?:Start|End)|proofErr|lastRenderedPageBreak)(?: [^<>]*)?/>"
# What differs from paragraph to paragraph and changes nothing: looks, bookmarks, marks of the spell checker, revision
# ids, instructions of fields, and wrappers without a meaning of their own.
_IGNORABLE = re.compile(
    rb' w:(?:rsid\w*|anchor)="[^"<>]*"'
    rb"|<w:instrText(?: [^<>]*)?>[^<]*</w:instrText>"
    rb"|</?w:smartTag(?: [^<>]*)?>"
    rb"|" + _LOOK + rb"|" + _MARK
)
# The bound of two runs that differ in their looks. Word splits a sentence into runs wherever it was edited.
_JOINT = re.compile(
    rb"</w:t></w:r>(?:" + _MARK + rb")*<w:r(?: [^<>]*)?>(?:<w:rPr>(?:" + _LOOK + rb")*</w:rPr>)?"
    rb"(?:<w:lastRenderedPageBreak/>)?<w:t(?: [^<>]*)?(?<!/)>"
)
_EMPTIED = (b"<w:rPr></w:rPr>", b"<w:pBdr></w:pBdr>", b"<w:pPr></w:pPr>")
_NESTED = re.compile(rb"<w:p[ >/]")
_PARAGRAPH_BOUND = re.compile(rb"<w:p(?: [^<>]*)?>|</w:p>")
_TAG = re.compile(
    rb"\s*<(?P<end>/?)(?P<name>[\w:.-]+)(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'))*\s*(?P<empty>/?)>\s*"
)
_ENTITY = re.compile(r"&(?:#(?P<decimal>\d{1,7});|#x(?P<hexadecimal>[\da-fA-F]{1,6});|(?P<name>\w+);)?")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_PREFIX = re.compile(rb"[</\s]([A-Za-z][\w.-]*):")
# What a table must not have for its text to be that of its w:t elements: other namespaces (drawings, equations,
# alternatives), changes, hidden text, fields, notes, numbers, symbols.
_NOT_JUST_TEXT = re.compile(
    rb"<(?:(?!/|w:)"
    rb"|w:(?:del|moveFrom|vanish|footnoteReference|endnoteReference|numPr|sym|noBreakHyphen|rt|cellDel"
    rb"|altChunk|pict|object|drawing)[ />])"
)
# The instruction of a field without text in it, which would not be shown.
_INSTRUCTION = re.compile(rb'w:fldCharType="begin".*?w:fldCharType="(?:separate|end)"', re.DOTALL)
_FIELD_LEFT = re.compile(rb"w:fldCharType=(?:\"(?:begin|separate)\"|')")
_STYLE = re.compile(rb'<w:[pr]Style w:val="([^"]*)"')
_PARAGRAPH_END = b"</w:p>"
_TABLE_BEGIN, _TABLE_END = b"<w:tbl>", b"</w:tbl>"
_MAX_TABLE_BYTES = 32 << 20
# Marks for the texts of a paragraph, from a plane that is no text.
_FIRST_MARK = 0xF0000
_MAX_TEXTS = 0xFFFD


class Unusual(Exception):  # noqa: N818 (it is no error)
    """The part has something that only a parser can be trusted with."""


class _Template(NamedTuple):
    """What all paragraphs of one shape have in common.

    The text is that of `pieces`: XML, or the place of a text where a paragraph's markup and texts take turns.
    """

    properties: Properties
    pieces: tuple[int | bytes, ...]
    anchored: tuple[Any, ...]
    # The pieces are the texts, in order and nothing else.
    is_plain: bool


class _Between(NamedTuple):
    """Markup between two paragraphs: elements that it closes and opens, and what it means."""

    closed: tuple[bytes, ...]
    opened: tuple[bytes, ...]
    events: tuple[Event, ...]


def read_events_by_shape(file: BoundedFile, styles: Styles, *, keep_tables: bool) -> Iterator[Event]:
    """Main part -> the events that `read_events` yields; raises Unusual where it cannot promise that.

    Without `keep_tables`, tables that are nothing but text are only counted: a single COUNTED_TABLE stands for each.
    """
    buffer = file.read(_BLOCK_BYTES)
    prolog = _PROLOG.match(buffer)
    if prolog is None or _OTHER_ENCODING.search(prolog["declaration"] or b""):
        raise Unusual
    shapes = _Shapes(prolog["root"], styles, keep_tables)
    position = prolog.end()
    while True:
        position = yield from shapes.read_block(buffer, position)
        if len(buffer) - position > _MAX_PARAGRAPH_BYTES:
            raise Unusual
        more = file.read(_BLOCK_BYTES)
        buffer = buffer[position:] + more
        position = 0
        if not more:
            break
    yield from shapes.end(buffer)


_EMPTY_PARAGRAPH = Paragraph(Properties(), "")


@dataclass
class _Shapes:
    """The shapes met so far, and the elements that are open."""

    root: bytes
    styles: Styles
    keep_tables: bool

    def __post_init__(self) -> None:
        self._parser = etree.XMLParser(**PARSER_OPTIONS)
        # Templates by shape as it is in the file, and by shape without what changes nothing; None: parse each one.
        self._templates: dict[bytes, _Template | None] = {}
        self._known: dict[bytes, _Template | None] = {}
        self._between: dict[bytes, _Between] = {}
        # Markup of tables that is known to be plain.
        self._plain: set[bytes] = set()
        # How far the search for the end of an unfinished table has come, and how deep it is in tables.
        self._search = (0, 0)
        self._open = [b"w:document"]
        prefixes = self._namespaces()
        self._declarations = {
            (prefix or "").encode(): f" xmlns{f':{prefix}' if prefix else ''}={quoteattr(namespace)}".encode()
            for prefix, namespace in prefixes.items()
        }
        if prefixes.get("w") != W:
            raise Unusual
        self._nesting = {b"w:tbl": "tbl", b"w:tr": "tr", b"w:tc": "tc"}
        for prefix, namespace in prefixes.items():
            if namespace == MC and prefix:
                for name in ("AlternateContent", "Choice", "Fallback"):
                    self._nesting[f"{prefix}:{name}".encode()] = name

    def read_block(self, buffer: bytes, position: int) -> Generator[Event, None, int]:
        """Yield the events of all that is whole from `position` on; return where the first unfinished thing begins."""
        while (start := _begin_of_paragraph(buffer, position)) >= 0:
            if not self.keep_tables and (table := buffer.find(_TABLE_BEGIN, position, start)) >= 0:
                begin, depth = self._search
                end, depth, searched = _end_of_table(buffer, max(begin, table), depth)
                self._search = (0, 0)
                if end < 0 and len(buffer) - table < _MAX_TABLE_BYTES:
                    self._search = (searched - position, depth)
                    return position
                num_chars = self._count_table(buffer[table:end]) if end >= 0 else None
                if num_chars is not None:
                    yield from self._step(buffer[position:table])
                    yield Event(COUNTED_TABLE, None, num_chars)
                    position = end
                    continue
            paragraph, end = self._read(buffer, start)
            if end < 0:
                return position
            if start > position:
                yield from self._step(buffer[position:start])
            yield Event("p", paragraph)
            position = end
        return position

    def end(self, rest: bytes) -> Iterator[Event]:
        """Yield the events behind the last paragraph."""
        yield from self._step(rest)
        if self._open:
            raise Unusual

    def _count_table(self, table: bytes) -> int | None:
        """Count the characters of a table, or return None where it is to be read."""
        if self.styles.default.is_hidden or self.styles.default.num_id is not None:
            return None
        parts = _TEXT.split(table)
        new = set(parts[::2]) - self._plain
        if not all(map(self._is_plain, new)):
            return None
        if len(self._plain) >= _MAX_SHAPES:
            self._plain.clear()
        self._plain |= new
        return count_chars(clean_prose(_text_of(b"".join(parts[1::2]))))

    def _is_plain(self, markup: bytes) -> bool:
        """Whether markup in a table neither adds, hides, counts nor refers to anything."""
        if _NOT_JUST_TEXT.search(markup) or b"xmlns" in markup:
            return False
        if b"<w:fldChar" in markup:
            markup = _INSTRUCTION.sub(b"", markup)
            if _FIELD_LEFT.search(markup):
                return False
        style_ids = _STYLE.findall(markup)
        styles = [self.styles.get(style_id.decode()) for style_id in style_ids]
        is_complete = len(style_ids) == markup.count(b"<w:pStyle") + markup.count(b"<w:rStyle")
        return is_complete and not any(style.is_hidden or style.num_id is not None for style in styles)

    def _namespaces(self) -> dict[str | None, str]:
        try:
            return dict(etree.fromstring(self.root + b"</w:document>", self._parser).nsmap)
        except etree.XMLSyntaxError:
            raise Unusual from None

    def _parse(self, content: bytes) -> Any:
        # Declaring thirty namespaces takes longer than parsing a paragraph, and most paragraphs have one.
        used = {b"", b"w", *_PREFIX.findall(content)}
        root = b"".join(map(self._declarations.get, used, repeat(b"")))
        try:
            return etree.fromstring(b"<w:document" + root + b">" + content + b"</w:document>", self._parser)
        except etree.XMLSyntaxError:
            raise Unusual from None

    def _read(self, buffer: bytes, start: int) -> tuple[Paragraph | None, int]:
        """Return the paragraph that begins at `start` and where it ends; -1 where it ends beyond the buffer."""
        begun = buffer.find(b">", start)
        if begun < 0:
            return None, -1
        if buffer.find(b"xmlns", start, begun) >= 0:
            raise Unusual
        if buffer[begun - 1 : begun] == b"/":
            return _EMPTY_PARAGRAPH, begun + 1
        end = buffer.find(_PARAGRAPH_END, begun)
        if end < 0:
            return None, -1
        paragraph = self._read_content(buffer[begun + 1 : end])
        if paragraph is not None:
            return paragraph, end + len(_PARAGRAPH_END)
        end = _end_of_paragraph(buffer, start)
        return (None, -1) if end < 0 else (read_paragraph(self._parse(buffer[start:end])[0], self.styles), end)

    def _read_content(self, content: bytes) -> Paragraph | None:
        """Return the paragraph with this content, or None where it is to be parsed."""
        if b"vanish" not in content and b"rStyle" not in content:
            content = _JOINT.sub(b"", content)
        parts = _TEXT.split(content)
        shape = b"\0".join(parts[::2])
        template = self._templates.get(shape)
        if template is None:
            if shape not in self._templates:
                template = self._learn(shape, parts)
            if template is None:
                return None
        if template.is_plain:
            pieces = parts[1::2]
        else:
            pieces = [piece if isinstance(piece, bytes) else parts[piece] for piece in template.pieces]
        return Paragraph(template.properties, clean_prose(_text_of(b"".join(pieces))), template.anchored)

    def _learn(self, shape: bytes, parts: list[bytes]) -> _Template | None:
        if _UNUSUAL.search(shape) or shape.count(b"\0") != len(parts) // 2:
            raise Unusual
        if len(self._templates) >= _MAX_SHAPES:
            self._templates.clear()
            self._known.clear()
        essence = _IGNORABLE.sub(b"", shape)
        for emptied in _EMPTIED:
            essence = essence.replace(emptied, b"")
        if essence not in self._known:
            self._known[essence] = self._template(essence)
        template = self._templates[shape] = self._known[essence]
        return template

    def _template(self, shape: bytes) -> _Template | None:
        """Parse a paragraph of this shape with marks for texts; None where its text decides on more than itself."""
        markup = shape.split(b"\0")
        if _NESTED.search(shape) or len(markup) > _MAX_TEXTS:
            return None
        content = markup[0]
        for number, piece in enumerate(markup[1:]):
            content += b"<w:t>" + chr(_FIRST_MARK + number).encode() + b"</w:t>" + piece
        paragraph = self._parse(b"<w:p>" + content + b"</w:p>")[0]
        # How an equation is written depends on its text.
        if next(paragraph.iter(f"{{{M}}}*"), None) is not None:
            return None
        properties, found, anchored = collect(paragraph, self.styles)
        pieces = tuple(
            2 * (ord(piece) - _FIRST_MARK) + 1
            if len(piece) == 1 and ord(piece) >= _FIRST_MARK
            else escape(piece).encode()
            for piece in found
        )
        is_plain = pieces == tuple(range(1, 2 * len(markup) - 1, 2))
        return _Template(properties, pieces, tuple(anchored), is_plain)

    def _step(self, markup: bytes) -> tuple[Event, ...]:
        """Follow the markup between two paragraphs and return its events."""
        between = self._between.get(markup)
        if between is None:
            if len(self._between) >= _MAX_SHAPES:
                self._between.clear()
            between = self._between[markup] = self._read_between(markup)
        for name in between.closed:
            if not self._open or self._open.pop() != name:
                raise Unusual
        self._open += between.opened
        return between.events

    def _read_between(self, markup: bytes) -> _Between:
        closed: list[bytes] = []
        opened: list[bytes] = []
        events: list[Event] = []
        position = 0
        while position < len(markup):
            tag = _TAG.match(markup, position)
            if tag is None or b"xmlns" in tag[0]:
                raise Unusual
            position = tag.end()
            name = tag["name"]
            if not tag["end"]:
                if name in self._nesting:
                    events.append(Event(f"+{self._nesting[name]}"))
                if name == b"w:del" and opened[-1:] == [b"w:trPr"]:
                    events.append(Event(DELETED_ROW))
                opened.append(name)
            if tag["end"] or tag["empty"]:
                if not opened:
                    closed.append(name)
                elif opened.pop() != name:
                    raise Unusual
                events += self._events_of_end(name)
        return _Between(tuple(closed), tuple(opened), tuple(events))

    def _events_of_end(self, name: bytes) -> list[Event]:
        if name in self._nesting:
            return [Event(f"-{self._nesting[name]}")]
        if name == b"w:cellDel":
            return [Event(DELETED_CELL)]
        return [Event(IMPORTED)] if name == b"w:altChunk" else []


def _text_of(xml: bytes) -> str:
    """Return the text that XML without tags stands for."""
    try:
        text = xml.decode()
    except UnicodeDecodeError:
        raise Unusual from None
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    try:
        if entity["name"]:
            return _NAMED[entity["name"]]
        return chr(int(entity["decimal"]) if entity["decimal"] else int(entity["hexadecimal"], 16))
    except (KeyError, TypeError, ValueError, OverflowError):
        # A lone ampersand, or an entity that nobody declared.
        raise Unusual from None


def _begin_of_paragraph(buffer: bytes, position: int) -> int:
    """Return where the next paragraph begins, or -1."""
    while (position := buffer.find(b"<w:p", position)) >= 0:
        if buffer[position + 4 : position + 5] in (b" ", b">", b"/"):
            break
        position += 4
    return position


def _end_of_table(buffer: bytes, position: int, depth: int) -> tuple[int, int, int]:
    """Return where the table ends that begins at `position`, or that is open there with a depth, or -1.

    Also return the depth and the place from which a search in a longer buffer goes on.
    """
    while (end := buffer.find(_TABLE_END, position)) >= 0:
        depth += buffer.count(_TABLE_BEGIN, position, end) - 1
        position = end + len(_TABLE_END)
        if depth == 0:
            return position, 0, position
    # Begins behind the last end are counted by the next search.
    return -1, depth, position


def _end_of_paragraph(buffer: bytes, start: int) -> int:
    """Return where the paragraph that begins at `start` ends, with all paragraphs inside it, or -1."""
    depth = 0
    for bound in _PARAGRAPH_BOUND.finditer(buffer, start):
        if bound[0] == b"</w:p>":
            depth -= 1
        elif not bound[0].endswith(b"/>"):
            depth += 1
        if depth == 0:
            return bound.end()
    return -1
