"""Which reader reads which file."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath

from teleembed_ray.documents import archive
from teleembed_ray.documents.characters import num_unmapped
from teleembed_ray.documents.code import read_code, read_plain_text, read_yaml
from teleembed_ray.documents.document import Document, Unreadable
from teleembed_ray.documents.docx.reader import read_docx
from teleembed_ray.documents.markdown import read_markdown
from teleembed_ray.documents.pdf import read_pdf
from teleembed_ray.documents.word97 import DEFAULT_TIMEOUT_S, is_doc, read_doc

# Of path and bytes; those of Word and PDF take `keep_tables` too.
Reader = Callable[..., Document]

_DOCX_SUFFIXES = ("docx", "docm", "dotx", "dotm")
CONVERTED_SUFFIXES = ("doc", "dot", "rtf")
_CODE_SUFFIXES = ("c", "cc", "cpp", "cxx", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp", "tpp", "cu", "cuh")
READERS: dict[str, Reader] = {
    **dict.fromkeys(_DOCX_SUFFIXES, read_docx),
    **dict.fromkeys(CONVERTED_SUFFIXES, read_doc),
    "pdf": read_pdf,
    **dict.fromkeys(("md", "markdown"), read_markdown),
    **dict.fromkeys(_CODE_SUFFIXES, read_code),
    **dict.fromkeys(("yaml", "yml"), read_yaml),
    "txt": read_plain_text,
}
SUFFIXES = frozenset(READERS)
# Formats whose parsers can hang, crash or inflate, so that they are read in a process that can be ended.
FRAGILE_SUFFIXES = frozenset({*_DOCX_SUFFIXES, *CONVERTED_SUFFIXES, "pdf"})

_ADVICE = {
    "odt": "open it in LibreOffice and save it as .docx",
    archive.SUFFIX: "it is many documents, which documents_table reads",
    "gz": "unpack it",
    "7z": "unpack it, or pack it as .zip",
    "tar": "unpack it, or pack it as .zip",
    "html": "print it to a PDF",
}


def suffix_of(path: str) -> str:
    """Return the suffix of a path in lower case, without the dot."""
    return PurePosixPath(path).suffix.removeprefix(".").lower()


def refuse_unsupported(path: str) -> None:
    """Raise Unreadable where no reader is made for the suffix of a path."""
    suffix = suffix_of(path)
    if suffix not in READERS:
        known = ", ".join(sorted({*SUFFIXES, archive.SUFFIX}))
        advice = _ADVICE.get(suffix, f"exclude it (what can be read: {known})")
        raise Unreadable(
            "unsupported", f"no reader for {f'.{suffix}' if suffix else 'a file without suffix'}: {advice}"
        )


def _reader_of(path: str, data: bytes, keep_tables: bool, timeout_s: float) -> Reader:
    """Return the reader of a file with its settings: the suffix decides, but for a DOC that is called .docx."""
    suffix = suffix_of(path)
    if suffix in CONVERTED_SUFFIXES or (suffix in _DOCX_SUFFIXES and is_doc(data)):
        return partial(read_doc, keep_tables=keep_tables, timeout_s=timeout_s)
    # Text formats know no such setting.
    return partial(READERS[suffix], keep_tables=True) if keep_tables and suffix in FRAGILE_SUFFIXES else READERS[suffix]


def read_document(path: str, data: bytes, keep_tables: bool = False, timeout_s: float = DEFAULT_TIMEOUT_S) -> Document:
    """One file -> Document with text; raises Unreadable and nothing else.

    `path` decides on the reader, by its suffix. The text holds neither NUL nor lone surrogates, and never is blank.
    `timeout_s` bounds a converter that a format needs; `read_isolated` bounds the readers too.
    """
    refuse_unsupported(path)
    if not data:
        raise Unreadable("empty_file", "it has no bytes: fetch it again, or leave it out")
    try:
        document = _reader_of(path, data, keep_tables, timeout_s)(path, data)
    except Unreadable:
        raise
    except MemoryError:
        raise Unreadable(
            "too_much_memory", "reading it takes more memory than there is: save it anew, or exclude it"
        ) from None
    except Exception as error:
        # The parsers below raise what they like on damaged input; one bad file must not stop the others.
        raise Unreadable(
            "damaged", f"its reader failed ({type(error).__name__}: {error}): open and save it anew"
        ) from error
    if not document.text.strip():
        raise Unreadable("no_text", "there is nothing but white space in it: leave it out")
    return replace(document, num_unmapped_chars=document.num_unmapped_chars or num_unmapped(document.text))
