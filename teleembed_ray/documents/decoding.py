"""bytes -> str for the text formats."""

import codecs
import re
from contextlib import suppress

from charset_normalizer import from_bytes

from teleembed_ray.documents.characters import clean
from teleembed_ray.documents.document import Unreadable

# The longer marks first: that of UTF-32 begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_UTF_16 = ("utf-16-le", "utf-16-be")
# East Asian encodings that telecom sources are written in: the first bytes of the characters that prose is made of, and
# of its punctuation. A general detector judges by the language of long texts, and source files hold a few words.
# Of two that explain a file equally well the first is taken.
_EAST_ASIAN = {
    "cp932": (range(0x88, 0x98), range(0x81, 0x84)),
    "euc_jp": (range(0xB0, 0xD0), (0xA1, 0xA3, 0xA4, 0xA5)),
    "cp949": (range(0xB0, 0xC9), (0xA1, 0xA3)),
    "gb18030": (range(0xB0, 0xD8), (0xA1, 0xA3)),
    "big5": (range(0xA4, 0xC7), (0xA1, 0xA2)),
}
_HIGH_BYTES = re.compile(rb"[\x80-\xff]+")
_KANA = re.compile("[\u3041-\u30fe]")
# In Windows-1252 these are no letters, quotes or dashes, and hardly ever met.
_RARE_LATIN = frozenset(b"\x81\x82\x83\x84\x86\x87\x88\x89\x8b\x8d\x8f\x90\x98\x9b\x9d")
# UTF-16 without a mark is known by NUL bytes, which are half of it where it is ASCII; one stray NUL says nothing.
_LEAST_NUL_SHARE = 0.02
# Below this share of characters that make sense, nothing is known of the encoding.
_LEAST_SHARE = 0.6
# A text has a stray control character here and there; a binary file is made of them.
_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MAX_CONTROLS = 4
_MAX_CONTROL_SHARE = 0.02
# Parsers and editors that write more than this into one source file do not exist; data dumps do.
MAX_TEXT_BYTES = 64 << 20


def _undecodable(why: str) -> Unreadable:
    return Unreadable("undecodable", f"{why}: save it as UTF-8, or exclude it")


def _share_of_latin(data: bytes) -> float:
    """Share of the high bytes that make sense as Windows-1252, where accented letters stand alone or in twos."""
    num_bytes = num_sensible = 0
    for match in _HIGH_BYTES.finditer(data):
        run = match.group()
        num_bytes += len(run)
        neighbours = data[match.start() - 1 : match.start()] + data[match.end() : match.end() + 1]
        in_a_word = not run.decode("cp1252", "replace").isalpha() or any(chr(byte).isalpha() for byte in neighbours)
        if len(run) == 1 or (len(run) == 2 and in_a_word):
            num_sensible += sum(byte not in _RARE_LATIN for byte in run)
    return num_sensible / max(num_bytes, 1)


def _share_of_east_asian(data: bytes, encoding: str) -> float:
    """Share of the characters beyond ASCII that are usual ones of this encoding; 0 where it is not the encoding."""
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return 0.0
    if encoding == "euc_jp" and not _KANA.search(text):
        # Without kana it would be taken for Chinese or Korean, and the reverse.
        return 0.0
    characters = [character for character in text if not character.isascii()]
    letters, marks = _EAST_ASIAN[encoding]
    num_usual = 0.0
    for character in characters:
        code = character.encode(encoding)
        # Extensions of the Chinese and Korean sets use lower second bytes.
        is_plain = encoding in ("cp932", "big5") or code[-1] >= 0xA1
        if len(code) == 1:
            # Half-width kana of Shift JIS: rare, so what explains the bytes without them comes first.
            num_usual += 0.9
        else:
            num_usual += len(code) == 2 and is_plain and (code[0] in letters or code[0] in marks)
    return num_usual / max(len(characters), 1)


def _decode_damaged_utf_8(data: bytes) -> str | None:
    """Bytes that are UTF-8 but for a few, or but for a cut last character -> text with U+FFFD for these; else None.

    At least every second must be a whole character: in another encoding few bytes happen to look like one.
    """
    text = data.decode("utf-8", "replace")
    num_stray = text.count("\ufffd") - data.count("\ufffd".encode())
    num_whole = sum(not character.isascii() for character in text) - num_stray
    return text if num_whole >= num_stray else None


def _decode_legacy(data: bytes) -> str:
    """Bytes that are not UTF-8 -> text; raises Unreadable where no legacy encoding makes sense of them."""
    # The lines of plain ASCII tell nothing.
    telling = b"\n".join(line for line in data.splitlines() if not line.isascii())
    shares = {"cp1252": _share_of_latin(telling)}
    shares |= {encoding: _share_of_east_asian(telling, encoding) for encoding in _EAST_ASIAN}
    best = max(shares, key=lambda encoding: shares[encoding])
    if shares[best] >= _LEAST_SHARE:
        with suppress(UnicodeDecodeError):
            return data.decode(best)
    guess = from_bytes(telling).best()
    if guess is None:
        raise _undecodable("it is in no known text encoding")
    try:
        return data.decode(guess.encoding)
    except UnicodeDecodeError:
        raise _undecodable("it mixes text encodings") from None


def _decode_utf_16(data: bytes) -> str | None:
    """Bytes with NUL -> text, where they are UTF-16 without a mark: all NULs are high bytes of ASCII characters."""
    if len(data) % 2:
        return None
    num_nul = data.count(0)
    if num_nul < _LEAST_NUL_SHARE * len(data):
        return None
    for encoding, high in zip(_UTF_16, (data[1::2], data[::2]), strict=True):
        # The others are low bytes of characters such as U+3000, the ideographic space.
        if high.count(0) >= 0.8 * num_nul:
            with suppress(UnicodeDecodeError):
                text = data.decode(encoding)
                if _is_text(text) and "\x00" not in text:
                    return text
    return None


def _is_text(text: str) -> bool:
    num_controls = len(_CONTROL.findall(text))
    return num_controls <= max(_MAX_CONTROLS, len(text) * _MAX_CONTROL_SHARE)


def decode(data: bytes) -> str:
    """bytes -> text with "\\n" line ends; raises Unreadable for what is not text.

    A byte order mark decides, then UTF-16 by its NUL bytes, then UTF-8, which may be damaged here and there, then a
    guess among the usual legacy encodings.
    """
    if len(data) > MAX_TEXT_BYTES:
        raise Unreadable("too_large", f"{len(data)} bytes is no source file: exclude it")
    text = _decode_any(data)
    if not _is_text(text):
        raise _undecodable("it is full of control characters, so it is binary")
    return clean(text)


def _decode_any(data: bytes) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            try:
                return data[len(mark) :].decode(encoding)
            except UnicodeDecodeError as error:
                raise _undecodable(f"its byte order mark says {encoding}, its bytes do not ({error.reason})") from None
    if b"\x00" in data:
        text = _decode_utf_16(data)
        if text is None:
            raise _undecodable("it holds NUL bytes, so it is binary")
        return text
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _decode_damaged_utf_8(data) or _decode_legacy(data)
