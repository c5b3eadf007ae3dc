"""DOCX -> text, in one streaming pass over the main part.

What is read: headings, paragraphs, list items and captions, in reading order. Wrappers are transparent by default, so
that text in content controls, smart tags, hyperlinks and fields is found wherever it is nested: the walk names what it
leaves out, not what it lets in. What is left out:

- tables, and text boxes grouped into a drawing (figures); their characters are counted;
- contents lists: the styles "toc 1", "TOC Heading" and "table of figures", and, whatever the style, a page number after
  a tab with a dot leader;
- headers, footers, footnotes, endnotes and comments, which are parts of their own;
- hidden text, field instructions, and ruby annotations;
- tracked deletions and the old place of a move: the text is the one with all changes accepted.

A text box that stands alone follows the paragraph that it is anchored to. Of alternative contents the first is read.
Equations become linear text ("x_i", "a/b"). Symbols of the Symbol font become the Unicode character, those of other
pictorial fonts a bullet. Numbers that Word computes (lists, numbered headings) are not in the file and not in the text.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from lxml import etree

from teleembed_ray.documents.characters import BULLET, clean_prose, is_private
from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.titles import choose_title

# The XML of the longest 3GPP specifications is about 150 MB; a few kilobytes of zip can claim any size.
MAX_XML_BYTES = 512 << 20
MAX_SMALL_PART_BYTES = 16 << 20

_OLE_MAGIC = bytes.fromhex("d0cf11e0a1b11ae1")
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_MAIN_PART = "word/document.xml"

_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
# ISO 29500 Strict has namespaces of its own; on the way in they are read as the transitional ones.
_STRICT = {
    "http://purl.oclc.org/ooxml/wordprocessingml/main": _W,
    "http://purl.oclc.org/ooxml/officeDocument/math": _M,
}
_MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
_WPG = "http://schemas.microsoft.com/office/word/2010/wordprocessingGroup"
_WPC = "http://schemas.microsoft.com/office/word/2010/wordprocessingCanvas"
_VML = "urn:schemas-microsoft-com:vml"
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_OFFICE_DOCUMENT = "/officeDocument"


def _w(*names: str) -> frozenset[str]:
    return frozenset(f"{{{_W}}}{name}" for name in names)


_P, _TBL, _R, _T, _SYM = (f"{{{_W}}}{name}" for name in ("p", "tbl", "r", "t", "sym"))
_PPR, _PSTYLE, _TABS, _RPR, _VANISH = (f"{{{_W}}}{name}" for name in ("pPr", "pStyle", "tabs", "rPr", "vanish"))
_FIELD, _TEXT_BOX = (f"{{{_W}}}{name}" for name in ("fldChar", "txbxContent"))
_VAL, _CHAR, _FONT, _FIELD_TYPE, _LEADER = (
    f"{{{_W}}}{name}" for name in ("val", "char", "font", "fldCharType", "leader")
)
_MATH_T, _MATH_D, _MATH_DPR = (f"{{{_M}}}{name}" for name in ("t", "d", "dPr"))
_ALTERNATE, _CHOICE, _FALLBACK = (f"{{{_MC}}}{name}" for name in ("AlternateContent", "Choice", "Fallback"))

_LEFT_OUT = _w("pPr", "rPr", "sdtPr", "del", "moveFrom", "instrText", "delText", "delInstrText", "rt", "fldData")
_CHARACTERS = {
    f"{{{_W}}}{name}": text
    for name, text in {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}.items()
}
_MATH_SIGNS = {f"{{{_M}}}sub": "_", f"{{{_M}}}sup": "^", f"{{{_M}}}den": "/"}
_FIGURES = frozenset({f"{{{_WPG}}}wgp", f"{{{_WPC}}}wpc", f"{{{_VML}}}group"})
_OFF = frozenset({"0", "false", "off"})
_DELETED_MARK = _w("del", "moveFrom")
_PAGE_NUMBER = re.compile(r"\t[\divxlc]+$")

# Each line of a listing is a paragraph in Word; PL is the 3GPP style of ASN.1, YAML and XML listings.
_LISTING_STYLES = frozenset({"pl", "html preformatted", "plain text", "source code", "code"})


def _symbol_text(element: Any) -> str:
    """Return the character of a w:sym; a font other than Symbol draws pictures, for which a bullet stands."""
    font = (element.get(_FONT) or "symbol").lower()
    try:
        code = int(element.get(_CHAR, ""), 16)
        character = chr(0xF000 | code) if font == "symbol" else chr(code)
    except (ValueError, OverflowError):
        return ""
    return BULLET if font != "symbol" and is_private(character) else character


def _properties(element: Any, tag: str) -> Any:
    """Return the properties of a run or paragraph, which stand first in it, or nothing to iterate over."""
    return element[0] if len(element) and element[0].tag == tag else ()


def _is_hidden(run: Any) -> bool:
    return any(child.tag == _VANISH and child.get(_VAL) not in _OFF for child in _properties(run, _RPR))


@dataclass
class _Paragraph:
    """The text of one w:p and of what is anchored to it."""

    pieces: list[str] = field(default_factory=list)
    boxes: list[str] = field(default_factory=list)
    num_dropped_chars: int = 0
    # Fields that are open, innermost last: True while their instruction is read.
    fields: list[bool] = field(default_factory=list)
    num_figures: int = 0

    @property
    def text(self) -> str:
        return clean_prose("".join(self.pieces))


def _walk(element: Any, paragraph: _Paragraph) -> None:
    """Collect the text below `element` in document order."""
    for child in element:
        tag = child.tag
        if tag == _R:
            if not _is_hidden(child):
                _walk(child, paragraph)
        elif tag in (_T, _MATH_T):
            # A field may hold another one in its instruction, whose result is not shown.
            if child.text and not any(paragraph.fields):
                paragraph.pieces.append(child.text)
        elif tag in _LEFT_OUT or not isinstance(tag, str):
            continue
        elif tag in _CHARACTERS:
            paragraph.pieces.append(_CHARACTERS[tag])
        else:
            _walk_special(child, tag, paragraph)


def _walk_special(child: Any, tag: str, paragraph: _Paragraph) -> None:
    if tag == _FIELD:
        _step_field(child.get(_FIELD_TYPE), paragraph.fields)
    elif tag == _SYM:
        paragraph.pieces.append(_symbol_text(child))
    elif tag == _TEXT_BOX:
        _walk_text_box(child, paragraph)
    elif tag == _ALTERNATE:
        # Word writes a drawing twice, for new and for old readers.
        _walk(next((kind for kind in child if kind.tag == _CHOICE), child), paragraph)
    elif tag in _FIGURES:
        paragraph.num_figures += 1
        _walk(child, paragraph)
        paragraph.num_figures -= 1
    elif tag == _MATH_D:
        _walk_delimited(child, paragraph)
    else:
        start = len(paragraph.pieces)
        _walk(child, paragraph)
        if tag in _MATH_SIGNS and len(paragraph.pieces) > start:
            paragraph.pieces.insert(start, _MATH_SIGNS[tag])


def _step_field(kind: str | None, fields: list[bool]) -> None:
    if kind == "begin":
        fields.append(True)
    elif kind == "separate" and fields:
        fields[-1] = False
    elif kind == "end" and fields:
        fields.pop()


def _walk_delimited(element: Any, paragraph: _Paragraph) -> None:
    """Collect a bracketed equation part; absent brackets are round ones."""
    properties = element.find(_MATH_DPR)

    def bracket(name: str, default: str) -> str:
        found = None if properties is None else properties.find(f"{{{_M}}}{name}")
        return default if found is None else found.get(f"{{{_M}}}val", "")

    paragraph.pieces.append(bracket("begChr", "("))
    _walk(element, paragraph)
    paragraph.pieces.append(bracket("endChr", ")"))


def _walk_text_box(box: Any, anchor: _Paragraph) -> None:
    for inner in box.iter(_P):
        # A paragraph of a box within this box comes with the paragraph that the inner box is anchored to.
        if next(inner.iterancestors(_TEXT_BOX)) is not box:
            continue
        part = _Paragraph()
        _walk(inner, part)
        anchor.num_dropped_chars += part.num_dropped_chars
        ancestors = inner.iterancestors(_TBL, _TEXT_BOX)
        if anchor.num_figures or next(ancestors).tag == _TBL:
            anchor.num_dropped_chars += len(part.text.strip()) + sum(map(len, part.boxes))
        elif part.text.strip():
            anchor.boxes += [part.text.strip(), *part.boxes]


class _BoundedFile(io.RawIOBase):
    """A member of the zip that refuses to inflate without end, whatever the zip's own figures claim."""

    def __init__(self, member: Any, limit: int) -> None:
        self._member = member
        self._left = limit

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._member.read(min(size, self._left + 1) if size >= 0 else self._left + 1)
        self._left -= len(data)
        if self._left < 0:
            raise Unreadable("too_large", "it inflates to more XML than any real document has: check where it is from")
        return data


