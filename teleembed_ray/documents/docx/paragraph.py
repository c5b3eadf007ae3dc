"""w:p -> its text, and what is anchored to it.

Wrappers are transparent by default, so that text in content controls, smart tags, hyperlinks and fields is found
wherever it is nested: the walk names what it leaves out, not what it lets in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from teleembed_ray.documents.characters import BULLET, UNKNOWN, clean_prose, is_private, sign_of_symbol_font
from teleembed_ray.documents.docx.equations import linear
from teleembed_ray.documents.docx.names import MC, VAL, VML, WPC, WPG, A, as_int, is_on, m, w
from teleembed_ray.documents.docx.styles import Styles

P, TBL, T = w("p"), w("tbl"), w("t")
ALTERNATE, CHOICE, FALLBACK = (f"{{{MC}}}{name}" for name in ("AlternateContent", "Choice", "Fallback"))
TEXT_BOX = w("txbxContent")
_R, _PPR, _RPR, _VANISH, _RSTYLE = map(w, ("r", "pPr", "rPr", "vanish", "rStyle"))
_SYM, _FONT, _CHAR, _FIELD, _FIELD_TYPE = map(w, ("sym", "font", "char", "fldChar", "fldCharType"))
_FIRST_PRIVATE_PLANE = 0xF0000
_DRAWN_TEXT = f"{{{A}}}t"
_EQUATIONS = frozenset({m("oMath"), m("oMathPara")})
_FIGURES = frozenset({f"{{{WPG}}}wgp", f"{{{WPC}}}wpc", f"{{{VML}}}group"})
_NOTE_REFERENCES = {w("footnoteReference"): "footnotes", w("endnoteReference"): "endnotes"}
# Deleted text, and the old place of a move.
_DELETED = frozenset(map(w, ("del", "moveFrom")))
# Properties, instructions of fields, and the small print of a ruby annotation.
_LEFT_OUT = frozenset(map(w, ("pPr", "rPr", "sdtPr", "instrText", "delText", "delInstrText", "rt", "fldData")))
_CHARACTERS = {w("tab"): "\t", w("ptab"): "\t", w("br"): "\n", w("cr"): "\n", w("noBreakHyphen"): "-"}


class Properties(NamedTuple):
    """What a paragraph says about itself, beside its text."""

    style_id: str = ""
    num_id: str | None = None
    num_level: int | None = None
    outline_level: int | None = None
    has_dot_leader: bool = False
    # The paragraph mark is deleted (or moved away), which joins the paragraph with the next one.
    joins_next: bool = False
    has_hidden_mark: bool = False


class Note(NamedTuple):
    """A reference to a footnote or endnote; `part` is the kind of part that holds it."""

    part: str
    note_id: str


class Figure(NamedTuple):
    """Text drawn in a figure."""

    text: str


class Paragraph(NamedTuple):
    """One paragraph as it is read; `anchored` are its notes and text boxes, and the labels of its figures."""

    properties: Properties
    text: str
    anchored: "Sequence[Paragraph | Note | Figure]" = ()


@dataclass
class _Walk:
    """What one walk below a w:p has found so far."""

    styles: Styles
    is_hidden: bool
    pieces: list[str] = field(default_factory=list)
    anchored: list[Paragraph | Note | Figure] = field(default_factory=list)
    # Fields that are open, innermost last: where their instruction begins among the pieces, None in their result.
    fields: list[int | None] = field(default_factory=list)
    num_figures: int = 0

    def step_field(self, kind: str | None) -> None:
        """Follow a w:fldChar: what stands in an instruction, such as another field's result, is not shown.

        It goes when the instruction ends, so that a field without an end takes no text along.
        """
        if kind == "begin":
            self.fields.append(len(self.pieces))
        elif kind in ("separate", "end") and self.fields:
            begin = self.fields.pop()
            if begin is not None:
                del self.pieces[begin:]
            if kind == "separate":
                self.fields.append(None)


def count_chars(text: str) -> int:
    """Count the characters of a table or figure: those of its text, without tabs and line breaks."""
    return len(text) - text.count("\t") - text.count("\n")


def read_paragraph(element: Any, styles: Styles) -> Paragraph:
    """w:p -> Paragraph with clean text."""
    properties, pieces, anchored = collect(element, styles)
    return Paragraph(properties, clean_prose("".join(pieces)), anchored)


def collect(element: Any, styles: Styles) -> tuple[Properties, list[str], list[Paragraph | Note | Figure]]:
    """w:p -> its properties, the pieces of its text as they are in the file, and what is anchored to it."""
    properties = read_properties(element)
    walk = _Walk(styles, styles.get(properties.style_id).is_hidden)
    _walk(element, walk)
    return properties, walk.pieces, walk.anchored


def read_properties(paragraph: Any) -> Properties:
    """Return the properties of a w:p; they stand first in it."""
    style_id = ""
    num_id = num_level = outline_level = None
    has_dot_leader = joins_next = has_hidden_mark = False
    for child in paragraph[0] if len(paragraph) and paragraph[0].tag == _PPR else ():
        match child.tag:
            case _Tag.STYLE:
                style_id = child.get(VAL, "")
            case _Tag.NUMBERING:
                values = {part.tag: part.get(VAL) for part in child}
                num_id, num_level = values.get(w("numId")), as_int(values.get(w("ilvl")))
            case _Tag.OUTLINE:
                outline_level = as_int(child.get(VAL))
            case _Tag.TABS:
                has_dot_leader = any(tab.get(w("leader")) == "dot" for tab in child)
            case _Tag.MARK:
                joins_next = any(part.tag in _DELETED for part in child)
                has_hidden_mark = any(part.tag == _VANISH and is_on(part.get(VAL)) for part in child)
    return Properties(style_id, num_id, num_level, outline_level, has_dot_leader, joins_next, has_hidden_mark)


class _Tag:
    """Names that a match statement can compare with."""

    STYLE, NUMBERING, OUTLINE, TABS, MARK = map(w, ("pStyle", "numPr", "outlineLvl", "tabs", "rPr"))


def _walk(element: Any, walk: _Walk) -> None:
    """Collect the text below `element` in document order."""
    for child in element:
        tag = child.tag
        if tag == _R:
            if _is_hidden(child, walk):
                _step_fields(child, walk)
            else:
                _walk(child, walk)
        elif tag == T:
            if child.text:
                walk.pieces.append(child.text)
        elif tag in _DELETED:
            _step_fields(child, walk)
        elif tag in _LEFT_OUT or not isinstance(tag, str):
            continue
        elif tag in _CHARACTERS:
            walk.pieces.append(_CHARACTERS[tag])
        else:
            _walk_special(child, tag, walk)


def _walk_special(child: Any, tag: str, walk: _Walk) -> None:
    if tag == _FIELD:
        walk.step_field(child.get(_FIELD_TYPE))
    elif tag == _SYM:
        walk.pieces.append(_symbol_text(child))
    elif tag in _NOTE_REFERENCES:
        walk.anchored.append(Note(_NOTE_REFERENCES[tag], child.get(w("id"), "")))
    elif tag in _EQUATIONS:
        walk.pieces.append(linear(child))
    elif tag == TEXT_BOX:
        _walk_text_box(child, walk)
    elif tag == ALTERNATE:
        # Word writes a drawing twice, for new and for old readers.
        _walk(next((kind for kind in child if kind.tag == CHOICE), child), walk)
    elif tag in _FIGURES:
        walk.num_figures += 1
        _walk(child, walk)
        walk.num_figures -= 1
    elif tag == _DRAWN_TEXT:
        walk.anchored.append(Figure(clean_prose(child.text or "")))
    else:
        _walk(child, walk)


def _step_fields(element: Any, walk: _Walk) -> None:
    """Follow the fields of text that is left out: one may begin before it, or end behind it."""
    for child in element.iter(_FIELD):
        walk.step_field(child.get(_FIELD_TYPE))


def _is_hidden(run: Any, walk: _Walk) -> bool:
    """Whether a run is hidden: by itself, else by its character style, else by the paragraph's style."""
    is_hidden = walk.is_hidden
    for child in run[0] if len(run) and run[0].tag == _RPR else ():
        if child.tag == _VANISH:
            return is_on(child.get(VAL))
        if child.tag == _RSTYLE:
            is_hidden = is_hidden or walk.styles.is_hidden(child.get(VAL, ""))
    return is_hidden


