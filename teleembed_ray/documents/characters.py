"""Rules for single characters that every reader shares."""

import re

# Arrow refuses lone surrogates, Parquet readers stumble over NUL, and other control characters say nothing.
_UNWANTED = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufeff\ufffe\uffff\ud800-\udfff]")
_NEWLINE = re.compile("\r\n|[\r\x0b\x0c\x85\u2028\u2029]")
# In prose a no-break space is a space, and a soft hyphen or a zero-width space only says where a line may end.
_PROSE = {
    "\u00a0": " ", "\u202f": " ", "\u2007": " ", "\u00ad": "", "\u200b": "", "\u2060": "",
    "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl", "\ufb05": "st", "\ufb06": "st",
}  # fmt: skip
_PROSE_SIGN = re.compile(f"[{''.join(_PROSE)}]")

# Word and many PDF writers store the characters of the Symbol font at U+F000 plus their code in that font; these are
# the ones that specifications use.
BULLET = "\u2022"
_SYMBOL_FONT = {
    0x22: "\u2200", 0x24: "\u2203", 0x2A: "*", 0x2B: "+", 0x2D: "-", 0x3D: "=", 0x44: "\u0394", 0x46: "\u03a6",
    0x47: "\u0393", 0x4C: "\u039b", 0x50: "\u03a0", 0x51: "\u0398", 0x53: "\u03a3", 0x57: "\u03a9", 0x61: "\u03b1",
    0x62: "\u03b2", 0x63: "\u03c7", 0x64: "\u03b4", 0x65: "\u03b5", 0x66: "\u03c6", 0x67: "\u03b3", 0x68: "\u03b7",
    0x6B: "\u03ba", 0x6C: "\u03bb", 0x6D: "\u03bc", 0x6E: "\u03bd", 0x70: "\u03c0", 0x71: "\u03b8", 0x72: "\u03c1",
    0x73: "\u03c3", 0x74: "\u03c4", 0x77: "\u03c9", 0x78: "\u03be", 0x79: "\u03c8", 0x7A: "\u03b6", 0xA3: "\u2264",
    0xA5: "\u221e", 0xAB: "\u2194", 0xAC: "\u2190", 0xAE: "\u2192", 0xB0: "\u00b0", 0xB1: "\u00b1", 0xB3: "\u2265",
    0xB4: "\u00d7", 0xB7: "\u2022", 0xB8: "\u00f7", 0xB9: "\u2260", 0xBA: "\u2261", 0xBB: "\u2248", 0xC7: "\u2229",
    0xC8: "\u222a", 0xCC: "\u2282", 0xCE: "\u2208", 0xD0: "\u2220", 0xD7: "\u22c5", 0xDE: "\u21d2", 0xE5: "\u2211",
}  # fmt: skip
_SYMBOL = re.compile("[\uf020-\uf0ff]")
# Whatever a rule above changes; most text has none of it.
_UNCLEAN = re.compile(
    f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff\uf020-\uf0ff{''.join(_PROSE)}]"
)
_UNMAPPED = re.compile("[\ufffd\ue000-\uf8ff]")


def is_private(character: str) -> bool:
    """Whether a character means something in one font only."""
    return "\ue000" <= character <= "\uf8ff"


def num_unmapped(text: str) -> int:
    """Count the characters that say nothing: U+FFFD, and those of private use."""
    return 0 if text.isascii() else len(_UNMAPPED.findall(text))


def clean(text: str) -> str:
    """text -> the same text that Arrow and Parquet can hold: "\\n" line ends, no control characters or surrogates."""
    return _UNWANTED.sub("", _NEWLINE.sub("\n", text))


def clean_prose(text: str) -> str:
    """text -> `clean` text with plain spaces, no soft hyphens, ligatures spelt out, and signs of the Symbol font."""
    if (text.isascii() and text.isprintable()) or _UNCLEAN.search(text) is None:
        return text
    plain = _PROSE_SIGN.sub(lambda match: _PROSE[match.group()], clean(text))
    return _SYMBOL.sub(lambda match: _SYMBOL_FONT.get(ord(match.group()) & 0xFF, BULLET), plain)