class _TransitionalFile(_BoundedFile):
    """The same, with the Strict namespaces replaced by the transitional ones in the root element's first block."""

    _is_first = True

    def read(self, size: int = -1) -> bytes:
        data = super().read(size)
        if self._is_first:
            self._is_first = False
            for strict, transitional in _STRICT.items():
                data = data.replace(strict.encode(), transitional.encode())
        return data


@dataclass(frozen=True)
class _Styles:
    """Style ids that carry a meaning; ids differ by language, names do not."""

    contents: frozenset[str]
    listings: frozenset[str]
    headings: frozenset[str]
    titles: frozenset[str]


def _kind_of_style(name: str) -> str:
    if name.startswith("toc") or name == "table of figures":
        return "contents"
    if name in _LISTING_STYLES:
        return "listings"
    if re.fullmatch(r"heading ?\d", name):
        return "headings"
    return "titles" if name == "title" else ""


def _read_small_part(archive: zipfile.ZipFile, name: str) -> Any:
    """Return the root of an XML part, or None where it is absent or broken: it only helps to read the main part."""
    try:
        with archive.open(name) as member:
            data = _TransitionalFile(member, MAX_SMALL_PART_BYTES).read()
        return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    except (KeyError, etree.XMLSyntaxError, zipfile.BadZipFile, zlib.error, EOFError, Unreadable):
        return None


