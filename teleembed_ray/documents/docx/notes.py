"""Footnotes and endnotes: parts of their own, read into the text of each note."""

from lxml import etree

from teleembed_ray.documents.docx.names import w
from teleembed_ray.documents.docx.package import PARSER_OPTIONS, Package, refuse_doctype
from teleembed_ray.documents.docx.paragraph import Note, P, Paragraph, read_paragraph
from teleembed_ray.documents.docx.styles import Styles

_NOTE_TAGS = {"footnotes": w("footnote"), "endnotes": w("endnote")}


def read_notes(package: Package, styles: Styles) -> dict[Note, str]:
    """Package -> the text of each note, one line a paragraph; a part that is missing or no XML has none."""
    notes: dict[Note, str] = {}
    for part, tag in _NOTE_TAGS.items():
        name = package.related(part)
        if name is None:
            continue
        with package.stream(name) as file:
            try:
                for _, element in etree.iterparse(file, events=("end",), tag=tag, **PARSER_OPTIONS):
                    refuse_doctype(element)
                    lines: list[str] = []
                    for inner in element.iter(P):
                        if next(inner.iterancestors(P), None) is None:
                            lines += _lines(read_paragraph(inner, styles))
                    notes[Note(part, element.get(w("id"), ""))] = "\n".join(lines)
                    element.clear()
            except etree.XMLSyntaxError:
                continue
    return {note: text for note, text in notes.items() if text}


def _lines(paragraph: Paragraph) -> list[str]:
    lines = [paragraph.text.strip()]
    for item in paragraph.anchored:
        if isinstance(item, Paragraph):
            lines += _lines(item)
    return [line for line in lines if line]
