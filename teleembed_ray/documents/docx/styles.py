"""Styles: what a paragraph style says about its paragraphs, with all that it inherits."""

import re
from dataclasses import dataclass
from typing import Any

from teleembed_ray.documents.docx.names import VAL, as_int, is_on, w

# Each line of a listing is a paragraph in Word; PL is the 3GPP style of ASN.1, YAML and XML listings.
_CODE_NAMES = frozenset(
    {"pl", "html preformatted", "html code", "plain text", "source code", "code", "code block", "macro text", "macro"}
)
# TH and TF are the 3GPP styles of a table's and a figure's caption.
_CAPTION_NAMES = frozenset({"caption", "th", "tf"})
_HEADING_NAME = re.compile(r"heading ?([1-9])|h(6)")
_MAX_OUTLINE_LEVEL = 8


@dataclass(frozen=True)
class Style:
    """What matters of one style, inherited values included.

    `kind` is one of paragraph, title, heading, caption, code, contents (level 1 for an entry, 0 for the heading above);
    `numbering_style` is the style that the
    numbering was inherited from, which the levels of a list name.
    """

    kind: str = "paragraph"
    level: int = 0
    num_id: str | None = None
    num_level: int | None = None
    numbering_style: str = ""
    is_hidden: bool = False


@dataclass(frozen=True)
class Styles:
    """All styles by id; ids differ by language, names do not."""

    by_id: dict[str, Style]
    default: Style

    def get(self, style_id: str) -> Style:
        """Return a paragraph's style; an unknown one is the default, as in Word."""
        return self.by_id.get(style_id, self.default)

    def is_hidden(self, style_id: str) -> bool:
        """Whether a character style hides its text."""
        style = self.by_id.get(style_id)
        return style is not None and style.is_hidden


def _kind_of_name(name: str) -> tuple[str, int] | None:
    if name == "toc heading":
        return "contents", 0
    if name.startswith("toc") or name == "table of figures":
        return "contents", 1
    if name in _CODE_NAMES:
        return "code", 0
    if name in _CAPTION_NAMES:
        return "caption", 0
    if name == "title":
        return "title", 0
    heading = _HEADING_NAME.fullmatch(name)
    return None if heading is None else ("heading", int(heading[1] or heading[2]))


def kind_of_outline(outline_level: int) -> tuple[str, int]:
    """Return kind and level of what has an outline level of its own; beyond the ninth level it is body text."""
    return ("heading", outline_level + 1) if 0 <= outline_level <= _MAX_OUTLINE_LEVEL else ("paragraph", 0)


def _value(element: Any, *path: str) -> str | None:
    found = element.find("/".join(map(w, path)))
    return None if found is None else found.get(VAL, "")


def _derive(element: Any, parent: Style) -> Style:
    """Return the style that an element defines on top of its parent."""
    outline = as_int(_value(element, "pPr", "outlineLvl"))
    kind = _kind_of_name((_value(element, "name") or "").lower())
    if kind is None:
        kind = (parent.kind, parent.level) if outline is None else kind_of_outline(outline)
    num_id = _value(element, "pPr", "numPr", "numId")
    num_level = as_int(_value(element, "pPr", "numPr", "ilvl"))
    vanish = element.find(f"{w('rPr')}/{w('vanish')}")
    return Style(
        kind=kind[0],
        level=kind[1],
        num_id=parent.num_id if num_id is None else num_id,
        num_level=parent.num_level if num_level is None else num_level,
        numbering_style=parent.numbering_style
        if num_id is None and num_level is None
        else element.get(w("styleId"), ""),
        is_hidden=parent.is_hidden if vanish is None else is_on(vanish.get(VAL)),
    )


def read_styles(root: Any) -> Styles:
    """styles.xml -> Styles; without it every paragraph is a plain one."""
    elements = {} if root is None else {style.get(w("styleId"), ""): style for style in root.iterfind(w("style"))}
    by_id: dict[str, Style] = {}
    for style_id in elements:
        chain: list[str] = []
        ancestor: str | None = style_id
        while ancestor is not None and ancestor in elements and ancestor not in by_id and ancestor not in chain:
            chain.append(ancestor)
            ancestor = _value(elements[ancestor], "basedOn")
        # A style that is based on itself by a detour inherits nothing from there.
        style = by_id.get(ancestor or "", Style()) if ancestor not in chain else Style()
        for name in reversed(chain):
            style = by_id[name] = _derive(elements[name], style)
    default = next(
        (
            style_id
            for style_id, element in elements.items()
            if element.get(w("type")) == "paragraph" and is_on(element.get(w("default"), "0"))
        ),
        "",
    )
    return Styles(by_id, by_id.get(default, Style()))
