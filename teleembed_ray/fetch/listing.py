"""HTML of a folder on a web server -> what lies in the folder.

Servers draw such pages in many ways: tables, lists, preformatted lines. What all have in common are links to what lies
directly below the page's own address, so these are taken and everything else on the page is left alone.
"""

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

import lxml.html
from lxml import etree

# A size in bytes: digits alone in a cell or a column, and no part of a date or of a number with a unit.
_EXACT_BYTES = re.compile(r"(?<![\d/:.,-])(\d{4,})(?:\s*(?:bytes|b))?(?=\s|$)", re.IGNORECASE)
_ROUNDED = re.compile(r"\d\s*[kmg]i?b?\b", re.IGNORECASE)
_UNIT = re.compile(r"\b[kmg]i?b\b", re.IGNORECASE)
_YEARS = range(1980, 2100)


@dataclass(frozen=True)
class Entry:
    """One thing in a folder: its name, its address, and what the page says beside it.

    `stamp` is the text of the row (date, size); it only tells whether anything changed since. `num_bytes` is the size
    where the page gives it to the byte.
    """

    name: str
    url: str
    stamp: str
    num_bytes: int | None


def _row_of(anchor: Any) -> str:
    """Return the text around a link: the rest of its table row or list item, or the rest of its line."""
    for ancestor in anchor.iterancestors("tr", "li"):
        # Cells of a page without white space between its tags would run into each other.
        return " ".join(ancestor.itertext())
    previous = anchor.getprevious()
    before = (previous.tail if previous is not None else anchor.getparent().text) or ""
    return f"{before.rpartition(chr(10))[2]} {(anchor.tail or '').lstrip(' ').partition(chr(10))[0]}"


def _exact_bytes(stamp: str, rounded: bool) -> int | None:
    if rounded or _ROUNDED.search(stamp):
        return None
    sizes = [int(digits) for digits in _EXACT_BYTES.findall(stamp)]
    # A year on its own ("Jun 12 2024") looks like a size.
    sizes = [size for size in sizes if size not in _YEARS]
    return sizes[0] if len(sizes) == 1 else None


def parse_listing(page: bytes, url: str) -> list[Entry] | None:
    """Return the entries of the folder at `url` in the order of the page, or None where the page lists no folder.

    A page without entries is a listing if it at least links to the folder above. Names are decoded and hold no slash;
    addresses have neither query nor fragment.
    """
    try:
        root = lxml.html.document_fromstring(page)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None
    here = urlsplit(url)
    base = unquote(here.path).rstrip("/") + "/"
    above = base.rstrip("/").rpartition("/")[0] + "/"
    rounded = any(_UNIT.search(cell.text_content()) for cell in root.iter("th"))
    entries: dict[str, Entry] = {}
    links_above = False
    for anchor in root.iter("a"):
        try:
            target = urlsplit(urljoin(f"{here.scheme}://{here.netloc}{here.path.rstrip('/')}/", anchor.get("href", "")))
        except ValueError:
            continue
        if target.scheme not in ("http", "https") or target.netloc.lower() != here.netloc.lower():
            continue
        path = unquote(target.path)
        links_above |= path.rstrip("/").lower() + "/" == above.lower()
        name = path[len(base) :].rstrip("/")
        if not path.lower().startswith(base.lower()) or not name or "/" in name or "\\" in name:
            continue
        stamp = " ".join(_row_of(anchor).replace(name, " ").split())
        # Pages served over https still carry http links to themselves.
        address = target._replace(scheme=here.scheme, query="", fragment="").geturl()
        # An icon and a name often link to the same thing.
        entries.setdefault(name, Entry(name, address, stamp, _exact_bytes(stamp, rounded)))
    return list(entries.values()) if entries or links_above else None