def _symbol_text(element: Any) -> str:
    """Return the character of a w:sym; a font other than Symbol draws pictures, for which a bullet stands."""
    try:
        code = int(element.get(_CHAR, ""), 16)
    except ValueError:
        return ""
    if (element.get(_FONT) or "symbol").lower() == "symbol":
        return sign_of_symbol_font(code)
    # Halves of characters, and planes of which every font makes what it likes.
    if not 0 <= code < _FIRST_PRIVATE_PLANE or 0xD800 <= code <= 0xDFFF:
        return UNKNOWN
    return BULLET if is_private(chr(code)) else chr(code)


def _walk_text_box(box: Any, anchor: _Walk) -> None:
    for inner in box.iter(P):
        # A paragraph of a box within this box comes with the paragraph that the inner box is anchored to.
        if next(inner.iterancestors(TEXT_BOX)) is not box:
            continue
        part = read_paragraph(inner, anchor.styles)
        if anchor.num_figures or next(inner.iterancestors(TBL, TEXT_BOX)).tag == TBL:
            anchor.anchored += _figures(part)
        else:
            anchor.anchored.append(part)


def _figures(part: Paragraph) -> list[Paragraph | Note | Figure]:
    """Return all text of a paragraph, and of what is anchored to it, as the label of a figure."""
    found: list[Paragraph | Note | Figure] = [Figure(part.text.strip())]
    for item in part.anchored:
        found += _figures(item) if isinstance(item, Paragraph) else [item]
    return found
