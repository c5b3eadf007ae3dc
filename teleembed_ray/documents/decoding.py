"""bytes -> str for the text formats."""

import codecs
import re

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
# What telecom sources that are not UTF-8 are written in. A guess among all encodings goes wrong on short comments.
_LEGACY_ENCODINGS = ["cp1252", "gb18030", "shift_jis", "euc_kr"]
# East Asian text puts high bytes side by side; a degree sign or an accented letter stands alone.
_HIGH_BYTES_TOGETHER = re.compile(rb"[\x80-\xff]{2}")
# Parsers and editors that write more than this into one source file do not exist; data dumps do.
MAX_TEXT_BYTES = 64 << 20


def _undecodable(why: str) -> Unreadable:
    return Unreadable("undecodable", f"{why}: save it as UTF-8, or exclude it")


def decode(data: bytes) -> str:
    """bytes -> text with "\\n" line ends; raises Unreadable for what is not text.

    A byte order mark decides, then UTF-8, then a guess from the bytes among the usual legacy encodings.
    """
    if len(data) > MAX_TEXT_BYTES:
        raise Unreadable("too_large", f"{len(data)} bytes is no source file: exclude it")
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            try:
                return clean(data[len(mark) :].decode(encoding))
            except UnicodeDecodeError as error:
                raise _undecodable(f"its byte order mark says {encoding}, its bytes do not ({error.reason})") from None
    if b"\x00" in data:
        raise _undecodable("it holds NUL bytes, so it is binary or UTF-16 without a byte order mark")
    try:
        return clean(data.decode("utf-8"))
    except UnicodeDecodeError:
        encodings = _LEGACY_ENCODINGS if _HIGH_BYTES_TOGETHER.search(data) else ["cp1252"]
        guess = from_bytes(data, cp_isolation=encodings).best()
    if guess is None:
        raise _undecodable("it is in no known text encoding")
    return clean(str(guess))