def _read_styles(archive: zipfile.ZipFile, main_part: str) -> _Styles:
    kinds: dict[str, set[str]] = {"contents": set(), "listings": set(), "headings": set(), "titles": set()}
    root = _read_small_part(archive, str(PurePosixPath(main_part).parent / "styles.xml"))
    for style in () if root is None else root.iterfind(f"{{{_W}}}style"):
        name = style.find(f"{{{_W}}}name")
        if name is not None and (kind := _kind_of_style((name.get(_VAL) or "").lower())):
            kinds[kind].add(style.get(f"{{{_W}}}styleId") or "")
    return _Styles(**{kind: frozenset(style_ids) for kind, style_ids in kinds.items()})


@dataclass(frozen=True)
class _Block:
    """One paragraph of the body, or a table paragraph that is counted only."""

    text: str
    style: str
    in_table: bool
    boxes: tuple[str, ...]
    num_dropped_chars: int
    is_contents_line: bool
    # A deleted paragraph mark joins a paragraph with the next one.
    joins_next: bool


def _blocks(file: io.RawIOBase) -> Iterator[_Block]:
    """Yield the paragraphs of the main part; elements are freed as soon as they are read."""
    num_open = {_P: 0, _TBL: 0, _FALLBACK: 0}
    # huge_tree stays off: libxml2 then bounds the depth of the tree and the length of one text.
    parser = etree.iterparse(
        file,
        events=("start", "end"),
        tag=(_P, _TBL, _FALLBACK),
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )
    for event, element in parser:
        tag = element.tag
        num_open[tag] += 1 if event == "start" else -1
        # What lies inside a paragraph (text boxes and all that they hold) is read with that paragraph.
        if event == "start" or num_open[_P]:
            continue
        if tag == _P and not num_open[_FALLBACK]:
            yield _read_block(element, num_open[_TBL] > 0)
        if tag == _P or not num_open[_TBL]:
            element.clear()
            while element.getprevious() is not None and element.getprevious().tag != _CHOICE:
                del element.getparent()[0]


def _read_block(element: Any, in_table: bool) -> _Block:
    paragraph = _Paragraph()
    _walk(element, paragraph)
    style = ""
    has_leader = is_deleted = False
    for child in _properties(element, _PPR):
        if child.tag == _PSTYLE:
            style = child.get(_VAL, "")
        elif child.tag == _TABS:
            has_leader = any(tab.get(_LEADER) == "dot" for tab in child)
        elif child.tag == _RPR:
            is_deleted = any(mark.tag in _DELETED_MARK for mark in child)
    text = paragraph.text
    return _Block(
        text=text,
        style=style,
        in_table=in_table,
        boxes=tuple(paragraph.boxes),
        num_dropped_chars=paragraph.num_dropped_chars,
        is_contents_line=has_leader and _PAGE_NUMBER.search(text) is not None,
        joins_next=is_deleted,
    )


