"""Namespaces and element names of WordprocessingML, as lxml spells them."""

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
M = "http://schemas.openxmlformats.org/officeDocument/2006/math"
MC = "http://schemas.openxmlformats.org/markup-compatibility/2006"
R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
WPG = "http://schemas.microsoft.com/office/word/2010/wordprocessingGroup"
WPC = "http://schemas.microsoft.com/office/word/2010/wordprocessingCanvas"
VML = "urn:schemas-microsoft-com:vml"

# ISO 29500 Strict has namespaces of its own; on the way in they are read as the transitional ones.
STRICT = {
    "http://purl.oclc.org/ooxml/wordprocessingml/main": W,
    "http://purl.oclc.org/ooxml/officeDocument/math": M,
    "http://purl.oclc.org/ooxml/officeDocument/relationships": R,
    "http://purl.oclc.org/ooxml/drawingml/main": A,
}


def w(name: str) -> str:
    """Return the full name of an element or attribute of the main namespace."""
    return f"{{{W}}}{name}"


def m(name: str) -> str:
    """Return the full name of an element or attribute of an equation."""
    return f"{{{M}}}{name}"


VAL = w("val")
_OFF = frozenset({"0", "false", "off"})


def is_on(value: str | None) -> bool:
    """Whether a toggle with this w:val is on; without a value it is."""
    return value not in _OFF


def as_int(value: str | None) -> int | None:
    """Return the number in an attribute, or None where there is none."""
    try:
        return None if value is None else int(value)
    except ValueError:
        return None
