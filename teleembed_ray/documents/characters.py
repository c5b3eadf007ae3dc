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

# Word and many PDF writers store the characters of the Symbol font at U+F000 plus their code in that font. The runs of
# codes begin at 0x20, 0xA0 and 0xF1 (Adobe's Symbol encoding; star and minus as people type them).
BULLET = "\u2022"
UNKNOWN = "\ufffd"
_SYMBOL_RUNS = {
    0x20: (
        " !\u2200#\u2203%&\u220b()*+,-./"
        "0123456789:;<=>?"
        "\u2245\u0391\u0392\u03a7\u0394\u0395\u03a6\u0393\u0397\u0399\u03d1\u039a\u039b\u039c\u039d\u039f"
        "\u03a0\u0398\u03a1\u03a3\u03a4\u03a5\u03c2\u03a9\u039e\u03a8\u0396[\u2234]\u22a5_"
        "\u203e\u03b1\u03b2\u03c7\u03b4\u03b5\u03c6\u03b3\u03b7\u03b9\u03d5\u03ba\u03bb\u03bc\u03bd\u03bf"
        "\u03c0\u03b8\u03c1\u03c3\u03c4\u03c5\u03d6\u03c9\u03be\u03c8\u03b6{|}\u223c"
    ),
    0xA0: (
        "\u20ac\u03d2\u2032\u2264\u2044\u221e\u0192\u2663\u2666\u2665\u2660\u2194\u2190\u2191\u2192\u2193"
        "\u00b0\u00b1\u2033\u2265\u00d7\u221d\u2202\u2022\u00f7\u2260\u2261\u2248\u2026\u23d0\u23af\u21b5"
        "\u2135\u2111\u211c\u2118\u2297\u2295\u2205\u2229\u222a\u2283\u2287\u2284\u2282\u2286\u2208\u2209"
        "\u2220\u2207\u00ae\u00a9\u2122\u220f\u221a\u22c5\u00ac\u2227\u2228\u21d4\u21d0\u21d1\u21d2\u21d3"
        "\u25ca\u3008\u00ae\u00a9\u2122\u2211\u239b\u239c\u239d\u23a1\u23a2\u23a3\u23a7\u23a8\u23a9\u23aa"
    ),
    0xF1: "\u3009\u222b\u2320\u23ae\u2321\u239e\u239f\u23a0\u23a4\u23a5\u23a6\u23ab\u23ac\u23ad",
}
_SYMBOL_FONT = {first + place: sign for first, run in _SYMBOL_RUNS.items() for place, sign in enumerate(run)}
# In text without a font's name these are rather boxes, arrows and ticks of Wingdings. The sum and the integral stay;
# the rest of the last range is pieces of tall brackets that nobody types.
_RATHER_WINGDINGS = {0x6F, 0x76, 0xA7, 0xA8, 0xD8, *range(0xE0, 0x100)} - {0xE5, 0xF2}
_SYMBOL = re.compile("[\uf020-\uf0ff]")
# Whatever a rule above changes; most text has none of it.
_UNCLEAN = re.compile(
    f"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff\uf020-\uf0ff{''.join(_PROSE)}]"
)
_UNMAPPED = re.compile("[\ufffd\ue000-\uf8ff]")


def is_private(character: str) -> bool:
    """Whether a character means something in one font only."""
    return "\ue000" <= character <= "\uf8ff"


def sign_of_symbol_font(code: int) -> str:
    """Code in the Symbol font, with or without U+F000 -> the character that it shows; U+FFFD where it shows none."""
    return _SYMBOL_FONT.get(code & 0xFF, UNKNOWN)


def _sign_or_bullet(match: re.Match[str]) -> str:
    code = ord(match[0]) & 0xFF
    return BULLET if code in _RATHER_WINGDINGS else _SYMBOL_FONT.get(code, BULLET)


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
    return _SYMBOL.sub(_sign_or_bullet, plain)