@dataclass
class _Body:
    """The text of the main part as it grows."""

    paragraphs: list[str] = field(default_factory=list)
    num_dropped_chars: int = 0
    title: str = ""
    heading: str = ""


def _read_body(file: io.RawIOBase, styles: _Styles) -> _Body:
    body = _Body()
    carried = ""
    last_was_listing = False
    for block in _blocks(file):
        body.num_dropped_chars += block.num_dropped_chars
        if block.in_table:
            body.num_dropped_chars += len(block.text.strip()) + sum(map(len, block.boxes))
            continue
        if block.style in styles.contents or block.is_contents_line:
            continue
        text = carried + block.text
        carried = text if block.joins_next else ""
        is_listing = block.style in styles.listings
        if text.strip() and not block.joins_next:
            if is_listing and last_was_listing:
                body.paragraphs[-1] += f"\n{text.rstrip()}"
            else:
                body.paragraphs.append(text.rstrip() if is_listing else text.strip())
            if block.style in styles.titles:
                body.title = body.title or text
            elif block.style in styles.headings:
                body.heading = body.heading or text
        body.paragraphs += block.boxes
        # An empty paragraph in a listing is a blank line of it, and the blank line is a good place to cut.
        last_was_listing = is_listing and bool(text.strip()) and not block.boxes
    if carried.strip():
        body.paragraphs.append(carried.strip())
    return body


def _main_part(archive: zipfile.ZipFile) -> str:
    """Return the name of the part that holds the text; raises Unreadable for other packages (xlsx, pptx, any zip)."""
    names = frozenset(archive.namelist())
    root = _read_small_part(archive, "_rels/.rels")
    for relation in () if root is None else root:
        if str(relation.get("Type", "")).endswith(_OFFICE_DOCUMENT):
            target = str(relation.get("Target", "")).lstrip("/")
            if target in names and not target.startswith(("xl/", "ppt/")):
                return target
    if _MAIN_PART in names:
        return _MAIN_PART
    if any(name.startswith(("xl/", "ppt/")) for name in names):
        raise Unreadable("mislabelled", "it is a spreadsheet or a presentation: give it its own suffix or leave it out")
    raise Unreadable("mislabelled", "it is a zip file without a Word document in it: unpack it, or leave it out")


def _open(data: bytes) -> zipfile.ZipFile:
    if data.startswith(_OLE_MAGIC):
        if _ENCRYPTED_PACKAGE in data:
            raise Unreadable("encrypted", "it is protected by a password: save it without one")
        raise Unreadable(
            "mislabelled", "it is in the old .doc format: open it in Word or LibreOffice, save it as .docx"
        )
    if not data.startswith(b"PK"):
        kind = "a PDF" if b"%PDF-" in data[:1024] else "no Word document"
        raise Unreadable("mislabelled", f"it is {kind} in spite of its suffix: give it the right one, or leave it out")
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise Unreadable("damaged", f"the zip container is broken or cut short ({error}): fetch it again") from None


def read_docx(path: str, data: bytes) -> Document:
    """DOCX, DOCM or DOTX bytes -> Document; raises Unreadable.

    The title is the one in the properties where that says something, else the paragraph in the style Title, the first
    paragraph, the first heading, or the file's name.
    """
    with _open(data) as archive:
        name = _main_part(archive)
        if archive.getinfo(name).flag_bits & 1:
            raise Unreadable("encrypted", "the zip container is protected by a password: pack it without one")
        styles = _read_styles(archive, name)
        try:
            with archive.open(name) as member:
                body = _read_body(_TransitionalFile(member, MAX_XML_BYTES), styles)
        except etree.XMLSyntaxError as error:
            raise Unreadable("damaged", f"its XML is broken ({error.msg}): open it in Word and save it again") from None
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise Unreadable("damaged", f"its compressed data is broken ({error}): fetch it again") from None
        core = _read_small_part(archive, "docProps/core.xml")
    if not body.paragraphs:
        raise Unreadable("no_text", "it has no text outside of tables and figures: leave it out")
    title = choose_title(
        None if core is None else core.findtext(_DC_TITLE), body.title, body.paragraphs[0], body.heading, path=path
    )
    return Document(title, "\n\n".join(body.paragraphs), "docx", body.num_dropped_chars)
