"""Which reader reads which file."""

from collections.abc import Callable
from pathlib import PurePosixPath

from teleembed_ray.documents.code import read_code, read_plain_text, read_yaml
from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.docx import read_docx
from teleembed_ray.documents.markdown import read_markdown
from teleembed_ray.documents.pdf import read_pdf

Reader = Callable[[str, bytes], Document]

_CODE_SUFFIXES = ("c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp", "tpp", "cu", "cuh")
READERS: dict[str, Reader] = {
    **dict.fromkeys(("docx", "docm", "dotx", "dotm"), read_docx),
    "pdf": read_pdf,
    **dict.fromkeys(("md", "markdown"), read_markdown),
    **dict.fromkeys(_CODE_SUFFIXES, read_code),
    **dict.fromkeys(("yaml", "yml"), read_yaml),
    "txt": read_plain_text,
}
SUFFIXES = frozenset(READERS)

_ADVICE = {
    "doc": "open it in Word or LibreOffice and save it as .docx",
    "rtf": "open it in Word or LibreOffice and save it as .docx",
    "odt": "open it in LibreOffice and save it as .docx",
    "zip": "unpack it",
    "gz": "unpack it",
    "html": "print it to a PDF",
}


def suffix_of(path: str) -> str:
    """Return the suffix of a path in lower case, without the dot."""
    return PurePosixPath(path).suffix.removeprefix(".").lower()


def read_document(path: str, data: bytes) -> Document:
    """One file -> Document with text; raises Unreadable and nothing else.

    `path` decides on the reader, by its suffix. The text holds neither NUL nor lone surrogates, and never is blank.
    """
    suffix = suffix_of(path)
    if suffix not in READERS:
        known = ", ".join(sorted(SUFFIXES))
        advice = _ADVICE.get(suffix, f"exclude it (what can be read: {known})")
        raise Unreadable(
            "unsupported", f"no reader for {f'.{suffix}' if suffix else 'a file without suffix'}: {advice}"
        )
    if not data:
        raise Unreadable("empty_file", "it has no bytes: fetch it again, or leave it out")
    try:
        document = READERS[suffix](path, data)
    except Unreadable:
        raise
    except Exception as error:
        # The parsers below raise what they like on damaged input; one bad file must not stop the others.
        raise Unreadable(
            "damaged", f"its reader failed ({type(error).__name__}: {error}): open and save it anew"
        ) from error
    if not document.text.strip():
        raise Unreadable("no_text", "there is nothing but white space in it: leave it out")
    return document
